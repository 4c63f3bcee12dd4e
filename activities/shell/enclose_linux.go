package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// enclose gives this keeper, the first process of its namespaces, and what it starts a view of the files of its own: all
// is read-only but the root and the temporary folder, devices are those that hold nothing, /proc shows the processes of
// the namespace alone, and what is hidden is empty. It returns where the temporary folder is in that view.
//
// The folders that the keeper was given are of the worker's view, and a path leads from them to all of its files. So they
// are opened again in this one, by their paths.
func enclose(o order) (temp string, err error) {
	paths := map[int]string{}
	for _, fd := range []int{rootFD, folderFD} {
		if paths[fd], err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err != nil {
			return "", err
		}
	}
	temp = "/tmp"
	if paths[rootFD] == temp {
		temp = "/dev/temp"
	}
	if err := newView(o, paths[rootFD], temp); err != nil {
		return "", err
	}
	for fd, path := range paths {
		if err := reopen(fd, path); err != nil {
			return "", fmt.Errorf("its folder is not where it was: %w", err)
		}
	}
	if !o.Network {
		_ = loopbackUp() // without it commands have no network among themselves either
	}
	return temp, nil
}

// reopen puts a folder of this view in the place of the same folder of another view.
func reopen(fd int, path string) error {
	again, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(again) }() // nothing was written
	var before, now unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &before), unix.Fstat(again, &now)); err != nil {
		return err
	}
	if before.Dev != now.Dev || before.Ino != now.Ino {
		return errors.New("another one has its name")
	}
	return unix.Dup3(again, fd, unix.O_CLOEXEC)
}

// devices are those that a command has. They hold nothing.
func devices() []string { return []string{"null", "zero", "full", "random", "urandom"} }

// emptyFile is what stands in the place of files that are hidden.
const emptyFile = "/dev/empty"

// newView makes the mounts of enclose. Those that stay writable are cloned before all are made read-only.
func newView(o order, root, temp string) error {
	const inert = unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make its mounts private: %w", err)
	}
	rootMount, err := cloneMount(root, inert)
	if err != nil {
		return err
	}
	tempMount, err := cloneMount(o.Temp, inert)
	if err != nil {
		return err
	}
	deviceMounts := map[string]int{}
	for _, name := range devices() {
		if deviceMounts[name], err = cloneMount("/dev/"+name, unix.MOUNT_ATTR_NOSUID); err != nil {
			return err
		}
	}
	if err := setMount(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, inert|unix.MOUNT_ATTR_RDONLY); err != nil {
		return err
	}
	if err := ownDevices(deviceMounts); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil && o.Namespace != ofUsers {
		// In a namespace of users, where containers may refuse it, other processes are shown and are out of reach.
		return fmt.Errorf("mount its /proc: %w", err)
	}
	if err := attach(tempMount, temp); err != nil {
		return err
	}
	// The worker's temporary folder has sockets in it, and what other commands work with.
	hidden := append([]string{filepath.Dir(o.Temp)}, o.Hidden...)
	slices.Sort(hidden) // a folder comes before what is in it
	var covered []string
	cover := func(inRoot bool, known ...string) {
		for _, path := range hidden {
			isIn := func(folder string) bool { return isBelow(path, folder) }
			if isIn(root) != inRoot || !inRoot && isBelow("/tmp", path) || slices.ContainsFunc(known, isIn) {
				continue
			}
			folder, wrong := hide(path)
			if err = errors.Join(err, wrong); folder {
				known = append(known, path)
			}
		}
		covered = append(covered, known...)
	}
	cover(false, "/dev")
	if err = errors.Join(err, attach(rootMount, root)); err != nil {
		return err
	}
	cover(true)
	for _, path := range covered {
		err = errors.Join(err, setMount(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.MOUNT_ATTR_RDONLY))
	}
	return err
}

// cloneMount is a mount of what is at a path, which stands nowhere yet.
func cloneMount(path string, attributes uint64) (int, error) {
	mount, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return 0, fmt.Errorf("mount %s: %w", path, err)
	}
	return mount, setMount(mount, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attributes)
}

// setMount adds attributes to a mount.
func setMount(at int, path string, flags uint, attributes uint64) error {
	if err := unix.MountSetattr(at, path, flags, &unix.MountAttr{Attr_set: attributes}); err != nil {
		return fmt.Errorf("restrict the mount %s: %w", path, err)
	}
	return nil
}

// attach has a mount stand at a path. A folder that was hidden around it is made anew.
func attach(mount int, path string) error {
	err := os.MkdirAll(path, 0o755) //nolint:gosec // the command may run as another user of the namespace
	if err = errors.Join(err, moveMount(mount, path)); err != nil {
		return fmt.Errorf("mount at %s: %w", path, err)
	}
	return nil
}

// moveMount has a mount stand at what is there already.
func moveMount(mount int, path string) error {
	return errors.Join(unix.MoveMount(mount, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH), unix.Close(mount))
}

// mountEmpty mounts an empty folder.
func mountEmpty(path, options string) error {
	if err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("cover %s: %w", path, err)
	}
	return nil
}

// ownDevices makes a /dev of the devices, and of memory that processes share.
func ownDevices(mounts map[string]int) error {
	if err := mountEmpty("/dev", "mode=755,size=1m"); err != nil {
		return err
	}
	for name, mount := range mounts {
		if err := errors.Join(os.WriteFile("/dev/"+name, nil, 0o600), moveMount(mount, "/dev/"+name)); err != nil {
			return fmt.Errorf("have /dev/%s: %w", name, err)
		}
	}
	return errors.Join(
		os.WriteFile(emptyFile, nil, 0o400),
		os.Symlink("/proc/self/fd", "/dev/fd"), os.Symlink("fd/0", "/dev/stdin"), os.Symlink("fd/1", "/dev/stdout"), os.Symlink("fd/2", "/dev/stderr"),
		os.Mkdir(sharedMemory, 0o700), mountEmpty(sharedMemory, "mode=1777"),
	)
}

// sharedMemory is where libraries keep semaphores, and memory that processes share.
const sharedMemory = "/dev/shm"

// hide has a folder be empty, and a file. What is not there needs no hiding.
func hide(path string) (folder bool, err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("hide %s: %w", path, err)
	case info.IsDir():
		return true, mountEmpty(path, "mode=755,size=1m")
	}
	empty, err := cloneMount(emptyFile, unix.MOUNT_ATTR_RDONLY)
	if err == nil {
		err = moveMount(empty, path)
	}
	if err != nil {
		return false, fmt.Errorf("hide %s: %w", path, err)
	}
	return false, nil
}

// isBelow reports whether a path is a folder, or in it.
func isBelow(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rest)
}

// loopbackUp has the processes of this namespace of networks reach each other.
func loopbackUp() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }() // nothing was sent
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo)
}
