package warden

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// A Descendant is a process below another, as /proc has shown it.
type Descendant struct {
	PID    int
	parent int
	born   string // tells it from another that gets its number
	over   bool   // it has ended with all of its threads, and waits to be buried
}

// look reads what /proc knows of a process.
func look(pid int) (Descendant, bool) {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // none: it is gone
	// The name stands in parentheses and may hold anything.
	end := bytes.LastIndexByte(text, ')')
	const state, parent, threads, born = 0, 1, 17, 19
	fields := bytes.Fields(text[end+1:])
	if len(fields) <= born {
		return Descendant{}, false
	}
	d := Descendant{PID: pid, born: string(fields[born])}
	d.over = string(fields[state]) == "Z" && slices.Contains([]string{"0", "1"}, string(fields[threads]))
	var err error
	d.parent, err = strconv.Atoi(string(fields[parent]))
	return d, err == nil
}

// Descendants are the processes below one, those too that seem to have ended: so does one
// whose first thread has, and others of it may go on.
func Descendants(of int) []Descendant {
	folder, _ := os.Open("/proc") // none has no names
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	children := map[int][]Descendant{}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if d, ok := look(pid); ok {
				children[d.parent] = append(children[d.parent], d)
			}
		}
	}
	var all []Descendant
	seen := map[int]bool{of: true}
	for next := []int{of}; len(next) > 0; next = next[1:] {
		for _, d := range children[next[0]] {
			if seen[d.PID] {
				continue // a number was given again while we read
			}
			seen[d.PID] = true
			next = append(next, d.PID)
			all = append(all, d)
		}
	}
	return all
}

// children are those of this process that its first thread has, which is where orphans
// go. It is faster than Descendants, and none where the kernel has no such list.
func children() []Descendant {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	var all []Descendant
	for _, field := range bytes.Fields(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			if d, ok := look(pid); ok && d.parent == os.Getpid() {
				all = append(all, d)
			}
		}
	}
	return all
}

// kill ends the process, and no other that has got its number since.
func (d Descendant) kill() {
	fd, err := unix.PidfdOpen(d.PID, 0)
	if errors.Is(err, unix.ENOSYS) {
		_ = unix.Kill(d.PID, unix.SIGKILL) // it may have ended already
		return
	}
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }() // it was only signalled through
	if now, ok := look(d.PID); ok && now.born == d.born {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may have ended already
	}
}
