package shell

import "golang.org/x/sys/unix"

const (
	architecture = unix.AUDIT_ARCH_AARCH64
	// otherNumbers are beyond all calls: this processor has one ABI of this architecture.
	otherNumbers = 0x40000000
)

// kernelCalls are none: those of other processors have no like here.
func kernelCalls() []uintptr { return nil }

// olderModeCalls are none: this processor has none but the newer ones.
func olderModeCalls() []refusal { return nil }

// attributeCalls are none: this processor has none but the newer ones.
func attributeCalls() []uintptr { return nil }
