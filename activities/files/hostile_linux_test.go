package files

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHostilePaths: whatever a path is, no tool answers with, or writes, what is not below the root, and the
// refusal is one line that steers no terminal.
func TestHostilePaths(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, map[string]string{"in/file.txt": "inside"})
	outside := filepath.Join(t.TempDir(), "secret.txt")
	require.NoError(t, os.WriteFile(outside, []byte("secret old"), 0o644))
	links := map[string]string{
		"self": "/proc/self/environ", "fd": "/proc/self/fd/0", "cwd": "/proc/self/cwd", "root": "/proc/self/root", "zero": "/dev/zero", "null": "/dev/null",
		"tty": "/dev/tty", "mem": "/proc/self/mem", "etc": "/etc", "top": "/", "loop": "loop", "a": "b", "b": "a", "up": "..", "upup": "in/../..", "here": ".",
	}
	for name, target := range links {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	paths := []string{
		"in/file.txt\x00", "\x00", "in/\x00/../file.txt", "in/file.txt\n", "in/file.txt\r", "in/\u202efile.txt", "in/file.txt\u200b", "\ufefffile.txt", "in/ﬁle.txt",
		"\x1b[2Jfile.txt", "in/file.txt\xff", "/proc/self/environ", "/proc/self/fd/0", "/proc/1/environ", "/dev/zero", "/dev/stdin", "/dev/tcp/127.0.0.1/80", "/etc/passwd",
		"/", "//", "/..", "..", "../", "../..", "../../../../../../etc/passwd", "in/../../etc/passwd", "in/../../../etc/passwd", "./../x", ".//..//x", "in/..\x00/..", "..\\..\\etc\\passwd",
		"file:///etc/passwd", "~/.ssh/id_rsa", "~root", "$HOME/x", "${PATH}", "%2e%2e/etc/passwd", "..%2f..%2fetc", "....//....//etc", "\\\\server\\share", "C:\\x", "CON", "in/file.txt/", "in/file.txt/..", "in/file.txt/x",
		"self/x", "top/etc/passwd", "etc/passwd", "root/etc/passwd", "cwd/hostile_linux_test.go", "up/secret.txt", "upup/x", "loop/x", strings.Repeat("x", 300), strings.Repeat("x/", 3000),
	}
	paths = append(paths, slices.Collect(maps.Keys(links))...)
	require.GreaterOrEqual(t, len(paths), 60)
	for _, path := range paths {
		for name, args := range each(path) {
			text, err := call(t.Context(), t, root, name, args)
			for _, leak := range []string{"secret", "PATH=", "root:x:0", "hostile_linux_test"} {
				require.NotContains(t, text, leak, "%s %q", name, path)
			}
			if err != nil {
				require.NotContains(t, err.Error(), "secret old")
				require.Equal(t, -1, strings.IndexFunc(err.Error(), func(r rune) bool { return r < ' ' || r == '\u202e' || r == 0x7f }), "%s %q: %q", name, path, err)
			}
		}
	}
	require.Equal(t, "secret old", stored(t, filepath.Dir(outside), "secret.txt"))
	_, err := os.Stat("/x")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestWhatIsNoFileIsNotOpened: a device or a socket in the root is named, and neither read nor written.
func TestWhatIsNoFileIsNotOpened(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, nil)
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, socket.Close()) })
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	kinds := map[string]string{"socket": "socket", "pipe": "pipe"}
	for name, number := range map[string]int{"zero": 1<<8 | 5, "random": 1<<8 | 8, "full": 1<<8 | 7, "disk": 7 << 8} {
		mode := uint32(syscall.S_IFCHR)
		if name == "disk" {
			mode = syscall.S_IFBLK
		}
		if err := syscall.Mknod(filepath.Join(dir, name), mode|0o666, number); err != nil {
			t.Logf("NOT tried: %s: devices cannot be made here: %s", name, err)
			continue
		}
		kinds[name] = "device"
	}
	for name, kind := range kinds {
		require.Contains(t, refusal(t, root, "read_file", fields{"path": name}).Message, "is a "+kind+" and not a file")
		require.Contains(t, refusal(t, root, "write_file", fields{"path": name, "content": "x"}).Message, "is a "+kind)
		require.Contains(t, refusal(t, root, "edit_file", fields{"path": name, "old": "x", "new": "y"}).Message, "is a "+kind)
		require.Contains(t, answer(t, root, "list_files", ""), name+"\t"+kind)
		file, err := root.atOnce(name)
		if err == nil {
			_, err = root.regular(name, file.Stat)
		}
		require.Error(t, err, "also where it has come in a file's place")
	}
	require.Equal(t, "[no matches]", answer(t, root, "search_files", `{"pattern":"."}`))
}

// TestASecondNameOfAFile outside of the root keeps what it has: a change makes the name in the root a file of
// its own.
func TestASecondNameOfAFile(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, nil)
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "first"), []byte("old text"), 0o644))
	for _, name := range []string{"written", "edited"} {
		require.NoError(t, os.Link(filepath.Join(outside, "first"), filepath.Join(dir, name)))
	}
	answer(t, root, "write_file", `{"path":"written","content":"new"}`)
	answer(t, root, "edit_file", `{"path":"edited","old":"old","new":"new"}`)
	require.Equal(t, "old text", stored(t, outside, "first"))
	require.Equal(t, "new", stored(t, dir, "written"))
	require.Equal(t, "new text", stored(t, dir, "edited"))
}

// TestALinkThatIsSwapped for a folder in a loop, while it is read and written through, leads nowhere.
func TestALinkThatIsSwapped(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, map[string]string{"real/file.txt": "inside"})
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "file.txt"), []byte("secret old"), 0o644))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			default:
			}
			// Either is at the place "swap" for a while.
			for _, one := range []string{"link", "real"} {
				_ = os.Rename(filepath.Join(dir, one), filepath.Join(dir, "swap"))
				_ = os.Rename(filepath.Join(dir, "swap"), filepath.Join(dir, one))
			}
		}
	}()
	for range 100 {
		text, err := call(t.Context(), t, root, "read_file", `{"path":"swap/file.txt"}`)
		require.NotContains(t, text, "secret")
		require.NotContains(t, fmt.Sprint(err), "secret")
		_, _ = call(t.Context(), t, root, "write_file", `{"path":"swap/file.txt","content":"overwritten"}`)
		text, _ = call(t.Context(), t, root, "search_files", `{"path":".","pattern":"secret"}`)
		require.NotContains(t, text, "secret old")
	}
	close(end)
	<-ended
	require.Equal(t, "secret old", stored(t, outside, "file.txt"))
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing was written outside")
}
