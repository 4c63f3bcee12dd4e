package host

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// A heard is a server that keeps what it was sent.
type heard struct {
	url  string
	mu   sync.Mutex
	said []string
}

// listen refuses all keys, and repeats their headers in the
// answer, keys included.
func listen(t *testing.T) *heard {
	t.Helper()
	h := &heard{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := r.URL.String() + fmt.Sprint(r.Header)
		h.mu.Lock()
		h.said = append(h.said, said)
		h.mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "no: "+said)
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.said...)
}

// at is a configuration in which all vendors are at one place.
func at(access Access) Config {
	config := Config{Vendors: map[string]Access{}}
	for _, v := range vendors() {
		config.Vendors[v.Name] = access
	}
	return config
}

// served is how many providers have a server.
func served() int { return len(ProviderNames()) - 1 }

func modelOf(provider string) domain.LLMConfig {
	return domain.LLMConfig{Provider: provider, Model: "m"}
}

// ask makes one attempt, which must fail.
func ask(t *testing.T, p inference.Provider, model domain.LLMConfig) *domain.Error {
	t.Helper()
	call := inference.Call{Config: model, Messages: []domain.Message{domain.UserMessage("hello")}}
	_, err := p.Infer(t.Context(), call, func(inference.Delta) {})
	require.Error(t, err)
	return domain.AsError(err)
}

// each runs a test for every provider that has a server, and returns when all
// are over.
func each(t *testing.T, config Config, test func(t *testing.T, v vendor, name string, p inference.Provider)) {
	t.Helper()
	all, err := config.providers()
	require.NoError(t, err)
	t.Run("providers", func(t *testing.T) {
		for _, v := range vendors() {
			for _, api := range v.apis {
				t.Run(api.Name, func(t *testing.T) {
					t.Parallel()
					test(t, v, api.Name, all[api.Name])
				})
			}
		}
	})
}

// TestKeyFileRotates: the key that a file holds now is sent, and neither it nor
// an earlier one is in what comes back or in the log.
func TestKeyFileRotates(t *testing.T) {
	t.Parallel()
	for _, name := range ProviderNames()[1:] {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := listen(t)
			path := filepath.Join(t.TempDir(), "key")
			var log bytes.Buffer
			require.NoError(t, os.WriteFile(path, []byte("canary-old\n"), 0o600))
			config := at(Access{BaseURL: server.url, KeyFile: path})
			config.Log.Writer = &log
			config = config.withDefaults()
			all, err := config.providers()
			require.NoError(t, err)
			for _, key := range []string{"canary-old", "canary-new"} {
				require.NoError(t, os.WriteFile(path+".next", []byte(key+"\n"), 0o600))
				require.NoError(t, os.Rename(path+".next", path))
				failed := ask(t, all[name], modelOf(name))
				require.Equal(t, domain.CodeAuth, failed.Code, failed.Message)
				require.NotContains(t, failed.Message+failed.Detail, "canary")
				said := server.all()
				require.Contains(t, said[len(said)-1], key)
				newLogger(config.Log, config.secrets).Warn("the key "+key, "error", "no: canary-old")
			}
			require.Len(t, server.all(), 2)
			require.NotContains(t, server.all()[1], "canary-old")
			require.NotContains(t, log.String(), "canary")
			require.Equal(t, 4, strings.Count(log.String(), hidden))
			require.NoError(t, os.Remove(path))
			failed := ask(t, all[name], modelOf(name))
			require.Equal(t, domain.CodeAuth, failed.Code)
			require.Contains(t, failed.Message, path)
			require.Len(t, server.all(), 2, "nothing is sent without it")
		})
	}
}

// TestKeyFileWhereAgentsRead: no agent can be made to read the key, whichever
// way leads to it.
func TestKeyFileWhereAgentsRead(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	inside, outside := filepath.Join(dir, "sub", "key"), filepath.Join(other, "key")
	require.NoError(t, os.Mkdir(filepath.Dir(inside), 0o700))
	require.NoError(t, os.WriteFile(inside, []byte("canary"), 0o600))
	require.NoError(t, os.WriteFile(outside, []byte("canary"), 0o600))
	linked, root := filepath.Join(other, "link"), filepath.Join(other, "root")
	require.NoError(t, os.Symlink(inside, linked))
	require.NoError(t, os.Symlink(dir, root))
	for _, test := range []struct {
		dir, file string
		refused   bool
	}{
		{dir, inside, true}, {dir, linked, true}, {root, inside, true}, {dir, outside, false}, {filepath.Dir(inside), outside, false},
	} {
		for _, v := range vendors() {
			config := Config{Dir: test.dir}.withDefaults()
			config.Vendors = map[string]Access{v.Name: {KeyFile: test.file}}
			if !test.refused {
				gathered(t, config)
				continue
			}
			_, err := ready(t.Context(), config)
			require.ErrorContains(t, err, v.KeyFileVariable()+": the file is in ")
			require.Equal(t, exitUsage, exitCode(err))
		}
	}
	for _, nowhere := range []string{filepath.Join(dir, "not-there"), filepath.Join(outside, "below-a-file")} {
		config := Config{Dir: dir}.withDefaults()
		config.Vendors = map[string]Access{vendors()[0].Name: {KeyFile: nowhere}}
		_, err := ready(t.Context(), config)
		require.ErrorContains(t, err, vendors()[0].KeyFileVariable()+": names no file that can be read: ")
	}
}

// TestLogHidesWhatIsConfigured: keys and the password of a proxy, wherever in a
// line they stand.
func TestLogHidesWhatIsConfigured(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	config := Config{Proxy: "http://user:canary-proxy@proxy:3128", Vendors: map[string]Access{}}
	var keys []any
	for i, v := range vendors() {
		key := fmt.Sprintf(`canary-"%d"`, i)
		config.Vendors[v.Name] = Access{Key: Secret(key)}
		keys = append(keys, v.Name, key)
	}
	config = config.withDefaults()
	newLogger(Log{Writer: &log, JSON: true}, config.secrets).Error(fmt.Sprint(keys...), append(keys, "proxy", config.Proxy.Reveal(), "password", "canary-proxy", "config", fmt.Sprintf("%+v", config))...)
	require.NotContains(t, log.String(), "canary")
	require.GreaterOrEqual(t, strings.Count(log.String(), hidden), len(keys)+2)
}

// TestBaseURLOfADefinition counts only where the worker allows it, since it gets the key.
func TestBaseURLOfADefinition(t *testing.T) {
	t.Parallel()
	server := listen(t)
	config := at(Access{Key: "canary"})
	named := func(name string) domain.LLMConfig {
		return domain.LLMConfig{Provider: name, Model: "m", BaseURL: server.url}
	}
	each(t, config, func(t *testing.T, _ vendor, name string, p inference.Provider) {
		require.Equal(t, domain.Denied, ask(t, p, named(name)).Kind)
	})
	require.Empty(t, server.all())
	config.AllowBaseURLs = []string{"*"}
	each(t, config, func(t *testing.T, _ vendor, name string, p inference.Provider) {
		require.Equal(t, domain.CodeAuth, ask(t, p, named(name)).Code)
	})
	require.Len(t, server.all(), served())
}

// TestProxyIsUsed: only the one that is configured.
func TestProxyIsUsed(t *testing.T) {
	t.Parallel()
	proxy := listen(t)
	config := at(Access{BaseURL: "http://models.invalid/v1", Key: "canary"})
	config.Proxy = Secret(proxy.url)
	each(t, config, func(t *testing.T, _ vendor, name string, p inference.Provider) {
		require.Equal(t, domain.CodeAuth, ask(t, p, modelOf(name)).Code)
	})
	require.Len(t, proxy.all(), served())
}

// TestTimeoutsReachEveryProvider: a server that says nothing is given up.
func TestTimeoutsReachEveryProvider(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	config := at(Access{BaseURL: server.URL})
	config.Timeouts = wire.Timeouts{FirstByte: 20 * time.Millisecond}
	each(t, config, func(t *testing.T, _ vendor, name string, p inference.Provider) {
		require.Equal(t, domain.Unavailable, ask(t, p, modelOf(name)).Kind)
	})
}

// TestFinishOptional: an answer of openai-chat without a mark of its end counts
// where the worker says so.
func TestFinishOptional(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"hello"}}]}`+"\n\n")
	}))
	t.Cleanup(server.Close)
	for _, optional := range []bool{false, true} {
		config := at(Access{BaseURL: server.URL})
		config.FinishOptional = optional
		all, err := config.providers()
		require.NoError(t, err)
		call := inference.Call{Config: modelOf("openai-chat"), Messages: []domain.Message{domain.UserMessage("hello")}}
		_, err = all["openai-chat"].Infer(t.Context(), call, func(inference.Delta) {})
		require.Equal(t, optional, err == nil, err)
	}
}
