package script_test

import (
	"strconv"
	"strings"
)

// names are the commands whose words the scripts do not write themselves, each with the words of the command line:
// a command that is renamed is one line here. $1 is the first argument after the name; arguments that no $n takes
// follow at the end.
var names = map[string]string{
	"start":          "start",
	"export-session": "export --session",
	"pause-session":  "suspend",
	"resume-session": "unsuspend",
	"revoke":         "revoke $1 $2",
	"clear":          "clear",
	"agents-list":    "agents list",
	"agents-show":    "agents show",
	"agents-check":   "agents check",
	"agents-schema":  "agents schema",
	"mcp-list":       "mcp list",
	"mcp-check":      "mcp check",
}

// commandLine replaces the name of a command by its words.
func commandLine(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	words, named := names[args[0]]
	if !named {
		return args
	}
	rest := args[1:]
	var line []string
	taken := 0
	for _, word := range strings.Fields(words) {
		n, err := strconv.Atoi(strings.TrimPrefix(word, "$"))
		if !strings.HasPrefix(word, "$") || err != nil {
			line = append(line, word)
			continue
		}
		if n <= len(rest) { // one that is missing is a command line to be refused
			line = append(line, rest[n-1])
			taken = max(taken, n)
		}
	}
	return append(line, rest[taken:]...)
}
