package devserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// goScript stands for the go command.
func goScript(t *testing.T, body string) string {
	t.Helper()
	return executable(t, "go", body)
}

func TestBuildCommand(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=vendor")
	t.Setenv("GOWORK", "/somewhere/go.work")
	t.Setenv("GOOS", "plan9")
	dir := t.TempDir()
	path, err := buildWith(t.Context(), goScript(t, `
{ for a in "$@"; do echo "$a"; done; echo "$GOFLAGS $GOWORK"; pwd; } > "$GOBIN/said"
[ "$GOOS" = plan9 ] && exit 1
touch "$GOBIN/temporal"`), dir, func(string) {})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "temporal"), path)
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	require.NoError(t, err)
	require.Equal(t, `install
-tags=disable_grpc_modules
-ldflags=-s -w
github.com/temporalio/cli/cmd/temporal@v1.5.1
-tags=disable_grpc_modules off
`+dir+"\n", string(said))
}

func TestBuildFailures(t *testing.T) {
	t.Parallel()
	_, err := buildWith(t.Context(), goScript(t, "echo 'go: no such host' >&2; exit 1"), t.TempDir(), func(string) {})
	require.ErrorContains(t, err, "exit status 1")
	require.ErrorContains(t, err, "go: no such host")
	_, err = buildWith(t.Context(), goScript(t, "exit 0"), t.TempDir(), func(string) {})
	require.ErrorContains(t, err, "made no binary")

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = buildWith(ctx, goScript(t, "sleep 60"), t.TempDir(), func(string) {})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestStalledDownloadIsNoticed(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var lines []string
	w := stallWatch{dir: t.TempDir(), progress: func(line string) { lines = append(lines, line) }, began: began, moved: began}
	require.NoError(t, w.look(began.Add(9*time.Second)))
	require.Empty(t, lines)
	file := filepath.Join(w.dir, "part")
	require.NoError(t, os.WriteFile(file, make([]byte, 3<<20), 0o600))
	require.NoError(t, w.look(began.Add(9*time.Second)))
	require.Equal(t, []string{"downloading the dev server: 3 MB, 9s"}, lines)
	require.NoError(t, w.look(began.Add(18*time.Second)))
	require.ErrorContains(t, w.look(began.Add(19*time.Second)), "no data in 10s")
}

func TestCancelledDownloadEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	cancel(cause)
	_, err := download(ctx, t.TempDir(), func(string) {})
	require.ErrorIs(t, err, cause)
}
