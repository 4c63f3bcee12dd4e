package shell

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A process is one as /proc has shown it. Born tells it from another that gets its number.
type process struct {
	pid, parent int
	born        string
}

// look reads what /proc knows of a process.
func look(pid int) (process, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name stands in parentheses and may hold anything.
	end := bytes.LastIndexByte(text, ')')
	if err != nil || end < 0 {
		return process{}, false
	}
	const parent, born = 1, 19
	fields := bytes.Fields(text[end+1:])
	if len(fields) <= born {
		return process{}, false
	}
	p := process{pid: pid, born: string(fields[born])}
	p.parent, err = strconv.Atoi(string(fields[parent]))
	return p, err == nil
}

// below are the processes below one, those too that seem to have ended: so does one whose
// first thread has, and others of it may go on.
func below(pid int) []process {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil
	}
	of := map[int][]process{}
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			if p, ok := look(n); ok {
				of[p.parent] = append(of[p.parent], p)
			}
		}
	}
	var all []process
	seen := map[int]bool{pid: true}
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		for _, p := range of[next[0]] {
			if seen[p.pid] {
				continue // a number was given again while we read
			}
			seen[p.pid] = true
			next = append(next, p.pid)
			all = append(all, p)
		}
	}
	return all
}

// children are those of this process that its first thread has, which is where
// orphans go. It is faster than below, and none where the kernel has no such list.
func children() []process {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err != nil {
		return nil
	}
	var all []process
	for _, field := range bytes.Fields(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			if p, ok := look(pid); ok && p.parent == os.Getpid() {
				all = append(all, p)
			}
		}
	}
	return all
}

// kill ends the process, and no other that has got its number since.
func (p process) kill() {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ENOSYS) {
		_ = unix.Kill(p.pid, unix.SIGKILL) // it may have ended already
		return
	}
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }() // it was only signalled through
	if now, ok := look(p.pid); ok && now.born == p.born {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may have ended already
	}
}
