package shell

import "fmt"

// Confinement says what confines commands on this machine, for people.
func Confinement() string {
	switch version := Landlock(); {
	case version >= signals:
		return fmt.Sprintf("Landlock %d keeps what commands write in the folder, and their signals to themselves", version)
	case version > 0:
		return fmt.Sprintf("Landlock %d keeps what commands write in the folder; it is too old to keep them from ending the processes of the worker's user", version)
	}
	return "no Landlock: commands write wherever the worker's user may, and can end its processes"
}

// signals is the version of Landlock from which on signals are confined.
const signals = 6
