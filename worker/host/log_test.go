package host_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"

	"everstep/worker/host"
)

func TestLogLines(t *testing.T) {
	t.Parallel()
	for format, want := range map[host.LogFormat]string{
		"":                 "\tinfo\tworker is up\t{\"task_queue\": \"q\", \"tools\": 3}\n",
		host.FormatConsole: "\tinfo\tworker is up\t{\"task_queue\": \"q\", \"tools\": 3}\n",
		host.FormatJSON:    `,"msg":"worker is up","task_queue":"q","tools":3}` + "\n",
	} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			logger := host.NewLogger(host.Log{Format: format, Writer: &out})
			log.With(logger, "task_queue", "q").Info("worker is up", "tools", 3)
			require.Contains(t, out.String(), want)
		})
	}
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	for level, lines := range map[host.LogLevel]int{
		"": 3, host.LevelDebug: 4, host.LevelInfo: 3, host.LevelWarn: 2, host.LevelError: 1,
	} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			logger := host.NewLogger(host.Log{Level: level, Writer: &out})
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
	for name, secret := range map[string]host.Secret{
		"a key":            "sk-proj-0123456789",
		"with quotes":      `sk-"quoted"\and<more>`,
		"with a percent":   "sk-%s-100%",
		"of one character": "§",
	} {
		for _, format := range host.LogFormats() {
			t.Run(name+" "+string(format), func(t *testing.T) {
				t.Parallel()
				text := secret.Reveal()
				var out bytes.Buffer
				logger := host.NewLogger(host.Log{Level: host.LevelDebug, Format: format, Writer: &out}, "", secret)
				logger = log.With(logger, "with", "Bearer "+text)
				logger.Debug("in the message: " + text)
				logger.Info("twice: "+text+text, text, text)
				logger.Warn("in an error", "error", fmt.Errorf("wrapped: %w", errors.New("bad key "+text)))
				logger.Error("in a value", "config", host.Access{Key: secret}, "map", map[string]string{"k": text})
				require.NotContains(t, out.String(), text)
				escaped, err := json.Marshal(text)
				require.NoError(t, err)
				require.NotContains(t, out.String(), string(escaped[1:len(escaped)-1]))
				require.Equal(t, 12, bytes.Count(out.Bytes(), []byte("[hidden]")), out.String())
			})
		}
	}
}

func TestSecretHidesItself(t *testing.T) {
	t.Parallel()
	config := host.Config{OpenAI: host.Access{Key: "sk-secret"}, Proxy: "http://u:sk-secret@host:1"}
	encoded, err := json.Marshal(config.OpenAI)
	require.NoError(t, err)
	for _, text := range []string{fmt.Sprint(config), fmt.Sprintf("%+v", config), fmt.Sprintf("%#v", config.OpenAI), string(encoded)} {
		require.NotContains(t, text, "sk-secret")
	}
	require.Empty(t, host.Secret("").String())
}
