package whole_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

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

// TestCLIAnotherUserIsNotTheOwner: who has an account on the machine is answered by none of the ports that dev opens, by itself or by
// what it starts.
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

	ports := listening(t, dev.cmd.Process.Pid)
	require.NotEmpty(t, ports, "the codec endpoint")
	for _, port := range append(ports, uint64(portIn(t, server.Address)), uint64(portIn(t, server.UIURL))) {
		const get = `exec 3<>/dev/tcp/127.0.0.1/%d; printf 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n' >&3; head -c 4 <&3`
		said, _ := byAnother("/", "bash", "-c", fmt.Sprintf(get, port)).Output()
		require.Empty(t, said, "port %d", port)
	}
}

func portIn(t *testing.T, address string) (port int) {
	t.Helper()
	_, err := fmt.Sscan(address[strings.LastIndexByte(address, ':')+1:], &port)
	require.NoError(t, err)
	return port
}
