package statefile

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// saying is a socket of a state file on which that text is said to whoever comes.
func saying(t *testing.T, text string) (stateFile string) {
	t.Helper()
	stateFile = filepath.Join(t.TempDir(), "dev.db")
	socket, err := SocketPath(stateFile)
	require.NoError(t, err)
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(text))
			_ = conn.Close()
		}
	}()
	return stateFile
}

// A reply is read as far as a supervisor would write.
func TestRepliesAreBounded(t *testing.T) {
	t.Parallel()
	conn, r, err := Connect(t.Context(), saying(t, `{"server": {"address": "127.0.0.1:1"}}`+"\n"))
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Equal(t, "127.0.0.1:1", r.Server.Address)
	_, _, err = Connect(t.Context(), saying(t, `{"error": "`+strings.Repeat("x", 2*longestReply)+`"}`+"\n"))
	require.ErrorIs(t, err, ErrNotUp)
}

// In a folder that several write to another user may listen.
func TestAnotherUsersDevServerIsRefused(t *testing.T) {
	t.Parallel()
	file := saying(t, "{}")
	path, err := SocketPath(file)
	require.NoError(t, err)
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	uid, err := peer(conn, path)
	require.NoError(t, err)
	require.Equal(t, os.Getuid(), uid)
	require.NoError(t, checkUser(1000, 1000, path))
	require.NoError(t, checkUser(0, 1000, path), "root may do anything anyway")
	for _, own := range []int{0, 1001} {
		require.ErrorContains(t, checkUser(1000, own, path), path+" is user 1000's, not yours")
	}
}
