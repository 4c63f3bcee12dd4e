//go:build linux

package shell

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// modes are the ways in which commands are confined, by a name: with namespaces, where this machine gives its user any,
// and without.
func modes(t *testing.T, config Config) map[string]*Shell {
	t.Helper()
	best, _ := open(t, config)
	config.Dir = ""
	plain, _ := open(t, config)
	plain.namespace, plain.hold.Namespaces = none, false
	all := map[string]*Shell{"without namespaces": plain}
	if best.namespace == none {
		t.Log("SKIPPED: this system gives its user no namespaces: what they confine is not checked: " + best.hold.Why)
		return all
	}
	all["namespaces"] = best
	return all
}

// copyInto puts this program into a folder.
func copyInto(t *testing.T, dir string) {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer self.Close()
	file, err := os.OpenFile(filepath.Join(dir, "self"), os.O_WRONLY|os.O_CREATE, 0o700)
	require.NoError(t, err)
	_, err = io.Copy(file, self)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// listen listens until the test ends, and fails it where anybody comes.
func listen(t *testing.T, network, address string) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Errorf("a command has reached %s", listener.Addr())
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

// TestAttacks: no command reaches the server by which calls are approved, or what workers keep, changes anything outside
// of its folder, or gets at a process beside its own.
func TestAttacks(t *testing.T) {
	t.Setenv("EVERSTEP_TEST_SECRET", "sesame")
	state, outside := seenFolder(t), seenFolder(t)
	require.NoError(t, os.WriteFile(filepath.Join(state, "dev.db"), []byte("sesame"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "file"), []byte("as it was"), 0o600))
	listen(t, "unix", filepath.Join(state, "dev.sock"))
	listen(t, "unix", filepath.Join(outside, "other.sock"))
	abstract := "everstep-test-" + filepath.Base(outside)
	listen(t, "unix", "@"+abstract)
	datagrams, err := net.ListenPacket("unixgram", filepath.Join(outside, "datagram.sock"))
	require.NoError(t, err)
	defer datagrams.Close()
	victim := exec.Command("sleep", "1000")
	require.NoError(t, victim.Start())
	defer func() { _, _ = victim.Process.Kill(), victim.Wait() }()
	place := strings.NewReplacer("SERVER6", listen(t, "tcp6", "[::1]:0"), "SERVER", listen(t, "tcp", "127.0.0.1:0"), "STATE", state, "OUT", outside,
		"ABSTRACT", abstract, "WORKER", strconv.Itoa(os.Getpid()), "VICTIM", strconv.Itoa(victim.Process.Pid))
	before := attributesOf(t, outside)
	for mode, s := range modes(t, Config{Hidden: []string{state}}) {
		t.Run(mode, func(t *testing.T) {
			copyInto(t, s.config.Dir)
			for name, one := range attacks() {
				t.Run(name, func(t *testing.T) {
					if s.namespace == none && slices.Contains(contained(), name) {
						t.Skip("SKIPPED: it is not promised without namespaces")
					}
					if strings.Contains(name, "signalled") && s.namespace == none && Landlock() < signals {
						t.Skip("SKIPPED: the Landlock of this kernel keeps no signals in")
					}
					command := []string{"./self", "attack", name}
					command = append(command, strings.Fields(strings.ReplaceAll(place.Replace(one.args), "ROOT", s.config.Dir))...)
					text, err := call(t.Context(), s, fields{"command": command})
					require.NoError(t, err)
					require.Contains(t, text, "refused: ")
				})
			}
		})
	}
	require.Equal(t, before, attributesOf(t, outside))
	text, err := os.ReadFile(filepath.Join(state, "dev.db"))
	require.NoError(t, err)
	require.Equal(t, "sesame", string(text))
}

// attributesOf are a folder and what is in it, with all that can be changed of them but when they were read.
func attributesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		var stat unix.Stat_t
		require.NoError(t, err)
		require.NoError(t, unix.Lstat(path, &stat))
		all[path] = strings.Join([]string{info.Mode().String(), info.ModTime().String(), strconv.Itoa(int(stat.Uid)), strconv.Itoa(int(stat.Gid)), strconv.Itoa(int(info.Size()))}, " ")
		return nil
	}))
	return all
}

// TestCallsOfAnotherArchitecture: a filter that knew the numbers of one alone would let in those of the other.
func TestCallsOfAnotherArchitecture(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: this processor has no other numbers of calls")
	}
	for mode, s := range modes(t, Config{}) {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			// socket(AF_UNIX, SOCK_STREAM, 0) by int 0x80, and then exit(0).
			writeELF(t, filepath.Join(s.config.Dir, "old"), []byte{
				0xb8, 0x67, 0x01, 0, 0, // mov eax, 359
				0xbb, 1, 0, 0, 0, 0xb9, 1, 0, 0, 0, 0x31, 0xd2, // mov ebx, 1; mov ecx, 1; xor edx, edx
				0xcd, 0x80, // int 0x80
				0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05, // xor edi, edi; mov eax, 60; syscall
			})
			text, err := call(t.Context(), s, fields{"command": []string{"./old"}})
			require.NoError(t, err)
			require.Contains(t, text, "SIGSYS")
		})
	}
}

// writeELF writes a program of this machine code.
func writeELF(t *testing.T, path string, code []byte) {
	t.Helper()
	const at, header = 0x400000, 64 + 56
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	size := uint64(header + len(code))
	for _, value := range []any{
		uint16(2), uint16(62), uint32(1), uint64(at + header), uint64(64), uint64(0), uint32(0), uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(at), uint64(at), size, size, uint64(0x1000),
	} {
		require.NoError(t, binary.Write(&b, binary.LittleEndian, value))
	}
	b.Write(code)
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o700))
}
