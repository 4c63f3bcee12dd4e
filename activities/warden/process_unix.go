//go:build unix

package warden

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func endGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) } // fails only if it is gone

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
