package devserver

import (
	"os"
	"strings"
	"unicode"
)

const (
	tailLines = 12
	tailBytes = 16 << 10
)

// logTail is the end of the log of a state file's server, of what follows the
// first bytes of it, on lines of its own below an error; empty if it has said
// nothing.
func logTail(stateFile string, after int64) string {
	file, err := os.Open(logPath(stateFile))
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	buffer := make([]byte, min(max(info.Size()-after, 0), tailBytes))
	n, err := file.ReadAt(buffer, info.Size()-int64(len(buffer)))
	if err != nil || n == 0 {
		return ""
	}
	return "\nlast lines of " + logPath(stateFile) + ":\n" + strings.Join(lastWords(clean(string(buffer))), "\n")
}

// logSize is how much the log holds.
func logSize(stateFile string) int64 {
	info, err := os.Stat(logPath(stateFile))
	if err != nil {
		return 0
	}
	return info.Size()
}

// lastWords are the last lines of a log. Where the server panicked, they are the
// last before the stack, which says nothing to a user.
func lastWords(log string) []string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for i := range lines {
		if i > 0 && strings.HasPrefix(lines[i], "goroutine ") && strings.HasSuffix(lines[i], "]:") {
			lines = lines[:i]
			break
		}
	}
	return lines[max(0, len(lines)-tailLines):]
}

// clean drops what could do something to a terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		if r == '\t' {
			return ' '
		}
		return -1
	}, text)
}
