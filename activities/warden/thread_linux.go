package warden

import (
	"os"

	"golang.org/x/sys/unix"
)

func onFirstThread() bool { return unix.Gettid() == os.Getpid() }
