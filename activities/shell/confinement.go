package shell

import (
	"fmt"
	"os"
)

// A Hold is what keeps commands in on a machine.
type Hold struct {
	// Namespaces says that each command has its own, with a view of the files of its own. Why says why it has none.
	Namespaces bool
	Why        string
	// Landlock is its version, zero where the kernel has none; Seccomp says that the kernel filters system calls.
	Landlock int
	Seccomp  bool
	// Network says that the configuration gives commands the network and the sockets of this machine.
	Network bool
}

const (
	// truncates is the version of Landlock from which on files outside cannot be cut short,
	// signals the one from which on signals are confined.
	truncates = 3
	signals   = 6
)

// Confined reports whether commands change no file but those in their folder, and reach no process beside their own, nor,
// where the configuration gives them no network, any server.
func (h Hold) Confined() bool { return h.Namespaces || h.Seccomp && h.Landlock >= truncates }

// String says it for people.
func (h Hold) String() string {
	network := "no network and no sockets of this machine"
	if h.Network {
		network = "the network and the sockets of this machine, so that an agent can approve its own calls"
	}
	switch {
	case h.Namespaces:
		return "namespaces: commands have " + network + ", no sight of other processes and of what workers keep, and write in their folder alone"
	case h.Confined():
		text := fmt.Sprintf("seccomp and Landlock %d: commands have %s, write in their folder alone, and change no modes, owners and times of files", h.Landlock, network)
		if h.Landlock < signals {
			text += "; they can end processes of the worker's user"
		}
		return text + "; what forks fast enough may go on; no namespaces: " + h.Why
	}
	missing := "no seccomp"
	switch {
	case h.Seccomp && h.Landlock == 0:
		missing = "no Landlock"
	case h.Seccomp:
		missing = fmt.Sprintf("Landlock %d, which is too old", h.Landlock)
	case h.Landlock < truncates:
		missing = "neither seccomp nor Landlock"
	}
	return "nothing confines commands, so that an agent can approve its own calls, and they change whatever files the worker's user may; " + missing + "; no namespaces: " + h.Why
}

// Examine finds out what keeps commands in on this machine, as Open does of a configuration. It takes a folder of its own.
func Examine(config Config) (Hold, error) {
	dir, err := os.MkdirTemp("", "everstep-shell-")
	if err != nil {
		return Hold{}, err
	}
	defer os.RemoveAll(dir)
	config.Dir = dir
	s, err := Open(config)
	if err != nil {
		return Hold{}, err
	}
	return s.Hold(), s.Close()
}
