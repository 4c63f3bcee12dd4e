package devserver

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/worker/host/statefile"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	stateFile := filepath.Join(t.TempDir(), "dev.db")
	for name, c := range map[string]struct {
		cfg Config
		err string
	}{
		"negative port":    {Config{Port: -1}, "port -1: give one from 1 to 65535"},
		"port too high":    {Config{UIPort: 65536}, "ui port 65536"},
		"the same port":    {Config{Port: 9000, UIPort: 9000}, "both 9000"},
		"dynamic, no JSON": {Config{Dynamic: map[string]string{"a": "10ms"}}, `dynamic config "a"`},
		"dynamic, a key":   {Config{Dynamic: map[string]string{"a=b": "1"}}, `dynamic config "a=b"`},
		"endpoint":         {Config{CodecEndpoint: "localhost"}, `codec endpoint "localhost"`},
		"sqlite path":      {Config{StateFile: "100%.db"}, "SQLite takes no"},
		"a directory":      {Config{StateFile: os.TempDir()}, "is not a file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.cfg.StateFile == "" {
				c.cfg.StateFile = stateFile
			}
			_, err := Acquire(t.Context(), c.cfg)
			require.ErrorContains(t, err, c.err)
		})
	}
	require.NoFileExists(t, lockPath(stateFile))
}

func TestDefaults(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	cfg, err := Config{}.checked()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(state, "everstep", "dev.db"), cfg.StateFile)
	self, err := os.Executable()
	require.NoError(t, err)
	require.Equal(t, []string{self, SupervisorCommand}, cfg.Supervisor)

	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("HOME", state)
	path, err := statefile.Default()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(state, ".local", "state", "everstep", "dev.db"), path)

	require.Equal(t, "/a/dev.storage", statefile.StorageDir("/a/dev.db"))
	require.Equal(t, "/a/dev.sqlite.storage", statefile.StorageDir("/a/dev.sqlite"))
}

func TestSupervisorSeesNoKeys(t *testing.T) {
	t.Setenv("SOME_PROVIDER_API_KEY", "secret")
	t.Setenv("TEMPORAL_ENV", "prod")
	environment := supervisorEnvironment()
	require.NotContains(t, environment, "SOME_PROVIDER_API_KEY=secret")
	require.NotContains(t, environment, "TEMPORAL_ENV=prod")
	require.Contains(t, environment, "PATH="+os.Getenv("PATH"))
}

// TestArguments keep the server to this machine, and have what a user sets win.
func TestArguments(t *testing.T) {
	t.Parallel()
	s := spec{Config: Config{StateFile: "/a/dev.db", CodecEndpoint: "http://127.0.0.1:8081", Dynamic: map[string]string{
		"history.MaxBufferedQueryCount": "1", "limit.historyCount.suggestContinueAsNew": "50", "system.enableNexus": "true",
	}}}
	arguments := strings.Join(s.arguments(places{
		insideServer: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7233}, insideUI: &net.TCPAddr{IP: net.IPv4(127, 1, 2, 3), Port: 8000}, secret: "secret.invalid",
	}), " ")
	for _, argument := range []string{
		"server start-dev --ip 127.0.0.1 --port 7233 --ui-ip 127.1.2.3 --ui-port 8000 --db-filename /a/dev.db ", "--sqlite-pragma secure_delete=on ",
		"--search-attribute AgentName=Keyword ", "--search-attribute AgentStatus=Keyword ", "--search-attribute StopReason=Keyword ", "--search-attribute AgentTrusted=KeywordList ",
		"--ui-codec-endpoint http://127.0.0.1:8081 ", `frontend.httpAllowedHosts=["secret.invalid"] `,
		"--dynamic-config-value history.MaxBufferedQueryCount=1 ", "--dynamic-config-value limit.historyCount.suggestContinueAsNew=50 ",
	} {
		require.Contains(t, arguments+" ", argument)
	}
	require.Equal(t, 1, strings.Count(arguments, "system.enableNexus="))
	require.Contains(t, arguments, "system.enableNexus=true")
}

func TestSuperviseIsNotForHands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"a", "b"}, {"no JSON"}, {"{}"}} {
		err := Supervise(t.Context(), slices.Clone(args))
		require.ErrorContains(t, err, "not by hand")
	}
}
