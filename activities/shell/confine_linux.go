package shell

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock is the version of Landlock that the kernel has, zero where it has none.
func Landlock() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

const (
	ofFiles = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	writes  = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
)

// dropCapabilities leaves of root's powers that to read and write files of others alone, which the mounts or Landlock
// confine. Who has none loses none.
func dropCapabilities() error {
	const kept = 1 << unix.CAP_DAC_OVERRIDE
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	if err := unix.Capget(&header, &has[0]); err != nil {
		return err
	}
	few := [2]unix.CapUserData{{Effective: has[0].Effective & kept, Permitted: has[0].Permitted & kept}}
	return unix.Capset(&header, &few[0])
}

// confine has this thread, and what it starts, gain no rights by running programs, write nowhere but in the root and in
// the temporary folder, read no hidden file, and make no system call that leads out. A kernel that lacks a part of that
// has it left out, but where the command has namespaces, which want the filter of calls.
//
// The system's calls are used directly: the libraries confine the whole process, and
// here it is one thread that must be.
func confine(o order) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := restrictFiles(o); err != nil {
		return err
	}
	return restrictCalls(o)
}

// restrictCalls has the kernel refuse what leads to other machines, services and namespaces.
func restrictCalls(o order) error {
	if !hasSeccomp() {
		if o.Namespace != none {
			return errors.New("the kernel has no seccomp to filter system calls with")
		}
		return nil
	}
	calls, families := everywhere(), []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK} // by which the processes of one command reach each other
	if o.Namespace == none {
		calls, families = append(calls, withoutNamespaces()...), nil
	}
	if !o.Network {
		calls = append(calls, withoutNetwork(families...)...)
	}
	return refuse(calls)
}

// restrictFiles is what Landlock does. Where the kernel can, it also keeps signals and traces in.
func restrictFiles(o order) error {
	version := Landlock()
	if version == 0 {
		if len(o.Hidden) > 0 && o.Namespace == none {
			return errors.New("the kernel has no Landlock to hide files with")
		}
		return nil
	}
	if o.Namespace == none {
		o.Hidden = append(o.Hidden, "/dev") // root would read disks there
	}
	handled := unix.LandlockRulesetAttr{Handled_access_fs: writes}
	if version >= 2 { // from which on files can be moved between folders
		handled.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= truncates {
		handled.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= signals {
		handled.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	if len(o.Hidden) > 0 {
		handled.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_READ_FILE
	}
	made, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&handled)), unsafe.Sizeof(handled), 0) //nolint:gosec // the call takes a pointer, and nothing keeps it
	if errno != 0 {
		return errors.New("the kernel takes no rules of Landlock: " + errno.Error())
	}
	rules := ruleset{os.NewFile(made, "rules"), handled.Handled_access_fs}
	defer rules.file.Close()
	if err := rules.allow(o); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules.file.Fd(), 0, 0); errno != 0 {
		return errors.New("the kernel does not confine the command: " + errno.Error())
	}
	return nil
}

type ruleset struct {
	file    *os.File
	handled uint64
}

func (r ruleset) allow(o order) error {
	err := errors.Join(r.beneath(rootFD, r.handled), r.path(o.Temp, r.handled))
	for _, device := range devices() {
		err = errors.Join(err, r.path("/dev/"+device, ofFiles))
	}
	if o.Namespace != none { // else it is that of all processes
		err = errors.Join(err, r.path(sharedMemory, r.handled))
	}
	for _, path := range visible(o.Hidden) {
		err = errors.Join(err, r.path(path, unix.LANDLOCK_ACCESS_FS_READ_FILE))
	}
	return err
}

// path allows something beneath a path, or at it. What is not there needs no rule.
func (r ruleset) path(path string, rights uint64) error {
	file, err := os.OpenFile(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return err
	case info.Mode()&os.ModeSymlink != 0:
		return nil // what it leads to has a rule of its own
	case !info.IsDir():
		rights &= ofFiles
	}
	return r.beneath(file.Fd(), rights)
}

func (r ruleset) beneath(fd uintptr, rights uint64) error {
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)} //nolint:gosec // a file's number is small
	if rule.Allowed_access == 0 {
		return nil
	}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, r.file.Fd(), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 { //nolint:gosec // the call takes a pointer, and nothing keeps it
		return errors.New("the kernel takes no rule of Landlock: " + errno.Error())
	}
	return nil
}

// visible are the paths that together hold every file but those hidden: Landlock knows
// no exceptions, so all that stands beside the way to a hidden file or folder is named.
func visible(hidden []string) []string {
	ways := map[string]bool{}
	for _, path := range hidden {
		for ; !ways[path]; path = filepath.Dir(path) {
			ways[path] = true
		}
	}
	for _, path := range hidden {
		ways[path] = false // what is in a folder that is hidden is not named
	}
	var paths []string
	for way, leads := range ways {
		if !leads {
			continue
		}
		entries, err := os.ReadDir(way)
		if err != nil {
			continue // it is not there, or nobody can read it
		}
		for _, entry := range entries {
			path := filepath.Join(way, entry.Name())
			if _, known := ways[path]; !known {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return paths
}
