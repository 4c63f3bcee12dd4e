package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"

	"everstep/activities"
	"everstep/domain"
)

func TestLogLines(t *testing.T) {
	t.Parallel()
	for inJSON, want := range map[bool]string{
		false: "\tinfo\tworker is up\t{\"task_queue\": \"q\", \"tools\": 3}\n",
		true:  `,"msg":"worker is up","task_queue":"q","tools":3}` + "\n",
	} {
		t.Run(fmt.Sprint("JSON ", inJSON), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			logger := newLogger(Log{JSON: inJSON, Writer: &out}, &secrets{})
			log.With(logger, "task_queue", "q").Info("worker is up", "tools", 3)
			require.Contains(t, out.String(), want)
		})
	}
}

// TestLogSteersNoTerminal: who started an execution has a say in a line.
func TestLogSteersNoTerminal(t *testing.T) {
	t.Parallel()
	const said = "a\x1b[2J\u009b31m\u202eb\u2028c\rd"
	for _, inJSON := range []bool{false, true} {
		var out bytes.Buffer
		newLogger(Log{JSON: inJSON, Writer: &out}, &secrets{}).Info(said, "identity", said)
		line, ended := strings.CutSuffix(out.String(), "\n")
		require.True(t, ended)
		require.NotRegexp(t, `[\x00-\x08\x0a-\x1f\x7f-\x{9f}\x{202e}\x{2028}]`, line)
		_, inBraces, _ := strings.Cut(line, "{")
		fields := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte("{"+inBraces), &fields))
		require.Equal(t, said, fields["identity"], "the value stays the same")
	}
}

func TestWorkerSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	m := gathered(t, Config{Dir: t.TempDir(), Allow: activities.Allow{Models: &[]string{"openai/*"}, Agents: &[]domain.Definition{
		{Source: "reviewer.md", Tools: []string{"read_file"}},
	}}})
	said := fmt.Sprint(m.describe()...)
	require.Contains(t, said, "tools1: read_file")
	require.Contains(t, said, "modelsopenai/*")
	require.Contains(t, said, "agentsreviewer.md")
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	for level, lines := range map[slog.Level]int{
		slog.LevelDebug: 4, slog.LevelInfo: 3, slog.LevelWarn: 2, slog.LevelError: 1,
	} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			logger := newLogger(Log{Level: level, Writer: &out}, &secrets{})
			logger.Debug("a")
			logger.Info("b")
			logger.Warn("c")
			logger.Error("d")
			require.Equal(t, lines, bytes.Count(out.Bytes(), []byte("\n")))
		})
	}
}

func TestSecretsNeverShow(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]Secret{
		"a key":            "sk-proj-0123456789",
		"with quotes":      `sk-"quoted"\and<more>`,
		"with a percent":   "sk-%s-100%",
		"of one character": "§",
	} {
		for _, inJSON := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", JSON ", inJSON), func(t *testing.T) {
				t.Parallel()
				text := secret.Reveal()
				var out bytes.Buffer
				known := &secrets{}
				known.add(text)
				logger := newLogger(Log{Level: slog.LevelDebug, JSON: inJSON, Writer: &out}, known)
				logger = log.With(logger, "with", "Bearer "+text)
				logger.Debug("in the message: " + text)
				logger.Info("twice: "+text+text, text, text)
				logger.Warn("in an error", "error", fmt.Errorf("wrapped: %w", errors.New("bad key "+text)))
				logger.Error("in a value", "config", Access{Key: secret}, "map", map[string]string{"k": text})
				require.NotContains(t, out.String(), text)
				escaped, err := json.Marshal(text)
				require.NoError(t, err)
				require.NotContains(t, out.String(), string(escaped[1:len(escaped)-1]))
				require.Equal(t, 12, bytes.Count(out.Bytes(), []byte("[hidden]")), out.String())
			})
		}
	}
}
