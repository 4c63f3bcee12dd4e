//go:build !linux

package warden

import "syscall"

// wards says that there are no wardens here.
const wards = false

const itself = ""

func alone() *syscall.SysProcAttr { return ownGroup() }

func ward(string, []string) int { return 1 }
