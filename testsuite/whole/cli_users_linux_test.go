package whole_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCLIAnotherUserIsNotTheOwner: who has an account on the machine is answered by no port that dev opens by itself. Those of
// what it starts are tried in starter/devserver.
func TestCLIAnotherUserIsNotTheOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED with a second user: this takes root")
	}
	const nobody = 65534
	ports := listening(t, newCLI(t).dev().cmd.Process.Pid)
	require.NotEmpty(t, ports, "the codec endpoint")
	for _, port := range ports {
		for user, answered := range map[uint32]bool{0: true, nobody: false} {
			const get = `exec 3<>/dev/tcp/127.0.0.1/%d; printf 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n' >&3; head -c 4 <&3`
			asks := exec.Command("bash", "-c", fmt.Sprintf(get, port))
			asks.Dir, asks.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
			said, _ := asks.Output()
			require.Equal(t, answered, len(said) > 0, "port %d, user %d", port, user)
		}
	}
}
