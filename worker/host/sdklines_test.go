package host

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"everstep/domain/contract"
)

// TestSDKLines: what the SDK logs at each kill and shutdown, and of work that was cancelled, is logged at level debug alone.
func TestSDKLines(t *testing.T) {
	t.Parallel()
	refused := errors.New("connection refused")
	for name, test := range map[string]struct {
		line   string
		fields []any
		quiet  bool
	}{
		"a server that is gone":          {"Failed to poll for task.", []any{"Error", refused}, false},
		"a heartbeat that is late":       {"RecordActivityHeartbeat with error", []any{"Error", context.DeadlineExceeded}, false},
		"a heartbeat of what has ended":  {"RecordActivityHeartbeat with error", []any{"Error", serviceerror.NewNotFound("gone")}, true},
		"a heartbeat of what is stopped": {"RecordActivityHeartbeat with error", []any{"Error", temporal.NewCanceledError()}, true},
		"a heartbeat at a shutdown":      {"RecordActivityHeartbeat with error", []any{"Error", context.Canceled}, true},
		"a report that is not taken":     {"Task processing failed with error", []any{"Error", context.DeadlineExceeded}, false},
		"a report of what another did":   {"Task processing failed with error", []any{"Error", serviceerror.NewNotFound("gone")}, true},
		"a tool that failed":             {"Activity error.", []any{"ActivityType", string(contract.CallTool), "Error", refused}, false},
		"an inference that failed":       {"Activity error.", []any{"ActivityType", string(contract.CallModel), "Error", refused}, true},
		"a shutdown":                     {"Stopped Worker", nil, true},
		"another line":                   {"what nobody knows", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for level, shown := range map[slog.Level]bool{slog.LevelInfo: !test.quiet, slog.LevelDebug: true} {
				var out bytes.Buffer
				logger := log.With(newSDKLogger(newLogger(Log{Level: level, Writer: &out}, &secrets{})), "TaskQueue", "q")
				logger.Warn(test.line, append(test.fields, "Result", "what a tool said")...)
				require.Equal(t, shown, strings.Contains(out.String(), test.line), out.String())
				require.Equal(t, shown, strings.Contains(out.String(), `"TaskQueue": "q"`))
				require.NotContains(t, out.String(), "what a tool said")
			}
		})
	}
}

// TestSDKLinesAreTheSDKs: another version of the SDK may have other words.
func TestSDKLinesAreTheSDKs(t *testing.T) {
	t.Parallel()
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.temporal.io/sdk").Output()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "internal", "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var source strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		source.Write(text)
	}
	for _, line := range quietLines {
		require.Contains(t, source.String(), `"`+line+`"`)
	}
}
