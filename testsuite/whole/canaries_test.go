package whole_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// A leak is a way in which a key may come to be where it should not.
type leak struct {
	// provider and model are asked with the key; the model gives it away.
	provider, model string
	tools           []string
	// code is the exit code of run.
	code int
	// shows is what standard output has of it all, where the key stood in it.
	shows string
	// during, where set, is called while it runs.
	during func(id string)
}

// canaryRun is all that the test of canaries has.
type canaryRun struct {
	t *testing.T
	*cli
	server  *leakyServer
	lookout *lookout
	trove   *trove
	// control is no secret: it must be found wherever canaries are looked for.
	control string
	keyFile string
	// planted are the canaries by where they were planted.
	planted map[string]canary
}

// plant makes a new canary for a place.
func (c *canaryRun) plant(place string) canary {
	c.t.Helper()
	require.NotContains(c.t, c.planted, place)
	c.planted[place] = newCanary()
	return c.planted[place]
}

// rotate puts another key into the file, as operators do.
func (c *canaryRun) rotate(key string) {
	c.t.Helper()
	next := c.keyFile + ".next"
	require.NoError(c.t, os.WriteFile(next, []byte(key+"\n"), 0o600))
	require.NoError(c.t, os.Rename(next, c.keyFile))
}

// look runs a command, and keeps what it says.
func (c *canaryRun) look(args ...string) said {
	c.t.Helper()
	got := c.do(args...)
	c.keep(got)
	return got
}

func (c *canaryRun) keep(got said) {
	c.trove.add("CLI output", []byte(got.out))
	c.trove.add("CLI errors", []byte(got.err))
}

// TestCanaries plants twenty secrets: keys that providers, proxies and tools
// give away in all the places that they have, and that operators put where none
// should be. It then looks for each of them, and for each end of them, in
// everything that is kept or shown. None may be there; what is no secret, and
// stood beside them, must be.
func TestCanaries(t *testing.T) {
	long(t)
	t.Parallel()
	c, worker := startCanaries(t)
	fileKeys := map[string]leak{
		"the message of an error": {provider: "openai-chat", model: "json-error", code: 1},
		"a page for an error":     {provider: "openai-chat", model: "page", code: 1},
		"an error in a stream":    {provider: "openai-chat", model: "sse-error", code: 1},
		"the request's id":        {provider: "openai-chat", model: "request-id"},
		"other headers":           {provider: "openai-chat", model: "headers"},
		"a redirect":              {provider: "openai-chat", model: "redirect", code: 1},
		"an answer's names":       {provider: "openai-chat", model: "ids"},
		"an answer's text":        {provider: "openai-chat", model: "text", shows: "has [hidden], and "},
		"an answer's reasoning":   {provider: "openai-chat", model: "reasoning"},
		"half an answer": {provider: "openai-chat", model: "partial", code: 3, shows: "has [hidden], and ", during: func(id string) {
			c.look("stop", id, "--mode", "now", "--reason", c.control)
		}},
		"a call's arguments": {provider: "openai-chat", model: "arguments", tools: []string{"echo"}},
		"a tool's output":    {provider: "openai-chat", model: "spill", tools: []string{"spill"}},
		"a tool's errors":    {provider: "openai-chat", model: "stumble", tools: []string{"stumble", "fall"}},
		"an encoded echo":    {provider: "openai-chat", model: "encoded", code: 1},
		"a key of before": {provider: "openai", model: "rotated", code: 1, during: func(string) {
			c.rotate("sk-another-key-that-is-in-use-now")
			close(c.server.shown["rotated"])
		}},
	}
	for _, place := range slices.Sorted(maps.Keys(fileKeys)) {
		key := c.plant(place).key()
		c.rotate(key)
		c.play(fileKeys[place])
		require.Equal(t, key, c.server.key(fileKeys[place].model), place)
	}
	for place, l := range map[string]leak{
		"a variable, Anthropic's": {provider: "anthropic", model: "anthropic", code: 1},
		"a variable, Gemini's":    {provider: "gemini", model: "gemini", code: 1},
		"the password of a proxy": {provider: "openai-chat", model: "proxy", code: 1},
	} {
		c.play(l)
		key := c.planted[place].key()
		if l.model == "proxy" {
			key = "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+key))
		}
		require.Equal(t, key, c.server.key(l.model), place)
	}
	c.misconfigured("a base URL's password", func(key string) string {
		return "OPENAI_BASE_URL=http://user:" + url.QueryEscape(key) + "@models.test/v1"
	})
	c.misconfigured("a key that is a header", func(key string) string {
		return "GEMINI_API_KEY=" + key + "\r\nX-Evil: 1"
	})
	require.Len(t, c.planted, 20)

	for _, args := range [][]string{{"list"}, {"list", "--json"}, {"doctor"}, {"doctor", "--json"}} {
		c.look(args...)
	}
	runs := c.lookout.everything(t)
	require.Greater(t, runs, len(fileKeys)+2, "an execution went on in another run")
	require.NoError(t, worker.cmd.Process.Signal(os.Interrupt))
	ended := worker.wait()
	require.Equal(t, 0, ended.code, ended.err)
	c.trove.add("the worker's log", []byte(ended.err+ended.out))
	c.trove.addFiles(t, "storage", filepath.Join(c.dir, "storage"))
	c.trove.addFiles(t, "the worker's folder", filepath.Join(c.dir, "work"))
	c.trove.addState(t, "continuing")
	c.trove.add("requests", []byte(strings.Join(c.server.bodies, "\n")))
	require.Zero(t, c.server.hosts["elsewhere.test"], "a redirect was followed")
	require.True(t, bytes.Contains(c.trove.finds["the worker's log"], []byte("\tdebug\t")))
	c.search()
}

// search looks for the canaries, and for the control, everywhere.
func (c *canaryRun) search() {
	c.t.Helper()
	places := slices.Sorted(maps.Keys(c.trove.finds))
	for _, place := range []string{
		"history", "history, decoded", "visibility", "heartbeats", "heartbeats, decoded", "the worker's log",
		"CLI output", "CLI errors", "storage, decoded", "state", "requests",
	} {
		require.True(c.t, bytes.Contains(c.trove.finds[place], []byte(c.control)), "what is no secret is not in %s: it was not looked into", place)
	}
	var found []string
	for secret, canary := range c.planted {
		for _, text := range []string{
			canary.key(), canary.head, canary.tail, url.QueryEscape(canary.key()), fmt.Sprintf("%X", canary.key()),
			base64.StdEncoding.EncodeToString([]byte("user:" + canary.key())), base64.RawURLEncoding.EncodeToString([]byte(canary.key())),
		} {
			require.NotEmpty(c.t, canary.in([]byte("key="+text)), "it would not be found")
		}
		for _, place := range places {
			if how := canary.in(c.trove.finds[place]); how != "" {
				found = append(found, fmt.Sprintf("%s, in %s, %s", secret, place, how))
			}
		}
	}
	slices.Sort(found)
	require.Empty(c.t, found)
}

// play runs an agent of a model, and asks all there is to ask about it.
func (c *canaryRun) play(l leak) {
	c.t.Helper()
	id := c.control + "-" + l.model
	args := []string{"run", "--id", id, "--model", l.provider + "/" + l.model, "--max-steps", "20", "--max-seconds", "600"}
	for _, tool := range l.tools {
		args = append(args, "--tool", tool)
	}
	seen := make(chan struct{})
	stop := c.lookout.heartbeats(c.t, "agent/"+id, c.control+" has ", func() { close(seen) })
	p := c.start(append(args, "Is it "+c.control+"?")...)
	follower := c.start("watch", id, "--json")
	switch l.model {
	case "text":
		c.heard(seen, p)
		close(c.server.shown[l.model])
	case "partial":
		c.heard(seen, p)
	case "rotated":
		require.Eventually(c.t, func() bool { return c.server.key(l.model) != "" }, patience, 5*time.Millisecond)
	}
	if l.during != nil {
		c.look("status", id)
		c.look("status", id, "--json")
		l.during(id)
	}
	got := p.wait()
	c.keep(got)
	c.keep(follower.wait())
	stop()
	require.Equal(c.t, l.code, got.code, "%s: %s%s", l.model, got.out, got.err)
	for _, command := range [][]string{
		{"status", id}, {"status", id, "--json"}, {"steps", id, "--json"}, {"messages", id}, {"messages", id, "--json"},
		{"explain", id}, {"explain", id, "--json"}, {"result", id, "--json"}, {"watch", id, "--json"},
	} {
		require.Contains(c.t, []int{0, l.code}, c.look(command...).code, command)
	}
	require.Contains(c.t, c.look("messages", id).out, l.shows)
}

// heard waits until the model's text is in a heartbeat.
func (c *canaryRun) heard(seen <-chan struct{}, p *process) {
	c.t.Helper()
	select {
	case <-seen:
	case <-p.ended:
		require.FailNow(c.t, "ended before its text was in a heartbeat", "%s%s", p.out, p.err)
	case <-time.After(patience):
		require.FailNow(c.t, "its text is in no heartbeat")
	}
}

// misconfigured gives a secret where none may be: to a worker, which does not
// start, and to the command that says what is wrong.
func (c *canaryRun) misconfigured(place string, variable func(key string) string) {
	c.t.Helper()
	key := c.plant(place).key()
	set := variable(key)
	name, _, _ := strings.Cut(set, "=")
	other := *c
	other.cli = c.on(set)
	for _, args := range [][]string{{"worker"}, {"doctor"}, {"doctor", "--json"}, {"dev"}} {
		got := other.look(args...)
		require.NotZero(c.t, got.code, "%v: %s", args, got.out)
		require.Contains(c.t, got.out+got.err, name, args)
	}
}

// startCanaries brings up all that the test needs.
func startCanaries(t *testing.T) (*canaryRun, *process) {
	t.Helper()
	s := connect(t, "continuing", continuing)
	control := "control" + strings.ReplaceAll(uuid.NewString(), "-", "")
	c := &canaryRun{t: t, control: control, server: serveLeaky(t, control), trove: &trove{}, planted: map[string]canary{}}
	c.lookout = newLookout(t, s, c.trove)
	plain := newCLI(t)
	c.keyFile = filepath.Join(plain.dir, "key")
	c.rotate("sk-the-first-key-of-the-worker")
	for _, folder := range []string{"storage", "work"} {
		require.NoError(t, os.Mkdir(filepath.Join(plain.dir, folder), 0o700))
	}
	keys := []string{
		"OPENAI_API_KEY_FILE=" + c.keyFile, "OPENAI_BASE_URL=http://openai.test/v1",
		"ANTHROPIC_API_KEY=" + c.plant("a variable, Anthropic's").key(), "ANTHROPIC_BASE_URL=http://anthropic.test",
		"GEMINI_API_KEY=" + c.plant("a variable, Gemini's").key(), "GEMINI_BASE_URL=http://gemini.test/v1beta",
		"EVERSTEP_PROXY=http://user:" + url.QueryEscape(c.plant("the password of a proxy").key()) + "@" + strings.TrimPrefix(c.server.URL, "http://"),
		"EVERSTEP_LOG_LEVEL=debug", "EVERSTEP_DIR=" + filepath.Join(plain.dir, "work"), "EVERSTEP_STORAGE=" + filepath.Join(plain.dir, "storage"),
	}
	c.cli = plain.on(keys...).at(s)
	bin := filepath.Join(plain.dir, "leaky")
	out, err := exec.Command("go", "build", "-o", bin, "everstep/testsuite/whole/testdata/leaky").CombinedOutput()
	require.NoError(t, err, "%s", out)
	leaky := *c.cli
	leaky.bin = bin
	worker := leaky.start().untilErr("worker is up")
	t.Cleanup(func() { _ = worker.cmd.Process.Signal(syscall.SIGTERM) }) // it has ended, mostly
	return c, worker
}
