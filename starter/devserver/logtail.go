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

// logTail is the end of the log of a state file's server, on lines of its own
// below an error; empty if it has said nothing.
func logTail(stateFile string) string {
	file, err := os.Open(logPath(stateFile))
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	buffer := make([]byte, min(info.Size(), tailBytes))
	n, err := file.ReadAt(buffer, info.Size()-int64(len(buffer)))
	if err != nil || n == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(clean(string(buffer))), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	return "\nlast lines of " + logPath(stateFile) + ":\n" + strings.Join(lines, "\n")
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
