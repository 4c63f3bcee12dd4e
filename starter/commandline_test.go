package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/worker/host"
)

// A refused command line is told one line, and nothing is written to standard output.
func (c *caller) refused(t *testing.T, says string, args ...string) string {
	t.Helper()
	code, stdout, stderr := c.call(t.Context(), args...)
	require.Equal(t, exitUsage, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, says)
	require.True(t, strings.HasPrefix(stderr, "error: "), stderr)
	require.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %s", stderr)
	require.NoFileExists(t, c.variables[local.VariableState], "nothing was started")
	return stderr
}

// wordsOf splits a command line at its blanks, those in single quotes aside.
func wordsOf(line string) (words []string) {
	for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		words = append(words, strings.Trim(word, "'"))
	}
	return words
}

func TestCommandLineThatIsWrong(t *testing.T) {
	t.Parallel()
	lines, err := os.ReadFile(filepath.Join("testdata", "wrong.txt"))
	require.NoError(t, err)
	here := agentFolder(t)
	told := regexp.MustCompile(`(?m)^([^#\s].*)\n\t(.*)$`).FindAllStringSubmatch(string(lines), -1)
	require.Greater(t, len(told), 80)
	for _, row := range told {
		t.Run(row[1], func(t *testing.T) {
			t.Parallel()
			c := newCaller(t)
			c.here = here
			c.refused(t, row[2], wordsOf(row[1])...)
		})
	}
}

// TestArgumentsThatAreWrong, of bytes and lengths that no line of testdata can hold.
func TestArgumentsThatAreWrong(t *testing.T) {
	t.Parallel()
	const model = "openai-chat/m"
	for name, test := range map[string]struct {
		args []string
		in   string
		says string
	}{
		"blank prompt":     {args: []string{"start", "--model", model, " \n\t"}, says: "prompt: is empty"},
		"prompt not UTF-8": {args: []string{"run", "--model", model, "a\xff"}, says: "prompt: "},
		"prompt too long":  {args: []string{"run", "--model", model, "-"}, in: strings.Repeat("x", domain.MaxMessage+1), says: "prompt: standard input has more than 1000000 bytes"},
		"system prompt too long": {
			args: []string{"run", "--model", model, "--system", strings.Repeat("x", domain.MaxSystemPrompt+1), "hi"}, says: "system prompt: ",
		},
		"model of a line end":   {args: []string{"start", "--model", "openai/\n", "hi"}, says: `model: "openai/\n" is no model`},
		"foreign provider":      {args: []string{"start", "--model", "nobody/m", "hi"}, says: "there is no provider \"nobody\"; there are " + strings.Join(host.ProviderNames(), ", ")},
		"a note not UTF-8":      {args: []string{"send", "notes", "--metadata", "a=\xff", "hi"}, says: `is not valid UTF-8; convert it`},
		"a note of two lines":   {args: []string{"send", "notes", "--metadata", "a\nb=c", "hi"}, says: `metadata: "a\nb" is no key`},
		"a value not UTF-8":     {args: []string{"send", "notes", "--with", "a=\xff", "hi"}, says: `is not valid UTF-8; convert it`},
		"a value of no JSON":    {args: []string{"run", "--model", model, "--with", "a:={", "hi"}, says: `trusted.a: is not valid JSON`},
		"a value with a key":    {args: []string{"run", "--model", model, "--with", `a:={"b":1,"b":2}`, "hi"}, says: `trusted.a: has the key "b" twice`},
		"a value that is huge":  {args: []string{"run", "--model", model, "--with", "a=" + strings.Repeat("x", domain.MaxTrusted), "hi"}, says: "trusted: takes 16392 bytes; at most 16384 fit"},
		"messages of no role":   {args: []string{"send", "notes", "--messages", "-", "hi"}, in: "\n{\"parts\": []}", says: "--messages: -: line 2: role: "},
		"messages and prompt":   {args: []string{"run", "--model", model, "--messages", "-", "-"}, in: "x", says: "standard input can be the messages or the prompt, not both"},
		"a newer state":         {args: []string{"run", "--messages", "-", "hi"}, in: `{"schema_version": 9}`, says: "schema_version: is 9, written by a build that it does not name, and this build reads 1; read it with the build that wrote it"},
		"a state for a session": {args: []string{"send", "notes", "--messages", "-", "hi"}, in: savedState("", ""), says: "is a saved state, with which an agent begins"},
		"a terminal's commands": {args: []string{"run", "--model", "\x1b[31m\u202e/", "hi"}, says: "model: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t)
			c.in = test.in
			stderr := c.refused(t, test.says, test.args...)
			require.NotContains(t, stderr, "\x1b")
			require.NotContains(t, stderr, "\u202e")
		})
	}
}

// TestVariablesThatAreWrong, or forbid what is asked for.
func TestVariablesThatAreWrong(t *testing.T) {
	t.Parallel()
	for says, test := range map[string]struct{ line, variable, value string }{
		"tool: http_post is off on the worker that this command starts; to turn it on set EVERSTEP_BUILTIN_TOOLS=http_get,http_post": {"run --model openai-chat/m --tool http_post hi", "EVERSTEP_BUILTIN_TOOLS", "http_get"},
		`EVERSTEP_MODEL: "x" is no model`:                                                            {"run hi", local.VariableModel, "x"},
		"EVERSTEP_DIR: there is no folder /nowhere":                                                  {"dev", local.VariableDir, "/nowhere"},
		`--allow-tools (EVERSTEP_ALLOW_TOOLS): there is no "lst_files"; the tools are: `:             {"run --model openai-chat/m --tool list_files hi", "EVERSTEP_ALLOW_TOOLS", "lst_files"},
		"tool: this worker does not run list_files; EVERSTEP_ALLOW_TOOLS says so":                    {"run --model openai-chat/m --tool list_files hi", "EVERSTEP_ALLOW_TOOLS", "none"},
		"model: this worker does not ask openai-chat/m; it asks none; EVERSTEP_ALLOW_MODELS says so": {"run --model openai-chat/m hi", "EVERSTEP_ALLOW_MODELS", "none"},
	} {
		c := newCaller(t)
		c.variables[test.variable] = test.value
		c.refused(t, says, strings.Fields(test.line)...)
	}
}

// TestStandardInputThatIsNoState is told as what it is.
func TestStandardInputThatIsNoState(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		`{"schema_version": 1}`:                                               "--messages: -: agent_id: is missing",
		`{"schema_version": "2"}`:                                             `--messages: -: schema_version: is "2", which no build writes, and this build reads 1; give it as it was written`,
		`{"agent_id": "a", "schema_version": null}`:                           "schema_version: is null, which no build writes",
		`{"schema_version": 0}`:                                               "schema_version: is 0, which no build writes",
		`{"schema_version": 2, "build": 7}`:                                   "is 2, written by a build that it does not name",
		`{"schema_version": 2, "build": "a\nb"}`:                              "is 2, written by build a b, and",
		`{"schema_version": 1, "agent_`:                                       "--messages: -: is no whole saved state: it was cut off, or something follows it; give one as it was written",
		savedState("", "") + savedState("", ""):                               "is no whole saved state",
		`{"format":"everstep-records","schema_version":1,"records":0}` + "\n": "--messages: -: is a file of export; import it, and fork from its agent",
		"\x28\xb5\x2f\xfd\x00":                                                "is a file of export; import it",
		savedState(`"execution": {"execution_id": "`+someID+`", "status": "in_progress"}, `, ""): "--messages: -: state: execution 0 is in progress",
		savedState("", `{"role": "assistant", "tool_calls": [{"id": "a"}]}`):                     `messages[0].tool_calls: call "a" has no result`,
		savedState("", ""): "model: is missing",
	} {
		c := newCaller(t)
		c.in = in
		c.refused(t, says, "run", "--messages", "-", "hi")
	}
}

// TestEachCommandSaysWhichArgumentsItTakes, whatever is given: what is too few or too many is told as what it is.
func TestEachCommandSaysWhichArgumentsItTakes(t *testing.T) {
	t.Parallel()
	for _, command := range commandsOf(newRoot(&program{machine: &local.Machine{}})) {
		if command.Args == nil || command.Name() == "help" {
			continue // it takes any
		}
		var given []string
		for range 5 {
			if err := command.Args(command, given); err != nil {
				require.Equal(t, exitUsage, exitCode(err), "%s with %q: %s", command.CommandPath(), given, err)
			}
			given = append(given, "x")
		}
	}
}

const someID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

// savedState is one with other keys, and a message where one is given.
func savedState(more, message string) string {
	return `{"schema_version": 1, ` + more + `"agent_id": "` + someID + `", "context": {"message_store": {"sections": [{"name": "messages", "messages": [` + message + `]}]}}}`
}

func TestBrokenScriptIsSaidBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "broken.yaml")
	require.NoError(t, os.WriteFile(script, []byte("turns:\n  - text: hi\n    tool_call: []\n"), 0o600))
	c := newCaller(t)
	code, stdout, stderr := c.call(t.Context(), "run", "--model", "scripted/"+script, "hi")
	require.Equal(t, exitUsage, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, script+":3")
	require.NoDirExists(t, filepath.Dir(c.variables[local.VariableState])+"/dev.storage")
	require.NoFileExists(t, c.variables[local.VariableState])
}

func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.variables[local.VariableAddress] = "127.0.0.1:1"
	code, _, stderr := c.call(t.Context(), "run", "--model", "openai-chat/m", "hi")
	require.Equal(t, exitUnreachable, code, stderr)
	require.Contains(t, stderr, "127.0.0.1:1")
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}

func TestEachCommandIsExplained(t *testing.T) {
	t.Parallel()
	root := newRoot(&program{machine: &local.Machine{}})
	require.NotEmpty(t, root.Example)
	agents, _, err := root.Find([]string{"agents"})
	require.NoError(t, err)
	require.Len(t, agents.Commands(), 4)
	for _, command := range append(root.Commands(), agents.Commands()...) {
		if command.Hidden || command.Name() == "help" {
			continue
		}
		require.NotEmpty(t, command.Short, command.Name())
		require.NotEmpty(t, command.Long, command.Name())
		require.Equal(t, command.Parent() == root, command.GroupID != "", command.Name())
		requireExamplesFit(t, root, command)
		command.Flags().VisitAll(func(flag *pflag.Flag) { require.NotEmpty(t, flag.Usage, command.Name()+" --"+flag.Name) })
	}
}

// requireExamplesFit checks that the flags of a command's examples exist.
func requireExamplesFit(t *testing.T, root, command *cobra.Command) {
	t.Helper()
	require.Contains(t, command.Example, "starter "+strings.TrimPrefix(command.CommandPath(), root.Name()+" "), command.Name())
	for example := range strings.Lines(command.Example) {
		_, line, ok := strings.Cut(example, "starter ")
		require.True(t, ok, example)
		line, _, _ = strings.Cut(strings.NewReplacer(`)`, "", `"`, "").Replace(line), "|")
		requireCommandLine(t, command.Name(), root, strings.Fields("starter "+line))
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--help"}, {"run", "--help"}, {"help", "stop"}, {"--version"}} {
		code, stdout, stderr := newCaller(t).call(t.Context(), args...)
		require.Equal(t, exitDone, code, stderr)
		require.Empty(t, stderr)
		require.Contains(t, stdout, "starter")
		require.NotContains(t, stdout, "dev-supervisor")
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, stdout, stderr := newCaller(t).call(t.Context(), "completion", shell)
		require.Equal(t, exitDone, code, stderr)
		require.Contains(t, stdout, "starter")
	}
	for args, want := range map[string]string{
		"stop x --mode ":  "after_inference",
		"run --tool ":     "search_files",
		"run --model ":    "scripted/",
		"send x --model ": "openai-chat/",

		"run --output-mode ": "instruction",
		"completion ":        "zsh",
		"list --sched":       "that the schedule of this NAME has begun",
	} {
		code, stdout, _ := newCaller(t).call(t.Context(), append([]string{"__complete"}, strings.Split(args, " ")...)...)
		require.Equal(t, exitDone, code, args)
		require.Contains(t, stdout, want, args)
	}
	// Without a server there are no ids to offer, and no error either.
	code, stdout, _ := newCaller(t).call(t.Context(), "__complete", "status", "")
	require.Equal(t, exitDone, code)
	require.Equal(t, ":4", strings.TrimSpace(stdout))
}

func TestNaughtyIDs(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("EVERSTEP_DATA")
	if folder == "" {
		t.Skip("EVERSTEP_DATA is not set: the naughty strings were not tried")
	}
	data, err := os.ReadFile(filepath.Join(folder, "hostile", "blns", "blns.json"))
	require.NoError(t, err)
	var texts []string
	require.NoError(t, json.Unmarshal(data, &texts))
	require.NotEmpty(t, texts)
	for _, text := range texts {
		code, stdout, stderr := newCaller(t).call(t.Context(), "status", "--", text)
		require.Empty(t, stdout, "%q", text)
		require.Equal(t, render.Clean(stderr), stderr, "nothing harmful is printed")
		require.Contains(t, []int{exitUsage, exitUnreachable}, code, "%q", text)
	}
}
