package shell

import "fmt"

// Confinement says what confines commands on this machine, for people.
func Confinement() string {
	writes := "no Landlock: commands write wherever the worker's user may"
	version := Landlock()
	if version > 0 {
		writes = fmt.Sprintf("Landlock %d keeps what commands write in the folder", version)
	}
	switch {
	case Contained():
		return writes + "; a PID namespace keeps them from all other processes, and ends what they start"
	case version >= signals:
		return writes + ", and their signals to themselves; no PID namespace: they can set limits (prlimit) of the processes of the worker's user, which ends those, and what forks fast enough may go on"
	}
	return writes + "; no PID namespace: they can end the processes of the worker's user, and what forks fast enough may go on"
}

// Contained reports whether commands get a PID namespace here, without which nobody can
// promise that all ends that they start, or that they end nothing else.
func Contained() bool { return possible() != none }

// signals is the version of Landlock from which on signals are confined.
const signals = 6
