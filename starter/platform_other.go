//go:build !unix

package main

import (
	"os"
	"syscall"
)

// lockFile locks nothing: there is no dev server of ours here either.
func lockFile(*os.File) error { return nil }

func withParent() *syscall.SysProcAttr { return nil }
