package whole_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	scripts "everstep/activities/scripted"
	"everstep/worker/host"
)

// hello is a script of one turn.
const hello = "turns:\n  - text: Hello.\n    usage: {input_tokens: 10, output_tokens: 5}\n"

// TestCLIBadInput gives each kind of bad input to start and to run: exit 2, one
// line that names the field and the fix, nothing on standard output, and no
// agent that was not there before.
func TestCLIBadInput(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.dev()
	hi, tooLong := c.script("hello.yaml", hello), strings.Repeat("x", 300)
	c.file("key.yaml", "turns:\n  - text: a\n  - txt: b\n")
	c.file("syntax.yaml", "turns:\n  - text: 'a\n  - text: b\n")
	c.file("empty.yaml", "")
	c.file("list.json", "[]")
	c.file("remote.json", `{"$ref": "https://example.com/schema.json"}`)
	c.file("utf8.yaml", "turns:\n  - text: \"\xff\xfe\"\n")
	c.file("big.yaml", "turns:\n  - text: "+strings.Repeat("a", 1<<20)+"\n")
	require.NoError(t, os.Mkdir(filepath.Join(c.dir, "folder.yaml"), 0o700))
	type bad struct {
		name string
		args []string
		says []string // the field first
	}
	prompt := func(text string) []string { return []string{"--model", hi, "--", text} }
	flag := func(f string) []string { return []string{"--model", hi, f, "hi"} }
	model := func(m string) []string { return []string{"--model", m, "hi"} }
	cases := []bad{
		{"empty prompt", prompt(""), []string{"prompt:", "empty", "say what"}},
		{"blank prompt", prompt(" \t\n "), []string{"prompt:", "empty"}},
		{"prompt not UTF-8", prompt("a\xffb"), []string{"prompt:", "UTF-8", "convert"}},
		{"no prompt", []string{"--model", hi}, []string{"prompt:", "missing"}},
		{"two prompts", []string{"--model", hi, "a", "b"}, []string{`"b"`, "quotes"}},
		{"system prompt not UTF-8", flag("--system=\xff"), []string{"system prompt:", "UTF-8", "convert"}},
		{"deadline past", flag("--deadline=2001-01-01T00:00:00Z"), []string{"--deadline:", "past", "give"}},
		{"deadline past, relative", flag("--deadline=-5s"), []string{"--deadline:", "past", "give"}},
		{"deadline no time", flag("--deadline=tomorrow"), []string{"--deadline:", "neither a time nor a duration", "give"}},
		{"cost with a comma", flag("--max-cost=1,50"), []string{"--max-cost:", "comma", "write a point"}},
		{"cost in words", flag("--max-cost=much"), []string{"--max-cost:", "no sum of money", "give dollars"}},
		{"cost too fine", flag("--max-cost=0.0000000001"), []string{"--max-cost:", "9 decimals"}},
		{"price of nothing", flag("--price=input=1"), []string{"--price:", "both input and output", "give dollars"}},
		{"schema missing", flag("--output=none.json"), []string{"--output:", "none.json", "check the path"}},
		{"schema no object", flag("--output=list.json"), []string{"--output:", "list.json", "no JSON object"}},
		{"schema elsewhere", flag("--output=remote.json"), []string{"--output:", "remote.json", "$ref"}},
		{"id space", flag("--id=a b"), []string{"id:", "' '", "use letters"}},
		{"id slash", flag("--id=a/b"), []string{"id:", "'/'", "use letters"}},
		{"id long", flag("--id=" + tooLong), []string{"id:", "300", "at most 200"}},
		{"id escape", flag("--id=a\x1b[31m"), []string{"id:", "use letters"}},
		{"id beyond ASCII", flag("--id=ünï"), []string{"id:", "use letters"}},
		{"id zero", flag("--id=00000000-0000-0000-0000-000000000000"), []string{"id:", "zero UUID", "give a name"}},
		{"task queue", flag("--task-queue=a b"), []string{"--task-queue", "spaces", "leave them out"}},
		{"id empty", flag("--id="), []string{"--id:", "empty", "give a name"}},
		{"model without slash", model("gpt"), []string{"model:", `"gpt"`, "PROVIDER/MODEL"}},
		{"model without name", model("openai-chat/"), []string{"model:", "PROVIDER/MODEL"}},
		{"no model", []string{"hi"}, []string{"model:", "--model"}},
		{"provider unknown", model("nosuch/x"), []string{"model:", `"nosuch"`, "scripted, openai, openai-chat"}},
		{"provider misspelt", model("opnai-chat/x"), []string{"model:", "did you mean openai-chat/x"}},
		{"script missing", model("scripted/none.yaml"), []string{"model:", "none.yaml", "check the path"}},
		{"script with an unknown key", model("scripted/key.yaml"), []string{"model:", "key.yaml:3:", "did you mean text?"}},
		{"script with broken syntax", model("scripted/syntax.yaml"), []string{"model:", "syntax.yaml:"}},
		{"script empty", model("scripted/empty.yaml"), []string{"model:", "empty", "give it turns"}},
		{"script not UTF-8", model("scripted/utf8.yaml"), []string{"model:", "UTF-8", "save the file as UTF-8"}},
		{"script above 1 MB", model("scripted/big.yaml"), []string{"model:", "1048576", "smaller"}},
		{"script is a folder", model("scripted/folder.yaml"), []string{"model:", "folder.yaml", "check the path"}},
		{"script is a device", model("scripted//dev/zero"), []string{"model:", ".yaml"}},
		{"tool unknown", flag("--tool=nosuch"), []string{"tool:", `"nosuch"`, "list_files"}},
		{"tool misspelt", flag("--tool=list_files,readfile"), []string{"tool:", `"readfile"`, "read_file"}},
		{"tool empty", flag("--tool= "), []string{"tool:", "empty"}},
		{"flag unknown", flag("--max-step=1"), []string{"--max-step:", "--max-steps"}},
	}
	for _, name := range []string{"--max-steps", "--max-tokens", "--max-tool-calls", "--max-seconds"} {
		for _, value := range []string{"-1", "NaN", "1e400", "-1e400", "99999999999999999999", "Inf", "-Inf", "", "abc"} {
			cases = append(cases, bad{name + "=" + value, flag(name + "=" + value), []string{name + ":", "give"}})
		}
	}
	for i, test := range cases {
		command := "start"
		if i%8 == 0 {
			command = "run"
		}
		got := c.do(append([]string{command}, test.args...)...)
		require.Equal(t, 2, got.code, "%s: %s%s", test.name, got.out, got.err)
		require.Empty(t, got.out, test.name)
		requireOneError(t, got.err, test.says...)
	}
	requireTooLong(t, c, hi)
	require.Equal(t, "[]\n", c.ok("list", "--json"))
}

// requireTooLong gives a prompt through standard input that is one byte more
// than allowed.
func requireTooLong(t *testing.T, c *cli, model string) {
	t.Helper()
	p := c.prepare("start", "--model", model, "-")
	p.cmd.Stdin = strings.NewReader(strings.Repeat("x", 1_000_001))
	p.begin()
	got := p.wait()
	require.Equal(t, 2, got.code, got.err)
	requireOneError(t, got.err, "prompt:", "1000000")
}

// requireOneError requires one line of error that begins with the field.
func requireOneError(t testing.TB, text string, says ...string) {
	t.Helper()
	require.Equal(t, 1, strings.Count(text, "\n"), text)
	require.True(t, strings.HasPrefix(text, "error: "), text)
	for _, words := range says {
		require.Contains(t, text, words)
	}
	require.True(t, strings.HasPrefix(strings.TrimPrefix(text, "error: "), says[0]), text)
	require.NotContains(t, text, "\x1b")
}

// TestCLIZeroBudgets keeps what bad input is not: zero is a budget.
func TestCLIZeroBudgets(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	model := c.script("hello.yaml", hello)
	for flag, reason := range map[string]string{
		"--max-steps": "steps_limit", "--max-tokens": "token_limit", "--max-seconds": "time_limit",
	} {
		for _, zero := range []string{"0", "-0"} {
			got := c.do("run", "--json", "--model", model, flag+"="+zero, "hi")
			require.Equal(t, 3, got.code, got.err)
			outcome := object(t, got.out)["outcome"].(map[string]any)
			require.Equal(t, "stopped", outcome["status"])
			require.Equal(t, reason, outcome["stop_reason"])
			require.Zero(t, outcome["step_count"])
		}
	}
	require.Equal(t, "Hello.\n", c.ok("run", "--model", model, "--max-tool-calls=0", "hi"))
}

// TestCLIIDs are the ids that may be given: names, and UUIDs for agents
// without a name, in any case of their letters.
func TestCLIIDs(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	model := c.script("hello.yaml", hello)
	const id = "7D44C2B5-3A9A-4DC0-8F0B-6A3F9E1B2C3D"
	require.Equal(t, strings.ToLower(id)+"\n", c.ok("start", "--id", id, "--model", model, "hi"))
	c.tidy(id)
	require.Equal(t, strings.ToLower(id), c.json("status", strings.ToLower(id))["agent_id"])
	require.Equal(t, 6, c.do("send", id, "more").code, "it has no name, so it has no session")
	long := "n" + strconv.FormatInt(time.Now().UnixNano(), 10) + strings.Repeat("x", 180)
	require.Equal(t, long+"\n", c.ok("start", "--id", long, "--model", model, "hi"))
	c.tidy(long)
}

// TestCLIUnreachable names a server that is not there: exit 5 at once, with
// what to do, whatever the command.
func TestCLIUnreachable(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on("TEMPORAL_ADDRESS=127.0.0.1:1")
	model := c.script("hello.yaml", hello)
	for _, args := range [][]string{
		{"run", "--model", model, "hi"}, {"start", "--model", model, "hi"}, {"run", "--id", "n", "hi"},
		{"status", "n"}, {"steps", "n"}, {"messages", "n"}, {"result", "n"}, {"result", "n", "--no-wait"},
		{"watch", "n"}, {"list"}, {"stop", "n"}, {"send", "n", "hi"}, {"close", "n"},
	} {
		got := c.do(args...)
		require.Equal(t, 5, got.code, "%v: %s", args, got.err)
		require.Empty(t, got.out)
		require.Less(t, got.took, time.Minute, "%v", args)
		requireOneError(t, got.err, "address:", "127.0.0.1:1", "start one", "TEMPORAL_ADDRESS")
	}
	got := c.do("doctor")
	require.Equal(t, 5, got.code, got.out)
	require.Contains(t, got.out, "127.0.0.1:1")
	require.NoDirExists(t, filepath.Dir(c.state), "nothing was brought up in its place")
}

// TestCLIBadConfiguration has variables and files that no worker could work
// with: who would start a worker says so before anything is started.
func TestCLIBadConfiguration(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.file("broken.toml", "[profile.default]\nnamespace = \"default\"\naddress = \n")
	model := c.script("hello.yaml", hello)
	for variable, says := range map[string][]string{
		"TEMPORAL_CONFIG_FILE=broken.toml":   {"profile:", "line 4", "TEMPORAL_CONFIG_FILE"},
		"TEMPORAL_ADDRESS=here":              {"address:", "host:port"},
		"TEMPORAL_TLS_CLIENT_CERT_PATH=none": {"profile:", "TLS"},
		"EVERSTEP_LOG_LEVEL=loud":            {"EVERSTEP_LOG_LEVEL:", "debug, info, warn, error"},
		"EVERSTEP_CACHE_SIZE=many":           {"EVERSTEP_CACHE_SIZE:", "256MiB"},
		"EVERSTEP_STORAGE=nosuch://x":        {"EVERSTEP_STORAGE:", "nosuch://", "give a directory"},
		"EVERSTEP_DIR=/nowhere/at/all":       {"EVERSTEP_DIR:", "/nowhere/at/all"},
		"OPENAI_BASE_URL=localhost":          {"OPENAI_BASE_URL:", "https://"},
	} {
		commands := [][]string{{"run", "--model", model, "hi"}, {"watch", "n"}}
		if strings.HasPrefix(variable, "TEMPORAL_") {
			commands = append(commands, []string{"start", "--model", model, "hi"}, []string{"list"})
		} else {
			commands = append(commands, []string{"dev"})
		}
		for _, args := range commands {
			got := c.on(variable).do(args...)
			require.Equal(t, 2, got.code, "%s %v: %s", variable, args, got.err)
			require.Empty(t, got.out)
			requireOneError(t, got.err, says...)
		}
	}
	got := c.on("EVERSTEP_MODEL=x").do("run", "hi")
	require.Equal(t, 2, got.code)
	requireOneError(t, got.err, "EVERSTEP_MODEL:", "PROVIDER/MODEL")
	require.NoDirExists(t, filepath.Dir(c.state), "nothing was brought up")
}

// TestCLIBadSend gives a session what it could not do: it stays as it was.
func TestCLIBadSend(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.dev()
	c.ok("run", "--id", "n", "--model", c.script("hello.yaml", hello), "hi")
	for _, test := range []struct {
		args []string
		says []string
	}{
		{[]string{"send", "n", ""}, []string{"prompt:", "empty"}},
		{[]string{"send", "n", "\xff"}, []string{"prompt:", "UTF-8"}},
		{[]string{"send", "n", "hi", "--model", "nosuch/x"}, []string{"model:", `"nosuch"`, "scripted"}},
		{[]string{"send", "n", "hi", "--model", "scripted/none.yaml"}, []string{"model:", "none.yaml"}},
		{[]string{"send", "n", "hi", "--deadline", "2001-01-01T00:00:00Z"}, []string{"--deadline:", "past"}},
		{[]string{"send", "n", "hi", "--max-cost", "1e3"}, []string{"--max-cost:", "give dollars"}},
		{[]string{"send", "n", "hi", "--max-cost", "1"}, []string{"max_cost: nobody knows what scripted/"}},
		{[]string{"extend", "n", "--max-steps", "-1"}, []string{"--max-steps:", "negative"}},
		{[]string{"extend", "n", "--deadline", "2001-01-01T00:00:00Z"}, []string{"--deadline:", "past"}},
		{[]string{"send", "n", "hi", "--max-tokens", "NaN"}, []string{"--max-tokens:", "give"}},
		{[]string{"stop", "n", "--reason", "\xff"}, []string{"reason:", "UTF-8"}},
		{[]string{"stop", "n", "--reason", strings.Repeat("x", 5000)}, []string{"reason:", "at most 4096"}},
	} {
		got := c.do(test.args...)
		require.Equal(t, 2, got.code, "%v: %s", test.args, got.err)
		requireOneError(t, got.err, test.says...)
	}
	require.InDelta(t, 1, c.json("status", "n")["execution_number"], 0)
	require.Len(t, objects(t, c.ok("messages", "n", "--json")), 2)
}

// TestCLISendsToAnotherQueue: what its workers know need not be known to ours.
func TestCLISendsToAnotherQueue(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.dev()
	server, up := c.server()
	require.True(t, up)
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan error, 1)
	go func() {
		ended <- host.Run(ctx, host.Config{
			Connection: host.Connection{Address: server.Address}, TaskQueue: "elsewhere",
			Providers: map[string]inference.Provider{"mine": scripts.New()},
		})
	}()
	model := c.script("twice.yaml", "turns: [{text: Hello.}, {text: Hello.}]")
	answer := c.ok("run", "--id", "o", "--task-queue", "elsewhere", "--model", model, "hi")
	require.Equal(t, answer, c.ok("send", "o", "--wait", "--model", "mine/"+strings.TrimPrefix(model, "scripted/"), "--price", "input=1,output=1", "--context-window", "5000", "again"))
	require.InDelta(t, 5000, c.json("status", "o")["context_window"], 0)
	cancel()
	require.NoError(t, <-ended)
}

// TestCLIFullDisk cannot write its answer: it says so and ends 1, since a
// script that reads the file must know.
func TestCLIFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here: a disk that is full was not tried")
	}
	t.Cleanup(func() { _ = full.Close() })
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	id, model := "full-"+s.queue, c.script("hello.yaml", hello)
	for _, args := range [][]string{
		{"run", "--quiet", "--id", id, "--model", model, "hi"}, {"result", id}, {"result", id, "--json"}, {"status", id},
		{"steps", id}, {"messages", id}, {"list"}, {"watch", id, "--json"}, {"completion", "bash"}, {"--help"},
	} {
		p := c.prepare(args...)
		p.cmd.Stdout = full
		p.begin()
		got := p.wait()
		require.Equal(t, 1, got.code, "%v: %s", args, got.err)
		require.Contains(t, got.err, "no space left", "%v", args)
	}
}

// TestCLINoServer has no server configured, and none up.
func TestCLINoServer(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	model := c.script("hello.yaml", hello)
	for _, args := range [][]string{
		{"start", "--model", model, "hi"}, {"status", "n"}, {"steps", "n"}, {"messages", "n"}, {"result", "n"},
		{"list"}, {"stop", "n"}, {"send", "n", "hi"}, {"close", "n"},
	} {
		got := c.do(args...)
		require.Equal(t, 5, got.code, "%v: %s", args, got.err)
		requireOneError(t, got.err, "server:", "starter dev", "--address")
	}
	for variable, says := range map[string]string{"TEMPORAL_ADDRESS=::::": "address:", "TEMPORAL_PROFILE=nosuch": "profile:"} {
		got := c.on(variable).do("list")
		require.Equal(t, 2, got.code, got.err)
		requireOneError(t, got.err, says)
	}
}
