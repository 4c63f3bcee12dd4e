package devserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLogTail: the reason of a panic is told, however long the stack below it
// is; what decides whether another port is tried is read from it.
func TestLogTail(t *testing.T) {
	t.Parallel()
	stack := "\n\ngoroutine 1 [running]:\n" + strings.Repeat("main.f(...)\n\t/a/b.go:1 +0x1\n", 40)
	for name, c := range map[string]struct {
		log  string
		want string
	}{
		"a panic":   {"starting\npanic: listen tcp 127.0.0.1:7233: bind: address already in use" + stack, "starting\npanic: listen tcp 127.0.0.1:7233: bind: address already in use\n"},
		"a message": {"starting\n\x1b[31merror: no such\tflag\n", "starting\n[31merror: no such flag"},
		"many":      {strings.Repeat("a\n", 20) + "b\n", strings.Repeat("a\n", tailLines-1) + "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := filepath.Join(t.TempDir(), "dev.db")
			require.NoError(t, os.WriteFile(logPath(state), []byte(c.log), 0o600))
			require.Equal(t, "\nlast lines of "+logPath(state)+":\n"+c.want, logTail(state, 0))
			require.Empty(t, logTail(state, logSize(state)))
		})
	}
	require.Empty(t, logTail(filepath.Join(t.TempDir(), "dev.db"), 0))
}
