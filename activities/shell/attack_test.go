//go:build linux

package shell

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attack is this program where a command has started it to try something. It exits with 0 where that did well.
func attack(args []string) int {
	err := attacks()[args[0]].do(args[1:])
	if err != nil {
		fmt.Println("refused:", err)
		return 1
	}
	fmt.Println("did it")
	return 0
}

// An attempt is something that no command may do.
type attempt struct {
	do func(args []string) error
	// args, with blanks between them, are replaced as place says.
	args string
}

// contained are those that are held where there are namespaces alone.
func contained() []string { return []string{"names of the state", "the keeper's root"} }

// kernel makes a system call by its number.
func kernel(number uintptr, args ...uintptr) error {
	var all [6]uintptr
	copy(all[:], args)
	if _, _, errno := unix.Syscall6(number, all[0], all[1], all[2], all[3], all[4], all[5]); errno != 0 {
		return errno
	}
	return nil
}

func pointer(text string) uintptr {
	b, err := unix.BytePtrFromString(text)
	if err != nil {
		panic(err)
	}
	pinned = append(pinned, b)
	return uintptr(unsafe.Pointer(b))
}

var pinned []*byte

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func dial(network string) func([]string) error {
	return func(args []string) error {
		conn, err := net.Dial(network, args[0])
		if err == nil {
			_, err = conn.Write([]byte("approve"))
			err = errors.Join(err, conn.Close())
		}
		return err
	}
}

func socket(family, kind, protocol int) func([]string) error {
	return func([]string) error {
		_, err := unix.Socket(family, kind, protocol)
		return err
	}
}

// calls is an attempt of a system call whose arguments are numbers.
func calls(number uintptr, args ...uintptr) func([]string) error {
	return func([]string) error { return kernel(number, args...) }
}

func reads(args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(file, 1<<16))
	if err == nil && !strings.Contains(string(text), args[1]) {
		err = errors.New("what it holds is not there")
	}
	return err
}

func opens(args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	return file.Close()
}

func lists(args []string) error {
	entries, err := os.ReadDir(args[0])
	if err == nil && len(entries) == 0 {
		err = errors.New("it is empty")
	}
	return err
}

func overwrites(args []string) error { return os.WriteFile(args[0], []byte("changed"), 0o600) }

// attacks are what is tried. SERVER is the address of a server of this machine, STATE a folder that is hidden, OUT one outside of the root,
// ROOT the root, WORKER the number of the worker's process, VICTIM one of another process of its user.
func attacks() map[string]attempt {
	onFile := func(do func(path string) error) func([]string) error {
		return func(args []string) error { return do(args[0]) }
	}
	return map[string]attempt{
		// The control plane.
		"a server of this machine":        {dial("tcp"), "SERVER"},
		"the same by IPv6":                {dial("tcp6"), "SERVER6"},
		"a socket of the state folder":    {dial("unix"), "STATE/dev.sock"},
		"a socket elsewhere":              {dial("unix"), "OUT/other.sock"},
		"a datagram socket elsewhere":     {dial("unixgram"), "OUT/datagram.sock"},
		"an abstract socket":              {dial("unix"), "@ABSTRACT"},
		"a pair that is connected anew":   {pairConnected, "OUT/datagram.sock"},
		"a socket of virtual machines":    {socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0), ""},
		"a socket for raw packets":        {socket(unix.AF_PACKET, unix.SOCK_RAW, 0), ""},
		"a socket of the kernel's cipher": {socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0), ""},
		"the state":                       {reads, "STATE/dev.db sesame"},
		"the state by another root":       {reads, "/proc/1/root/STATE/dev.db sesame"},
		"names of the state":              {lists, "STATE"},
		"writing the state":               {overwrites, "STATE/dev.db"},
		// Files outside.
		"a new file":        {overwrites, "OUT/made"},
		"over a file":       {overwrites, "OUT/file"},
		"a file cut":        {onFile(func(p string) error { return os.Truncate(p, 0) }), "OUT/file"},
		"a file removed":    {onFile(os.Remove), "OUT/file"},
		"the root renamed":  {onFile(func(p string) error { return os.Rename(p, p+".other") }), "ROOT"},
		"the root replaced": {onFile(func(p string) error { return errors.Join(os.Remove(p), os.Symlink("/", p)) }), "ROOT"},
		"the temporary folder swapped": {func([]string) error {
			temp := os.Getenv("TMPDIR")
			return errors.Join(os.Rename(temp, temp+".other"), os.Symlink("/", temp))
		}, ""},
		"a mode":                       {onFile(func(p string) error { return unix.Chmod(p, 0o604) }), "OUT/file"},
		"a mode by an open file":       {onFile(byFile(func(fd int) error { return unix.Fchmod(fd, 0o604) })), "OUT/file"},
		"a mode by the new call":       {onFile(func(p string) error { return kernel(unix.SYS_FCHMODAT2, uintptr(0), pointer(p), 0o604, 0) }), "OUT/file"},
		"a mode of a folder":           {onFile(func(p string) error { return unix.Chmod(p, 0o777) }), "OUT"},
		"an owner":                     {onFile(func(p string) error { return unix.Chown(p, -1, os.Getgid()) }), "OUT/file"},
		"an owner by a folder":         {onFile(func(p string) error { return unix.Fchownat(unix.AT_FDCWD, p, os.Getuid(), -1, 0) }), "OUT/file"},
		"times":                        {onFile(func(p string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, p, make([]unix.Timespec, 2), 0) }), "OUT/file"},
		"times by an open file":        {onFile(byFile(func(fd int) error { return unix.Futimes(fd, make([]unix.Timeval, 2)) })), "OUT/file"},
		"an attribute":                 {onFile(func(p string) error { return unix.Setxattr(p, "user.test", []byte("x"), 0) }), "OUT/file"},
		"an attribute by an open file": {onFile(byFile(func(fd int) error { return unix.Fsetxattr(fd, "user.test", []byte("x"), 0) })), "OUT/file"},
		"flags of a file": {onFile(byFile(func(fd int) error {
			return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0x40)
		})), "OUT/file"},
		"a disk":                    {anyDisk, ""},
		"a disk made":               {onFile(madeDisk), "ROOT/disk"},
		"a file by its handle":      {onFile(byHandle), "OUT/file"},
		"the pattern of core files": {overwrites, "/proc/sys/kernel/core_pattern"},
		"a group of processes":      {anyCgroup, ""},
		// Processes.
		"the worker traced":         {traces, "WORKER"},
		"the keeper traced":         {func([]string) error { return traces([]string{strconv.Itoa(os.Getppid())}) }, ""},
		"memory of the worker":      {opens, "/proc/WORKER/mem"},
		"the worker signalled":      {sends, "WORKER"},
		"another process signalled": {sends, "VICTIM"},
		"limits of another process": {limits, "VICTIM"},
		"environment of the worker": {reads, "/proc/WORKER/environ EVERSTEP_TEST_SECRET"},
		"files of the worker":       {opens, "/proc/WORKER/fd/0"},
		"the worker's root":         {lists, "/proc/WORKER/root/STATE"},
		"files of the keeper":       {func([]string) error { return opens([]string{fmt.Sprintf("/proc/%d/fd/0", os.Getppid())}) }, ""},
		"the keeper's root":         {lists, "/proc/1/root/STATE"},
		"more than its own files":   {inherits, ""},
		"a core file": {func([]string) error {
			return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20})
		}, ""},
		// Namespaces and mounts.
		"a mount":               {func([]string) error { return unix.Mount("none", "/mnt", "tmpfs", 0, "") }, ""},
		"a mount made writable": {func([]string) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }, ""},
		"a mount made writable anew": {func([]string) error {
			return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}, ""},
		"what hides the state taken away": {onFile(func(p string) error { return unix.Unmount(p, unix.MNT_DETACH) }), "STATE"},
		"a tree of mounts":                {func([]string) error { _, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE); return err }, ""},
		"another root":                    {func([]string) error { return unix.Chroot(".") }, ""},
		"a namespace of users":            {apart(unix.CLONE_NEWUSER), ""},
		"a namespace of mounts":           {apart(unix.CLONE_NEWUSER | unix.CLONE_NEWNS), ""},
		"a child in a namespace": {func([]string) error {
			return (&exec.Cmd{Path: "/bin/true", SysProcAttr: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}}).Run()
		}, ""},
		"the namespace of the first": {joins("/proc/1/ns/net"), ""},
		"its own namespace joined":   {joins("/proc/self/ns/net"), ""},
		// The kernel.
		"a ring of calls": {func([]string) error {
			var p [120]byte
			return kernel(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&p)))
		}, ""},
		"clone3": {func([]string) error { return notWithout(kernel(unix.SYS_CLONE3, 0, 0), unix.EINVAL) }, ""},
		"a key": {func([]string) error {
			return kernel(unix.SYS_ADD_KEY, pointer("user"), pointer("everstep-test"), pointer("x"), 1, ^uintptr(0))
		}, ""},
		"keys":                      {calls(unix.SYS_KEYCTL, 0, ^uintptr(3), 0), ""},
		"a program of the kernel's": {func([]string) error { return notWithout(kernel(unix.SYS_BPF, 0, 0, 0), unix.EPERM) }, ""},
		"faults of its own":         {calls(unix.SYS_USERFAULTFD, 1), ""},
		"typing for others": {func([]string) error {
			return notWithout(kernel(unix.SYS_IOCTL, 0, unix.TIOCSTI, pointer("x")), unix.ENOTTY)
		}, ""},
		"the same, disguised": {func([]string) error {
			return notWithout(kernel(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<32, pointer("x")), unix.ENOTTY)
		}, ""},
		"a terminal":   {onFile(func(p string) error { _, err := os.OpenFile(p, os.O_RDWR, 0); return err }), "/dev/tty"},
		"calls of x32": {x32, ""},
	}
}

// notWithout takes an error that the call itself ends with for none.
func notWithout(err error, own unix.Errno) error {
	if errors.Is(err, own) && own != unix.EPERM {
		return nil
	}
	return err
}

func byFile(do func(fd int) error) func(string) error {
	return func(path string) error {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		return do(int(file.Fd()))
	}
}

// pairConnected connects one end of a pair of datagram sockets to another socket, by its path.
func pairConnected(args []string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Connect(pair[0], &unix.SockaddrUnix{Name: args[0]})
}

func anyDisk([]string) error {
	found, err := filepath.Glob("/dev/[svn][dv][abm]*")
	if err != nil || len(found) == 0 {
		return errors.Join(err, errors.New("there is none"))
	}
	return reads([]string{found[0], ""})
}

func madeDisk(path string) error {
	if err := unix.Mknod(path, unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0))); err != nil {
		return err
	}
	return reads([]string{path, ""})
}

func byHandle(path string) error {
	handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		return err
	}
	_, err = unix.OpenByHandleAt(mount, handle, unix.O_RDONLY)
	return err
}

func anyCgroup([]string) error {
	found, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	if err != nil || len(found) == 0 {
		return errors.Join(err, errors.New("there is none"))
	}
	return os.WriteFile(found[0], []byte("0"), 0)
}

func traces(args []string) error {
	runtime.LockOSThread()
	return unix.PtraceSeize(number(args[0]))
}

func sends(args []string) error { return unix.Kill(number(args[0]), unix.SIGCONT) }

func limits(args []string) error {
	return unix.Prlimit(number(args[0]), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 100, Max: 100}, nil)
}

// inherits looks for a file that the Go runtime has not opened.
func inherits([]string) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		to, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err == nil && number(entry.Name()) > 2 && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			fmt.Println(to)
			return nil
		}
	}
	return errors.New("there is none")
}

func apart(flags int) func([]string) error {
	return func([]string) error {
		return (&exec.Cmd{Path: "/bin/true", SysProcAttr: &syscall.SysProcAttr{Unshareflags: uintptr(flags)}}).Run()
	}
}

func joins(path string) func([]string) error {
	return func([]string) error {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		runtime.LockOSThread()
		return unix.Setns(int(file.Fd()), 0)
	}
}

func x32([]string) error {
	if runtime.GOARCH != "amd64" {
		return errors.New("this processor has none")
	}
	return kernel(0x40000000 + unix.SYS_GETPID)
}
