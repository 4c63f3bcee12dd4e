package devserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sys/unix"

	"everstep/activities/warden"
	"everstep/worker/host"
	"everstep/worker/host/statefile"
)

const anotherUser = 65534

// needRoot skips a test where no other user can be had.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED with a second user: this takes root")
	}
}

// as runs a function on a thread of another user's, which ends with it.
func as(uid int, do func() error) (err error) {
	become := func(call uintptr, id ...uintptr) error {
		id = append(id, 0, 0)
		if _, _, errno := syscall.RawSyscall(call, id[0], id[1], id[2]); errno != 0 {
			return errno
		}
		return nil
	}
	warden.OnThrowawayThread(func() {
		id := uintptr(uid)
		err = errors.Join(become(unix.SYS_SETGROUPS, 0, 0), become(unix.SYS_SETRESGID, id, id, id), become(unix.SYS_SETRESUID, id, id, id))
		if err == nil {
			err = do()
		}
	})
	return err
}

// answered is what a port says to the beginnings of gRPC and HTTP, whatever it is.
func answered(address string) (text []byte, err error) {
	for _, begin := range []string{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
		conn, err := net.DialTimeout("tcp", address, testPatience)
		if err != nil {
			return nil, err
		}
		_ = conn.SetDeadline(time.Now().Add(testPatience))
		_, _ = conn.Write([]byte(begin)) // it may be closed already
		buffer := make([]byte, 64)
		n, _ := conn.Read(buffer) // nothing, where it is cut off
		_ = conn.Close()
		text = append(text, buffer[:n]...)
	}
	return text, nil
}

// listening are the addresses on this machine on which one of the processes listens.
func listening(t *testing.T, pids ...int) (addresses []string) {
	t.Helper()
	ours := map[string]bool{}
	for _, pid := range pids {
		for _, file := range openFiles(t, pid) {
			if inode, ok := strings.CutPrefix(file, "socket:["); ok {
				ours[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" || !ours[f[9]] {
				continue
			}
			host, port, _ := strings.Cut(f[1], ":")
			require.Len(t, host, 8, "a listener on IPv6: the test has to learn to read its address")
			ip, err := strconv.ParseUint(host, 16, 32)
			require.NoError(t, err)
			number, err := strconv.ParseUint(port, 16, 16)
			require.NoError(t, err)
			addresses = append(addresses, fmt.Sprintf("%d.%d.%d.%d:%d", byte(ip), byte(ip>>8), byte(ip>>16), byte(ip>>24), number))
		}
	}
	return addresses
}

// startedBy is the process that has started another one.
func startedBy(t testing.TB, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	var self, started int
	var name, state string
	_, err = fmt.Sscan(string(stat), &self, &name, &state, &started)
	require.NoError(t, err)
	return started
}

// TestAnotherUserReachesNothing: not the server, its UI, or whatever else its processes listen on, nor their files.
func TestAnotherUserReachesNothing(t *testing.T) {
	t.Parallel()
	needRoot(t)
	cfg := realConfig(t)
	server := acquire(t, cfg).Server
	require.NoError(t, os.Chmod(filepath.Dir(cfg.StateFile), 0o755)) // or nothing would be tried of the files
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(cfg.StateFile), 0o700) })

	addresses := listening(t, server.PID, startedBy(t, server.PID))
	u, err := url.Parse(server.UIURL)
	require.NoError(t, err)
	require.Contains(t, addresses, server.Address)
	require.Contains(t, addresses, u.Host)
	for _, address := range addresses {
		require.NoError(t, as(anotherUser, func() error {
			if text, err := answered(address); err != nil || len(text) > 0 {
				return fmt.Errorf("%s answers another user: %q %w", address, text, err)
			}
			return nil
		}))
		text, err := answered(address)
		require.NoError(t, err)
		require.NotEmpty(t, text, "%s does not answer its own user", address)
	}

	files, err := filepath.Glob(cfg.StateFile + "*")
	require.NoError(t, err)
	require.Contains(t, files, cfg.StateFile+".sock")
	for _, file := range files {
		require.NoError(t, as(anotherUser, func() error {
			for _, flag := range []int{unix.O_RDONLY, unix.O_WRONLY} {
				if fd, err := unix.Open(file, flag, 0); err == nil {
					_ = unix.Close(fd)
					return fmt.Errorf("another user opens %s", file)
				}
			}
			if conn, err := net.Dial("unix", file); err == nil {
				_ = conn.Close()
				return fmt.Errorf("another user connects to %s", file)
			}
			return nil
		}))
	}
}

// ofUser is a server that another user than root has started, with a program and in a folder of its own.
func ofUser(t *testing.T, uid int) (*exec.Cmd, Server) {
	t.Helper()
	needRoot(t)
	dir, err := os.MkdirTemp("/tmp", "everstep-user-") // TMPDIR may be root's alone
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	self, err := os.Executable()
	require.NoError(t, err)
	binary := realConfig(t).Binary
	for name, from := range map[string]string{"self": self, "temporal": binary} {
		output, err := exec.Command("install", "-m", "755", from, filepath.Join(dir, name)).CombinedOutput()
		require.NoError(t, err, string(output))
	}
	home := filepath.Join(dir, "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	require.NoError(t, os.Chown(home, uid, uid))
	stateFile := filepath.Join(home, "dev.db")
	cmd := exec.Command(filepath.Join(dir, "self"), holdCommand, stateFile, filepath.Join(dir, "temporal"))
	cmd.Dir, cmd.Env = "/", []string{"HOME=" + home, "TMPDIR=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	return startCommand(t, cmd, stateFile)
}

// TestAPlainUserHasAServerAlone: without rights of root's, by a namespace of users. It is nobody, whom users that are
// unknown in such a namespace are taken for there.
func TestAPlainUserHasAServerAlone(t *testing.T) {
	t.Parallel()
	const owner, other, another = anotherUser, 4242, 1
	user, server := ofUser(t, owner)
	if server.Shared != "" {
		t.Skip("NOT TESTED, this system has no namespaces for plain users: " + server.Shared)
	}
	for _, address := range listening(t, server.PID, startedBy(t, server.PID)) {
		for uid, reaches := range map[int]bool{owner: true, other: false, another: false, 0: true} {
			var text []byte
			require.NoError(t, as(uid, func() (err error) {
				text, err = answered(address)
				return err
			}))
			require.Equal(t, reaches, len(text) > 0, "user %d at %s: %q", uid, address, text)
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server.PID))
	require.NoError(t, err)
	require.Contains(t, string(status), "CapEff:\t0000000000000000\n", "the server needs no rights in its namespace")

	namespace := networkOf(t, server.PID)
	require.NoError(t, user.Process.Kill())
	requireNobodyIn(t, namespace)
}

// TestWithoutNamespacesAServerIsShared: where the system refuses one, only the supervisor learns of it.
func TestWithoutNamespacesAServerIsShared(t *testing.T) {
	t.Parallel()
	needRoot(t)
	cfg := realConfig(t)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, refusedCommand, cfg.StateFile, cfg.Binary)
	root := []syscall.SysProcIDMap{{Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: root, GidMappings: root}
	_, server := startCommand(t, cmd, cfg.StateFile)
	require.Contains(t, server.Shared, "get a network namespace: ")
	_, err = dial(t, server).ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: server.Namespace})
	require.NoError(t, err)
}

// networkOf is the network namespace of a process; empty where it has ended.
func networkOf(t *testing.T, pid int) string {
	t.Helper()
	namespace, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	return namespace
}

// requireNobodyIn waits until no process is in a network namespace.
func requireNobodyIn(t *testing.T, namespace string) {
	t.Helper()
	own, err := os.Readlink("/proc/thread-self/ns/net")
	require.NoError(t, err)
	require.NotEmpty(t, namespace)
	require.NotEqual(t, own, namespace)
	require.Eventually(t, func() bool {
		threads, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*/ns/net")
		require.NoError(t, err)
		for _, thread := range threads {
			if in, err := os.Readlink(thread); err == nil && in == namespace {
				return false
			}
		}
		return true
	}, testPatience, 20*time.Millisecond, "somebody is left in the server's network")
}

// TestAKilledSupervisorLeavesNothing: neither what lets its user in, nor the server with its lock, nor another process in the
// server's network.
func TestAKilledSupervisorLeavesNothing(t *testing.T) {
	t.Parallel()
	cfg := realConfig(t)
	lease, _ := launchAndJoin(t, cfg)
	server := lease.Server
	require.Contains(t, openFiles(t, server.PID), lockPath(cfg.StateFile), "the server does not hold the lock")
	namespace, addresses := networkOf(t, server.PID), listening(t, server.PID, startedBy(t, server.PID))
	require.NotEmpty(t, addresses)
	through, err := net.Dial("tcp", server.Address)
	require.NoError(t, err)
	defer through.Close()
	handed, err := statefile.Dial(t.Context(), server.StateFile)
	require.NoError(t, err)
	defer handed.Close()

	require.NoError(t, syscall.Kill(startedBy(t, server.PID), syscall.SIGKILL))
	requireDone(t, lease)
	requireGone(t, cfg.StateFile)
	requireNobodyIn(t, namespace)
	for _, address := range addresses {
		_, err := net.Dial("tcp", address)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	}
	for _, conn := range []net.Conn{through, handed} {
		require.NoError(t, conn.SetDeadline(time.Now().Add(testPatience)))
		_, err := io.Copy(io.Discard, conn) // it ends, however
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	again := acquire(t, cfg) // over the socket that was left behind
	require.True(t, again.Server.Started)
	require.NotEqual(t, server.PID, again.Server.PID)
}

// TestItsUserReachesIt: Temporal's own command line, and a browser, by the address and the URL that are told.
func TestItsUserReachesIt(t *testing.T) {
	t.Parallel()
	server := acquire(t, realConfig(t)).Server
	output, err := exec.Command(server.Binary, "--address", server.Address, "workflow", "list").CombinedOutput()
	require.NoError(t, err, string(output))
	require.Eventually(t, func() bool {
		response, err := http.Get(server.UIURL + "/api/v1/namespaces/default/workflows")
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, testPatience, 20*time.Millisecond)
	_, err = dial(t, server).ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: server.Namespace})
	require.NoError(t, err)
}

// TestOurClientsGoThroughNoRelay: who knows the state file talks to the server itself, and again when it is connected anew.
func TestOurClientsGoThroughNoRelay(t *testing.T) {
	t.Parallel()
	cfg := realConfig(t)
	server := acquire(t, cfg).Server
	relayed := func() (n int) {
		own := openFiles(t, os.Getpid())
		_, port, err := net.SplitHostPort(server.Address)
		require.NoError(t, err)
		number, err := strconv.Atoi(port)
		require.NoError(t, err)
		table, err := os.ReadFile("/proc/net/tcp")
		require.NoError(t, err)
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			if len(f) > 9 && strings.HasSuffix(f[2], fmt.Sprintf(":%04X", number)) && slices.Contains(own, "socket:["+f[9]+"]") {
				n++
			}
		}
		return n
	}
	known, err := host.Dial(t.Context(), host.Connection{Address: server.Address, State: cfg.StateFile})
	require.NoError(t, err)
	defer known.Close()
	require.Zero(t, relayed())
	byAddress, err := host.Dial(t.Context(), host.Connection{Address: server.Address})
	require.NoError(t, err)
	defer byAddress.Close()
	require.NotZero(t, relayed())

	// A connection can be had at any time after the reply, from the same socket too.
	asked, _, err := statefile.Connect(t.Context(), cfg.StateFile)
	require.NoError(t, err)
	defer asked.Close()
	for range 2 {
		time.Sleep(replyPatience) // what bounds the reply must not bound what follows
		require.NoError(t, asked.SetDeadline(time.Now().Add(testPatience)))
		_, err = asked.Write([]byte{'c'})
		require.NoError(t, err)
		rights := make([]byte, 64)
		_, n, _, _, err := asked.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), rights)
		require.NoError(t, err)
		require.NotZero(t, n, "a connection")
		messages, err := syscall.ParseSocketControlMessage(rights[:n])
		require.NoError(t, err)
		files, err := syscall.ParseUnixRights(&messages[0])
		require.NoError(t, err)
		require.NoError(t, syscall.Close(files[0]))
	}
}

// TestRefusalsAreLoggedOnce: whoever looks into the log learns of a user who tried.
func TestRefusalsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	needRoot(t)
	server := acquire(t, realConfig(t)).Server
	for range 3 {
		require.NoError(t, as(anotherUser, func() error {
			_, err := answered(server.Address)
			return err
		}))
	}
	log, err := os.ReadFile(server.LogFile)
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(log, []byte("user 65534")), string(log))
}

// TestNothingIsWrittenWhereOthersWrite: another user can have laid a link there under the name of the log or the lock,
// through which a file of this user's would be emptied.
func TestNothingIsWrittenWhereOthersWrite(t *testing.T) {
	t.Parallel()
	needRoot(t)
	folder, precious := filepath.Join(t.TempDir(), "shared"), filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(precious, []byte("kept"), 0o600))
	require.NoError(t, os.Mkdir(folder, 0o700))
	cfg := Config{StateFile: filepath.Join(folder, "dev.db"), Binary: script(t, "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)", "exit 3")}
	require.NoError(t, os.Symlink(precious, logPath(cfg.StateFile)))
	for _, owner := range []int{0, anotherUser} {
		require.NoError(t, os.Chown(folder, owner, owner))
		require.NoError(t, os.Chmod(folder, map[int]os.FileMode{0: 0o777, anotherUser: 0o700}[owner]))
		_, err := Acquire(t.Context(), cfg)
		require.ErrorContains(t, err, "choose one in a folder that only you write to")
		text, err := os.ReadFile(precious)
		require.NoError(t, err)
		require.Equal(t, "kept", string(text))
	}
}

// TestAServerThatOthersMayReplaceIsNotRun: neither by what starts one, nor by doctor.
func TestAServerThatOthersMayReplaceIsNotRun(t *testing.T) {
	t.Parallel()
	needRoot(t)
	ran := filepath.Join(t.TempDir(), "ran")
	planted := script(t, "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)", "")
	for _, part := range []string{"", "1.5.1", "1.5.1/temporal"} {
		var said []string
		f := finder{cacheDir: filepath.Join(t.TempDir(), "cache"), progress: func(line string) { said = append(said, line) }}
		require.NoError(t, os.MkdirAll(filepath.Join(f.cacheDir, "1.5.1"), 0o700))
		text, err := os.ReadFile(planted)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(f.cacheDir, "1.5.1", "temporal"), bytes.Replace(text, []byte("\n"), []byte("\ntouch "+ran+"\n"), 1), 0o700))
		require.Len(t, f.cachedPaths(), 1)
		require.NoError(t, os.Chmod(filepath.Join(f.cacheDir, part), 0o777))
		_, found := f.cached(t.Context())
		require.False(t, found)
		require.Len(t, said, 1)
		require.Contains(t, said[0], "any user may write to "+filepath.Join(f.cacheDir, part))
	}
	require.NoFileExists(t, ran)
}

// TestTheSocketIsBornPrivate: there is no moment at which another user could connect.
func TestTheSocketIsBornPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := (&net.ListenConfig{Control: socketOfOne}).Listen(t.Context(), "unix", path)
	require.NoError(t, err)
	defer listener.Close()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// TestASharedServerSaysSo: where the system lets it have no network of its own, it serves as well, and tells.
func TestASharedServerSaysSo(t *testing.T) {
	t.Parallel()
	server := acquire(t, sharedConfig(t)).Server
	require.Equal(t, "the test says so", server.Shared)
	_, err := dial(t, server).ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: server.Namespace})
	require.NoError(t, err)
	conn, err := statefile.Dial(t.Context(), server.StateFile)
	require.NoError(t, err)
	require.NoError(t, conn.Close())

	require.NoError(t, Shared(), "it can have one here")
	require.Empty(t, acquire(t, realConfig(t)).Server.Shared)
}
