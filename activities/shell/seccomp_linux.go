//go:build amd64 || arm64

package shell

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A refusal is a system call that commands do not make.
type refusal struct {
	call  uintptr
	error unix.Errno
	// arg and the rest say with which of its arguments it is refused: where the bits of mask (zero: all) are one of
	// those in never, or none of those in only. Both empty: with any. The kernel reads 32 bits of each of these arguments.
	arg         int
	mask        uint32
	never, only []uint32
}

// refused returns refusals of calls whatever their arguments are.
func refused(error unix.Errno, calls ...uintptr) []refusal {
	all := make([]refusal, 0, len(calls))
	for _, call := range calls {
		all = append(all, refusal{call: call, error: error})
	}
	return all
}

// everywhere are the calls that no command makes: those that change namespaces and mounts, that reach the kernel, its
// keys and its clocks, and that open files by numbers in place of paths. io_uring makes calls that no filter sees.
func everywhere() []refusal {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP
	return slices.Concat(
		refused(unix.EPERM,
			unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS, unix.SYS_UNSHARE,
			unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
			unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
			unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
			unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
			unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_SYSLOG,
			unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
			unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_VHANGUP,
			unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME),
		// Libraries then use the older calls, whose arguments can be seen.
		refused(unix.ENOSYS, unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER),
		[]refusal{
			{call: unix.SYS_CLONE, error: unix.EPERM, arg: 0, mask: namespaces, only: []uint32{0}},
			{call: unix.SYS_IOCTL, error: unix.EPERM, arg: 1, never: []uint32{unix.TIOCSTI, unix.TIOCLINUX}}, // they type for others
		},
		refused(unix.EPERM, kernelCalls()...),
		refused(unix.ENOSYS, unix.SYS_OPENAT2), // it has the mode in memory, which no filter sees; programs then use openat
		withoutRights(1, unix.SYS_FCHMOD),
		withoutRights(2, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_MKNODAT),
		withoutRights(3, unix.SYS_OPENAT),
		olderModeCalls(),
	)
}

// rights are the bits of a file's mode by which whoever runs it has the rights of its owner or group. Another user of the
// machine could run such a file of a command's.
const rights = unix.S_ISUID | unix.S_ISGID

// withoutRights returns refusals of calls where their argument of that number, a file's mode, has these bits.
func withoutRights(arg int, calls ...uintptr) []refusal {
	all := refused(unix.EPERM, calls...)
	for i := range all {
		all[i].arg, all[i].mask, all[i].only = arg, rights, []uint32{0}
	}
	return all
}

// withoutNetwork are the calls that reach other machines and services of this one. A unix socket is reached by a path
// whatever the namespace of networks, so none is made: only pairs, of kinds that cannot be connected anew. families are
// those of which sockets can be made.
func withoutNetwork(families ...uint32) []refusal {
	return []refusal{
		{call: unix.SYS_SOCKET, error: unix.EACCES, only: families},
		{call: unix.SYS_SOCKETPAIR, error: unix.EACCES, arg: 0, only: []uint32{unix.AF_UNIX}},
		{call: unix.SYS_SOCKETPAIR, error: unix.EACCES, arg: 1, mask: 0xf, only: []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}},
	}
}

// withoutNamespaces are the calls by which a command changes files outside of its folder, which Landlock does not confine,
// and reaches into processes beside its own.
func withoutNamespaces() []refusal {
	return slices.Concat(
		refused(unix.EPERM,
			unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
			unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
			unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
			unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP),
		refused(unix.EPERM, attributeCalls()...),
		[]refusal{
			{call: unix.SYS_IOCTL, error: unix.EPERM, arg: 1, never: []uint32{unix.FS_IOC_SETFLAGS, setFlags32, setProject}},
			{call: unix.SYS_PRLIMIT64, error: unix.EPERM, arg: 0, only: []uint32{0}}, // of itself alone
		},
	)
}

// What ioctl does to the flags of a file, and what golang.org/x/sys does not name.
const (
	setFlags32 = 0x40046602 // FS_IOC32_SETFLAGS
	setProject = 0x401c5820 // FS_IOC_FSSETXATTR
)

// hasSeccomp reports whether the kernel filters system calls.
func hasSeccomp() bool {
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))) //nolint:gosec // the system call takes a pointer
	return errno == 0
}

// refuse has this thread, and what it starts, make none of the calls. It needs no_new_privs.
func refuse(calls []refusal) error {
	filter := program(calls)
	attr := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}                                           //nolint:gosec // some hundred instructions
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&attr))) //nolint:gosec // the system call takes a pointer
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errors.New("the kernel takes no filter of system calls: " + errno.Error())
	}
	return nil
}

// Where the kernel shows a filter the number of a call, its architecture, and the lower half of its first argument.
const (
	numberAt       = 0
	architectureAt = 4
	argumentsAt    = 16
)

// program is the filter of the calls. A call of another architecture, whose numbers mean other things, ends the process.
func program(calls []refusal) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	answer := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	// jump skips so many instructions where the word is k, and else so many.
	jump := func(k uint32, same, other int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: uint8(same), Jf: uint8(other)} //nolint:gosec // a few
	}
	filter := []unix.SockFilter{
		load(architectureAt), jump(architecture, 1, 0), answer(unix.SECCOMP_RET_KILL_PROCESS),
		load(numberAt),
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: otherNumbers, Jt: 0, Jf: 1}, answer(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
	}
	for _, call := range calls {
		var body []unix.SockFilter
		values := slices.Concat(call.never, call.only)
		if len(values) > 0 {
			body = append(body, load(argumentsAt+8*uint32(call.arg))) //nolint:gosec // the first ones
			if call.mask != 0 {
				body = append(body, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: call.mask})
			}
		}
		for i, value := range values {
			same, other := len(values)-1-i, 0 // comparisons that follow, and then the refusal
			if len(call.only) > 0 {
				same++
			} else if same == 0 {
				other = 1
			}
			body = append(body, jump(value, same, other))
		}
		body = append(body, answer(unix.SECCOMP_RET_ERRNO|uint32(call.error)), load(numberAt)) //nolint:gosec // error numbers are small
		filter = append(filter, jump(uint32(call.call), 0, len(body)))                         //nolint:gosec // some hundreds
		filter = append(filter, body...)
	}
	return append(filter, answer(unix.SECCOMP_RET_ALLOW))
}
