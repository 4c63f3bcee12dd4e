//go:build !unix

package process

import (
	"os"
	"syscall"
)

// Lock locks nothing: there is no dev server of ours here either.
func Lock(*os.File) error { return nil }

func boundToParent() *syscall.SysProcAttr { return nil }
