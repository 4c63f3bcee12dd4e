// Package golden compares what a test came to with a file that is kept, and says
// in a few lines what differs and what to do.
package golden

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// maxLines is how many lines of either side are shown, and maxWidth how many
// bytes of one.
const (
	maxLines = 12
	maxWidth = 200
)

// Compare fails where the file holds something else, with the lines that differ
// and the notes. With update it writes the file instead.
func Compare(t testing.TB, path, got string, update bool, notes ...string) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatalf("golden: %v", err)
		}
		return
	}
	kept, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("golden: %v", err)
	}
	if string(kept) == got {
		return
	}
	lines := apart(strings.Split(string(kept), "\n"), strings.Split(got, "\n"))
	notes = append(notes, fmt.Sprintf("if this is meant: go test -run '%s' -update, and read what it wrote", t.Name()))
	t.Fatalf("golden: %s holds something else than what comes now:\n%s\n%s", path, strings.Join(lines, "\n"), strings.Join(notes, "\n"))
}

// apart shows the lines between the first that differs and the last, those that
// are kept with a minus.
func apart(kept, now []string) []string {
	first := 0
	for first < min(len(kept), len(now)) && kept[first] == now[first] {
		first++
	}
	last := 0
	for last < min(len(kept), len(now))-first && kept[len(kept)-1-last] == now[len(now)-1-last] {
		last++
	}
	lines := []string{fmt.Sprintf("from line %d:", first+1)}
	lines = append(lines, marked("- ", kept[first:len(kept)-last])...)
	return append(lines, marked("+ ", now[first:len(now)-last])...)
}

func marked(mark string, lines []string) []string {
	var all []string
	for i, line := range lines {
		if i == maxLines {
			return append(all, fmt.Sprintf("%s… and %d lines more", mark, len(lines)-i))
		}
		if len(line) > maxWidth {
			line = strings.ToValidUTF8(line[:maxWidth], "") + "…"
		}
		all = append(all, mark+line)
	}
	return all
}
