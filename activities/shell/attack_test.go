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
	// args are replaced as place says.
	args []string
	// contained says that it is held where there are namespaces alone.
	contained bool
}

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
		"a server of this machine":        {do: dial("tcp"), args: []string{"SERVER"}},
		"the same by IPv6":                {do: dial("tcp6"), args: []string{"SERVER6"}},
		"a socket of the state folder":    {do: dial("unix"), args: []string{"STATE/dev.sock"}},
		"a socket elsewhere":              {do: dial("unix"), args: []string{"OUT/other.sock"}},
		"a datagram socket elsewhere":     {do: dial("unixgram"), args: []string{"OUT/datagram.sock"}},
		"an abstract socket":              {do: dial("unix"), args: []string{"@ABSTRACT"}},
		"a pair that is connected anew":   {do: pairConnected, args: []string{"OUT/datagram.sock"}},
		"a socket of virtual machines":    {do: socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		"a socket for raw packets":        {do: socket(unix.AF_PACKET, unix.SOCK_RAW, 0)},
		"a socket of the kernel's cipher": {do: socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
		"the state":                       {do: reads, args: []string{"STATE/dev.db", "sesame"}},
		"the state by another root":       {do: reads, args: []string{"/proc/1/root/STATE/dev.db", "sesame"}},
		"names of the state":              {do: lists, args: []string{"STATE"}, contained: true},
		"writing the state":               {do: overwrites, args: []string{"STATE/dev.db"}},
		// Files outside.
		"a new file":        {do: overwrites, args: []string{"OUT/made"}},
		"over a file":       {do: overwrites, args: []string{"OUT/file"}},
		"a file cut":        {do: onFile(func(p string) error { return os.Truncate(p, 0) }), args: []string{"OUT/file"}},
		"a file removed":    {do: onFile(os.Remove), args: []string{"OUT/file"}},
		"the root renamed":  {do: onFile(func(p string) error { return os.Rename(p, p+".other") }), args: []string{"ROOT"}},
		"the root replaced": {do: onFile(func(p string) error { return errors.Join(os.Remove(p), os.Symlink("/", p)) }), args: []string{"ROOT"}},
		"the temporary folder swapped": {do: onFile(func(string) error {
			temp := os.Getenv("TMPDIR")
			return errors.Join(os.Rename(temp, temp+".other"), os.Symlink("/", temp))
		}), args: []string{""}},
		"a mode":                       {do: onFile(func(p string) error { return unix.Chmod(p, 0o604) }), args: []string{"OUT/file"}},
		"a mode by an open file":       {do: onFile(byFile(func(fd int) error { return unix.Fchmod(fd, 0o604) })), args: []string{"OUT/file"}},
		"a mode by the new call":       {do: onFile(func(p string) error { return kernel(unix.SYS_FCHMODAT2, uintptr(0), pointer(p), 0o604, 0) }), args: []string{"OUT/file"}},
		"a mode of a folder":           {do: onFile(func(p string) error { return unix.Chmod(p, 0o777) }), args: []string{"OUT"}},
		"an owner":                     {do: onFile(func(p string) error { return unix.Chown(p, -1, os.Getgid()) }), args: []string{"OUT/file"}},
		"an owner by a folder":         {do: onFile(func(p string) error { return unix.Fchownat(unix.AT_FDCWD, p, os.Getuid(), -1, 0) }), args: []string{"OUT/file"}},
		"times":                        {do: onFile(func(p string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, p, make([]unix.Timespec, 2), 0) }), args: []string{"OUT/file"}},
		"times by an open file":        {do: onFile(byFile(func(fd int) error { return unix.Futimes(fd, make([]unix.Timeval, 2)) })), args: []string{"OUT/file"}},
		"an attribute":                 {do: onFile(func(p string) error { return unix.Setxattr(p, "user.test", []byte("x"), 0) }), args: []string{"OUT/file"}},
		"an attribute by an open file": {do: onFile(byFile(func(fd int) error { return unix.Fsetxattr(fd, "user.test", []byte("x"), 0) })), args: []string{"OUT/file"}},
		"flags of a file": {do: onFile(byFile(func(fd int) error {
			return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0x40)
		})), args: []string{"OUT/file"}},
		"a disk":                    {do: onFile(func(string) error { return anyDisk() }), args: []string{""}},
		"a disk made":               {do: onFile(madeDisk), args: []string{"ROOT/disk"}},
		"a file by its handle":      {do: onFile(byHandle), args: []string{"OUT/file"}},
		"the pattern of core files": {do: overwrites, args: []string{"/proc/sys/kernel/core_pattern"}},
		"a group of processes":      {do: onFile(func(string) error { return anyCgroup() }), args: []string{""}},
		// Processes.
		"the worker traced":         {do: traces, args: []string{"WORKER"}},
		"the keeper traced":         {do: func([]string) error { return traces([]string{strconv.Itoa(os.Getppid())}) }},
		"memory of the worker":      {do: opens, args: []string{"/proc/WORKER/mem"}},
		"the worker signalled":      {do: sends, args: []string{"WORKER"}},
		"another process signalled": {do: sends, args: []string{"VICTIM"}},
		"limits of another process": {do: limits, args: []string{"VICTIM"}},
		"environment of the worker": {do: reads, args: []string{"/proc/WORKER/environ", "EVERSTEP_TEST_SECRET"}},
		"files of the worker":       {do: opens, args: []string{"/proc/WORKER/fd/0"}},
		"the worker's root":         {do: lists, args: []string{"/proc/WORKER/root/STATE"}},
		"files of the keeper":       {do: func([]string) error { return opens([]string{fmt.Sprintf("/proc/%d/fd/0", os.Getppid())}) }},
		"the keeper's root":         {do: lists, args: []string{"/proc/1/root/STATE"}, contained: true},
		"more than its own files":   {do: inherits},
		"a core file": {do: func([]string) error {
			return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20})
		}},
		// Namespaces and mounts.
		"a mount":               {do: func([]string) error { return unix.Mount("none", "/mnt", "tmpfs", 0, "") }},
		"a mount made writable": {do: func([]string) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
		"a mount made writable anew": {do: func([]string) error {
			return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}},
		"what hides the state taken away": {do: onFile(func(p string) error { return unix.Unmount(p, unix.MNT_DETACH) }), args: []string{"STATE"}},
		"a tree of mounts":                {do: func([]string) error { _, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE); return err }},
		"another root":                    {do: func([]string) error { return unix.Chroot(".") }},
		"a namespace of users":            {do: apart(unix.CLONE_NEWUSER)},
		"a namespace of mounts":           {do: apart(unix.CLONE_NEWUSER | unix.CLONE_NEWNS)},
		"a child in a namespace": {do: func([]string) error {
			return (&exec.Cmd{Path: "/bin/true", SysProcAttr: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}}).Run()
		}},
		"the namespace of the first": {do: joins("/proc/1/ns/net")},
		"its own namespace joined":   {do: joins("/proc/self/ns/net")},
		// The kernel.
		"a ring of calls": {do: func([]string) error {
			var p [120]byte
			return kernel(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&p)))
		}},
		"clone3": {do: func([]string) error { return notWithout(kernel(unix.SYS_CLONE3, 0, 0), unix.EINVAL) }},
		"a key": {do: func([]string) error {
			return kernel(unix.SYS_ADD_KEY, pointer("user"), pointer("everstep-test"), pointer("x"), 1, ^uintptr(0))
		}},
		"keys":                      {do: calls(unix.SYS_KEYCTL, 0, ^uintptr(3), 0)},
		"a program of the kernel's": {do: func([]string) error { return notWithout(kernel(unix.SYS_BPF, 0, 0, 0), unix.EPERM) }},
		"faults of its own":         {do: calls(unix.SYS_USERFAULTFD, 1)},
		"typing for others": {do: func([]string) error {
			return notWithout(kernel(unix.SYS_IOCTL, 0, unix.TIOCSTI, pointer("x")), unix.ENOTTY)
		}},
		"the same, disguised": {do: func([]string) error {
			return notWithout(kernel(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<32, pointer("x")), unix.ENOTTY)
		}},
		"a terminal":   {do: onFile(func(p string) error { _, err := os.OpenFile(p, os.O_RDWR, 0); return err }), args: []string{"/dev/tty"}},
		"calls of x32": {do: func([]string) error { return x32() }},
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

func anyDisk() error {
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

func anyCgroup() error {
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

func x32() error {
	if runtime.GOARCH != "amd64" {
		return errors.New("this processor has none")
	}
	return kernel(0x40000000 + unix.SYS_GETPID)
}
