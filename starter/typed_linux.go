package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// forgetTyped drops what was typed on a terminal and not yet read, a line without its end, too: it was no answer to the
// question that comes.
func forgetTyped(in io.Reader) {
	if terminal, ok := in.(*os.File); ok {
		_ = unix.IoctlSetInt(int(terminal.Fd()), unix.TCFLSH, unix.TCIFLUSH) // of no terminal there is nothing to drop
	}
}
