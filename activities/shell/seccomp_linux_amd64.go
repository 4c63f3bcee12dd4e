package shell

import (
	"slices"

	"golang.org/x/sys/unix"
)

const (
	architecture = unix.AUDIT_ARCH_X86_64
	// otherNumbers are where the calls of the x32 ABI begin, which is the same architecture.
	otherNumbers = 0x40000000
)

// kernelCalls are further calls that reach the machine, which this processor alone has.
func kernelCalls() []uintptr { return []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM} }

// olderModeCalls are older calls that give a file a mode.
func olderModeCalls() []refusal {
	return slices.Concat(withoutRights(1, unix.SYS_CHMOD, unix.SYS_CREAT, unix.SYS_MKNOD), withoutRights(2, unix.SYS_OPEN))
}

// attributeCalls are older calls that change modes, owners and times.
func attributeCalls() []uintptr {
	return []uintptr{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
}
