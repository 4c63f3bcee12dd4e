//go:build linux

package shell

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// lack becomes this program on a system that lacks something: namespaces, as in most containers, or those, Landlock and
// filters of calls.
func lack(what, dir string) {
	calls := []refusal{
		{call: unix.SYS_CLONE, error: unix.EPERM, mask: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS, only: []uint32{0}},
		{call: unix.SYS_UNSHARE, error: unix.EPERM}, {call: unix.SYS_MOUNT, error: unix.EPERM},
	}
	if what == "all" {
		calls = append(calls, refused(unix.ENOSYS, unix.SYS_SECCOMP, unix.SYS_LANDLOCK_CREATE_RULESET)...)
	}
	runtime.LockOSThread()
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = refuse(calls)
	}
	if err == nil {
		err = syscall.Exec("/proc/self/exe", []string{"self", "confined", what, dir}, os.Environ())
	}
	fmt.Println("not lacking:", err)
}

// confined says what holds, and whether a worker that insists on it starts.
func confined(dir string) {
	hold, err := Examine(Config{})
	fmt.Println(hold.Confined(), hold, err)
	s, err := Open(Config{Dir: dir, Confined: true})
	fmt.Println("required:", err)
	if err == nil {
		text, err := call(context.Background(), s, `{"script":"echo $$; chmod 700 . || echo no modes; echo done"}`)
		fmt.Println(text, err)
	}
}

// TestWhatHolds on a system is found out and told, and a worker that insists on being confined does not start without.
func TestWhatHolds(t *testing.T) {
	t.Parallel()
	run := func(what string) string {
		text, err := exec.Command("/proc/self/exe", "lack", what, t.TempDir()).CombinedOutput()
		require.NoError(t, err, "%s", text)
		return string(text)
	}
	if hasSeccomp() && Landlock() >= truncates {
		told := run("namespaces")
		require.Contains(t, told, "true seccomp and Landlock "+strconv.Itoa(Landlock())+": commands have no network and no sockets")
		require.Contains(t, told, "no namespaces: ")
		require.Contains(t, told, "required: <nil>")
		require.Contains(t, told, "no modes\ndone")
	}
	told := run("all")
	require.Contains(t, told, "false nothing confines commands, so that an agent can approve its own calls")
	require.Contains(t, told, "neither seccomp nor Landlock; no namespaces: ")
	require.Contains(t, told, "required: commands cannot be confined on this machine: nothing confines")
}

func TestConfined(t *testing.T) {
	t.Parallel()
	require.True(t, Hold{Namespaces: true, Seccomp: true}.Confined())
	require.True(t, Hold{Landlock: truncates, Seccomp: true}.Confined())
	require.False(t, Hold{Landlock: truncates - 1, Seccomp: true}.Confined())
	require.False(t, Hold{Landlock: signals}.Confined())
	require.Contains(t, Hold{Namespaces: true, Network: true}.String(), "an agent can approve its own calls")
	require.Contains(t, Hold{Landlock: 2, Seccomp: true}.String(), "Landlock 2, which is too old")
}

// TestNetworkIsGiven by the configuration alone, and with it nothing else.
func TestNetworkIsGiven(t *testing.T) {
	t.Parallel()
	state := seenFolder(t)
	require.NoError(t, os.WriteFile(state+"/dev.db", []byte("sesame"), 0o600))
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	for mode, s := range modes(t, Config{Hidden: []string{state}, Network: true}) {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			copyInto(t, s.config.Dir)
			for _, one := range []struct {
				attack, arg string
				works       bool
			}{{"a server of this machine", server.Addr().String(), true}, {"the state", state + "/dev.db", false}, {"a namespace of users", "", false}, {"over a file", state + "/dev.db", false}} {
				text, err := call(t.Context(), s, fields{"command": []string{"./self", "attack", one.attack, one.arg, "sesame"}})
				require.NoError(t, err)
				require.Equal(t, one.works, !strings.Contains(text, "refused: "), "%s: %s", one.attack, text)
			}
			_, err := call(t.Context(), s, `{"script":"true","network":true}`)
			require.ErrorContains(t, err, "the schema has no such property", "no agent asks for it")
		})
	}
}
