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
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"everstep/domain/contract"
)

// TestSDKLinesAreWorded: what the SDK says at a kill or a shutdown is said in our words,
// and once, or not at all. Whoever wants its own words asks for debug.
func TestSDKLinesAreWorded(t *testing.T) {
	t.Parallel()
	refused := errors.New("connection refused")
	for name, test := range map[string]struct {
		line   string
		fields []any
		says   string // empty: nothing
	}{
		"a server that is gone":          {"Failed to poll for task.", []any{"Error", refused}, "no work comes from the server"},
		"a heartbeat that is late":       {"RecordActivityHeartbeat with error", []any{"Error", context.DeadlineExceeded}, "the server takes no heartbeats"},
		"a heartbeat of what has ended":  {"RecordActivityHeartbeat with error", []any{"Error", serviceerror.NewNotFound("gone")}, ""},
		"a heartbeat of what is stopped": {"RecordActivityHeartbeat with error", []any{"Error", temporal.NewCanceledError()}, ""},
		"a heartbeat at a shutdown":      {"RecordActivityHeartbeat with error", []any{"Error", context.Canceled}, ""},
		"a report that is not taken":     {"Task processing failed with error", []any{"Error", context.DeadlineExceeded}, "the server takes no reports"},
		"a report of what another did":   {"Task processing failed with error", []any{"Error", serviceerror.NewNotFound("gone")}, ""},
		"a tool that failed":             {"Activity error.", []any{"ActivityType", string(contract.CallTool), "Error", refused}, "an activity failed"},
		"an inference that failed":       {"Activity error.", []any{"ActivityType", string(contract.CallModel), "Error", refused}, ""},
		"a shutdown":                     {"Stopped Worker", nil, ""},
		"another line":                   {"what nobody knows", nil, "what nobody knows"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			logger := log.With(newSDKLogger(newLogger(Log{Writer: &out}, &secrets{})), "TaskQueue", "q")
			logger.Warn(test.line, test.fields...)
			if test.says == "" {
				require.Empty(t, out.String())
				return
			}
			require.Contains(t, out.String(), test.says)
			require.Contains(t, out.String(), `"TaskQueue": "q"`)

			out.Reset()
			logger = newSDKLogger(newLogger(Log{Level: slog.LevelDebug, Writer: &out}, &secrets{}))
			logger.Warn(test.line, test.fields...)
			require.Contains(t, out.String(), test.line)
		})
	}
}

func TestSDKLinesAreSaidOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := newSDKLogger(newLogger(Log{Writer: &out}, &secrets{}))
	for range 5 {
		for _, kind := range []string{"ActivityWorker", "WorkflowWorker"} {
			log.With(logger, "WorkerType", kind).Warn("Failed to poll for task.", "Error", errors.New("refused"))
		}
	}
	require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	require.True(t, logger.said.due("no work comes from the server; it is asked until it answers", time.Now().Add(sdkPause)), "while it lasts, now and then")

	out.Reset()
	logger.Info("Activity complete after timeout.", "Result", "what a tool said", "Attempt", 2)
	require.NotContains(t, out.String(), "what a tool said")
	require.Contains(t, out.String(), `"Attempt": 2`)
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
	for line := range sdkLines {
		require.Contains(t, source.String(), `"`+line+`"`)
	}
}
