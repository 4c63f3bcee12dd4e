//go:build !unix

package process

import "syscall"

func boundToParent() *syscall.SysProcAttr { return nil }
