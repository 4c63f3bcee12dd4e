//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// forgetTyped drops what was typed on a terminal and not yet read, a line without its end, too: it was no answer to the
// question that comes.
func forgetTyped(in io.Reader) {
	const read = 1 // FREAD: the queue of what comes in
	if terminal, ok := in.(*os.File); ok {
		_ = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, read) // of no terminal there is nothing to drop
	}
}
