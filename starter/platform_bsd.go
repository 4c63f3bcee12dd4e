//go:build unix && !linux

package main

import "syscall"

// withParent makes a child that no Ctrl-C reaches. It notices by its standard
// input that its parent is gone.
func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
