package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/worker/host"
)

// keyFile is a file that holds a key, as only its owner may read it.
func keyFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// TestBadKeys: a key that cannot be one is refused before anything starts, by
// the name of its variable, and not a piece of it is repeated.
func TestBadKeys(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		"empty": "", "a line end": "canary\n", "two lines": "canary\ncanary", "a control": "canary\x1b[2J", "a space": "canary canary", "another script": "canaryé",
	}
	for _, variable := range host.KeyVariables() {
		for name, value := range bad {
			t.Run(variable+" "+name, func(t *testing.T) {
				t.Parallel()
				_, err := read(t, host.Config{}, variables{variable: value})
				requireInvalid(t, err, variable+": ", "set it")
				require.NotContains(t, err.Error(), "canary")
			})
		}
	}
	for _, variable := range host.KeyFileVariables() {
		open := keyFile(t, "canary")
		require.NoError(t, os.Chmod(open, 0o644))
		for name, path := range map[string]string{
			"no path": "", "a key for a path": "canary", "a folder": t.TempDir(), "empty": keyFile(t, "\n"),
			"two lines": keyFile(t, "canary\ncanary"), "readable by all": open,
		} {
			t.Run(variable+" "+name, func(t *testing.T) {
				t.Parallel()
				err := host.CheckWorker(variables{variable: path})
				requireInvalid(t, err, variable+": ", "")
				require.NotContains(t, err.Error(), "canary")
			})
		}
		t.Run(variable+" and a key", func(t *testing.T) {
			t.Parallel()
			key := strings.TrimSuffix(variable, "_FILE")
			_, err := read(t, host.Config{}, variables{variable: keyFile(t, "canary"), key: "canary"})
			requireInvalid(t, err, key+" and "+variable+": both are set; unset one of them", "")
			require.NotContains(t, err.Error(), "canary")
		})
	}
}

func TestBadProxy(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"canary", "canary:3128", "ftp://canary", "http://", "http://user:canary@ho st"} {
		_, err := read(t, host.Config{}, variables{"EVERSTEP_PROXY": value})
		requireInvalid(t, err, "EVERSTEP_PROXY: ", "http://host:3128")
		require.NotContains(t, err.Error(), "canary")
	}
}

// TestCanariesInTheConfiguration: wherever a key comes from, neither the
// configuration nor what is said of it shows any of it, however it is printed.
func TestCanariesInTheConfiguration(t *testing.T) {
	t.Parallel()
	const canary = "canary-0123456789"
	all := []variables{{"EVERSTEP_PROXY": "http://user:" + canary + "@proxy:3128"}}
	for _, variable := range host.KeyVariables() {
		all = append(all, variables{variable: canary})
	}
	for _, variable := range host.KeyFileVariables() {
		all = append(all, variables{variable: keyFile(t, canary)})
	}
	for _, values := range all {
		config, err := read(t, host.Config{}, values)
		require.NoError(t, err)
		require.NoError(t, host.CheckWorker(values))
		reaches, err := host.Reaches(values, t.TempDir())
		require.NoError(t, err)
		shown, err := json.Marshal([]any{config.Vendors, config.Proxy, reaches})
		require.NoError(t, err)
		texts := []string{string(shown)}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			texts = append(texts, fmt.Sprintf(verb, config), fmt.Sprintf(verb, reaches))
		}
		for _, text := range append(texts, host.Secret(canary).String()) {
			require.NotContains(t, text, canary)
			require.NotContains(t, text, fmt.Sprintf("%x", canary))
		}
	}
	require.Empty(t, host.Secret("").String(), "there is none")
}

func TestReaches(t *testing.T) {
	t.Parallel()
	file, dir := keyFile(t, "sk"), t.TempDir()
	reachesOf := func(values variables, dir string) []host.Reach {
		reaches, err := host.Reaches(values, dir)
		require.NoError(t, err)
		return reaches
	}
	reaches := reachesOf(variables{
		"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1?key=secret#secret", "OPENAI_API_KEY": "sk", "ANTHROPIC_API_KEY_FILE": file,
	}, dir)
	openAI := host.Reach{Provider: "openai", Server: "http://127.0.0.1:8000/v1", Key: "OPENAI_API_KEY", Wants: []string{"OPENAI_API_KEY", "OPENAI_API_KEY_FILE"}}
	chat := openAI
	chat.Provider = "openai-chat"
	require.Equal(t, []host.Reach{
		openAI, chat,
		{Provider: "anthropic", Server: "https://api.anthropic.com", Own: true, Key: "ANTHROPIC_API_KEY_FILE", KeyFile: file, Wants: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY_FILE"}},
		{Provider: "gemini", Server: "https://generativelanguage.googleapis.com/v1beta", Own: true, Wants: []string{"GEMINI_API_KEY", "GEMINI_API_KEY_FILE", "GOOGLE_API_KEY"}},
	}, reaches[:4])
	for i, r := range reaches {
		require.Equal(t, host.ProviderNames()[i+1], r.Provider, "each but the one that needs no server")
	}

	// Azure is the vendor's own too, and needs a key.
	require.True(t, reachesOf(variables{"OPENAI_BASE_URL": "https://us.openai.azure.com/openai/v1"}, dir)[0].Own)

	// What is wrong with one says nothing of the others.
	wrong := map[string]string{"anthropic": "ANTHROPIC_API_KEY: is empty", "gemini": "GEMINI_BASE_URL: "}
	for _, r := range reachesOf(variables{"ANTHROPIC_API_KEY": "", "GEMINI_BASE_URL": "ftp://host", "OPENAI_API_KEY": "sk"}, dir) {
		if says, ok := wrong[r.Provider]; ok {
			require.ErrorContains(t, r.Err, says)
			require.Empty(t, r.Server)
			continue
		}
		require.NoError(t, r.Err)
	}
	require.ErrorContains(t, reachesOf(variables{"ANTHROPIC_API_KEY_FILE": file}, filepath.Dir(file))[2].Err, "where file tools would read the key")
	reaches = reachesOf(variables{"EVERSTEP_RATE_LIMITS": "openai=600rpm/80tpm", "EVERSTEP_WORKERS": "4"}, dir)
	require.Equal(t, "600 requests a minute, 20 tokens a minute and worker", reaches[0].RateLimit.String())
	require.Equal(t, reaches[0].RateLimit, reaches[1].RateLimit, "one key, one limit")
	require.Nil(t, reaches[2].RateLimit)
	for variable, value := range map[string]string{"EVERSTEP_RATE_LIMITS": "openai", "EVERSTEP_IDLE_TIMEOUT": "soon"} {
		_, err := host.Reaches(variables{variable: value}, dir)
		requireInvalid(t, err, variable, "")
	}
}
