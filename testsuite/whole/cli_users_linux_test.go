package whole_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// byAnother is a command of another user's, with a folder of its own.
func byAnother(dir, program string, args ...string) *exec.Cmd {
	const nobody = 65534
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

// TestCLIAnotherUserIsNotTheOwner: who has an account on the machine starts no agents on a dev server of root's, lists
// none, and is answered by none of the ports that dev opens, by itself or by what it starts. Its user is, by the address.
func TestCLIAnotherUserIsNotTheOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED with a second user: this takes root")
	}
	c := newCLI(t)
	dev := c.dev()
	server, up := c.server()
	require.True(t, up)
	require.Empty(t, server.Shared)

	dir, err := os.MkdirTemp("/tmp", "everstep-user-") // TMPDIR may be root's alone
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o777))
	copied, err := exec.Command("install", "-m", "755", c.bin, filepath.Join(dir, "starter")).CombinedOutput()
	require.NoError(t, err, string(copied))
	script := filepath.Join(dir, "script.yaml")
	require.NoError(t, os.WriteFile(script, []byte(`turns: [{tool_calls: [{name: write_file, arguments: {path: planted, content: x}}]}, {text: done}]`), 0o644))
	attack := []string{"--address", server.Address, "start", "--model", "scripted/" + script, "--tool", "write_file", "--approvals", "allow", "go"}

	for _, args := range [][]string{attack, {"--address", server.Address, "list"}} {
		output, err := byAnother(dir, filepath.Join(dir, "starter"), args...).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(output), "no Temporal server answers at "+server.Address)
	}
	require.NoFileExists(t, filepath.Join(c.dir, "planted"))
	require.Equal(t, "[]\n", c.ok("list", "--json"))

	began, err := os.ReadFile(server.LogFile)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(began), "user 65534"), "%s", began)

	ports := listening(t, dev.cmd.Process.Pid)
	require.NotEmpty(t, ports, "the codec endpoint")
	for _, port := range append(ports, uint64(portIn(t, server.Address)), uint64(portIn(t, server.UIURL))) {
		const get = `exec 3<>/dev/tcp/127.0.0.1/%d; printf 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n' >&3; head -c 4 <&3`
		said, _ := byAnother("/", "bash", "-c", fmt.Sprintf(get, port)).Output()
		require.Empty(t, said, "port %d", port)
	}

	// The same by its user.
	require.Equal(t, 0, c.on("TEMPORAL_ADDRESS="+server.Address).do(attack[2:]...).code)
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(c.dir, "planted"))
		return err == nil
	}, patience, 50*time.Millisecond)
}

func portIn(t *testing.T, address string) (port int) {
	t.Helper()
	_, err := fmt.Sscan(address[strings.LastIndexByte(address, ':')+1:], &port)
	require.NoError(t, err)
	return port
}
