package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/document"
	"everstep/domain"
	"everstep/starter/agentfile"
	"everstep/starter/client"
	"everstep/starter/local"
)

// agentFolder is a folder with agents, one of which is broken.
func agentFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"agents/reviewer.md":          "---\ndescription: Reviews Go code.\nmodel: openai-chat/gpt-5-mini\ntools: read_file, list_files\nbudget: {max_steps: 9, max_cost: 0.5}\n---\nYou review Go code.\n",
		"agents/broken.yaml":          "modell: openai-chat/gpt-5-mini\nbudget:\n  max_steps: ten\n",
		"agents/README.md":            "Our agents.\n",
		"agents/notes.txt":            "none\n",
		".everstep/agents/plain.yaml": "name: writer\nsystem_prompt: You write.\n",
		".everstep/agents/hooked.yml": "model: openai-chat/gpt-5-mini\nhooks: [audit]\n",
		".everstep/agents/own.yml":    "model: openai-chat/gpt-5-mini\ncompiler: our_own\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func TestAgentsList(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.here = agentFolder(t)
	code, stdout, stderr := c.call(t.Context(), "agents", "list")
	require.Equal(t, exitDone, code, stderr)
	require.Empty(t, stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 6)
	require.Equal(t, []string{"NAME", "CHECK", "MODEL", "FILE", "DESCRIPTION"}, strings.Fields(lines[0]))
	require.Equal(t, []string{"broken", "broken:", "2", "problems", "-", filepath.Join(c.here, "agents", "broken.yaml")}, strings.Fields(lines[1]))
	require.Equal(t, []string{"reviewer", "ok", "openai-chat/gpt-5-mini", filepath.Join(c.here, "agents", "reviewer.md"), "Reviews", "Go", "code."}, strings.Fields(lines[2]))

	code, stdout, stderr = newCaller(t).call(t.Context(), "agents", "list", "--json", "--dir", c.here)
	require.Equal(t, exitDone, code, stderr)
	var listed []listedAgent
	require.NoError(t, json.Unmarshal([]byte(stdout), &listed))
	require.Len(t, listed, 5)
	require.Equal(t, listedAgent{Name: "broken", File: filepath.Join(c.here, "agents", "broken.yaml"), Problems: 2}, listed[0])
	require.Equal(t, listedAgent{Name: "writer", File: filepath.Join(c.here, ".everstep", "agents", "plain.yaml")}, listed[4])

	code, stdout, stderr = c.call(t.Context(), "agents", "list", "--dir", t.TempDir())
	require.Equal(t, exitDone, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "there is no agent's file")
	_, stdout, _ = c.call(t.Context(), "agents", "list", "--json", "--dir", t.TempDir())
	require.Equal(t, "[]\n", stdout)
}

func TestAgentsShow(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.here = agentFolder(t)
	code, stdout, stderr := c.call(t.Context(), "agents", "show", "reviewer")
	require.Equal(t, exitDone, code, stderr)
	path := filepath.Join(c.here, "agents", "reviewer.md")
	require.True(t, strings.HasPrefix(stdout, "# "+path+", as it would run\nname: reviewer\n"), stdout)
	shown, err := agentfile.Parse("shown.yaml", []byte(stdout))
	require.NoError(t, err)
	loaded, err := agentfile.Load(path)
	require.NoError(t, err)
	require.Equal(t, loaded.Resolve(), shown.Resolve())
	require.Contains(t, stdout, "attempts: 12", "defaults are shown")

	code, stdout, _ = c.call(t.Context(), "agents", "show", path, "--json")
	require.Equal(t, exitDone, code)
	var resolved struct{ Budget map[domain.Limit]any }
	require.NoError(t, json.Unmarshal([]byte(stdout), &resolved))
	require.Equal(t, "0.5", resolved.Budget[domain.LimitCost])

	_, stdout, _ = c.call(t.Context(), "agents", "show", "writer")
	require.Contains(t, stdout, "\n# model: none; name one with --model or EVERSTEP_MODEL\n")
	require.Contains(t, stdout, "\n# budget.max_steps: the default, which a number or none in the file or --max-steps replaces\n")
	require.Contains(t, stdout, "\n  max_steps: 200\n")
	free := filepath.Join(c.here, "agents", "free.yaml")
	require.NoError(t, os.WriteFile(free, []byte("name: free\nbudget: {max_steps: none}\n"), 0o600))
	_, stdout, _ = c.call(t.Context(), "agents", "show", "free")
	require.Contains(t, stdout, "\n  max_steps: none\n")
	require.NotContains(t, stdout, "the default")
	c.variables[local.VariableModel] = "openai-chat/m"
	_, stdout, _ = c.call(t.Context(), "agents", "show", "writer")
	require.Contains(t, stdout, "\n# model: from EVERSTEP_MODEL\n")
	require.Contains(t, stdout, "\n  name: m\n")

	slow := filepath.Join(c.here, "agents", "slow.yaml")
	require.NoError(t, os.WriteFile(slow, []byte("name: slow\ntimeouts: {idle: 45s}\n"), 0o600))
	_, stdout, _ = c.call(t.Context(), "agents", "show", "slow")
	require.Contains(t, stdout, "\n  idle: 45s\n", "the file's time-outs hold for a model that it does not name")
}

func TestAgentsCheck(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.here = agentFolder(t)
	broken := filepath.Join(c.here, "agents", "broken.yaml")
	code, stdout, stderr := c.call(t.Context(), "agents", "check", broken, "reviewer", "revewer", "none.yaml")
	require.Equal(t, exitOther, code)
	require.Equal(t, broken+":1:1: modell: there is no such key; did you mean model?\n"+
		broken+":3:14: budget.max_steps: \"ten\" is a text, not a whole number\n"+
		"revewer: there is no agent \"revewer\" in ./agents and ./.everstep/agents; did you mean reviewer?\n"+
		"none.yaml: there is no such file; `agents list` shows those in ./agents and ./.everstep/agents\n", stdout)
	require.Equal(t, filepath.Join(c.here, "agents", "reviewer.md")+": nothing is wrong\nerror: 4 problems\n", stderr)

	code, stdout, stderr = c.call(t.Context(), "agents", "check", "--json", "--quiet")
	require.Equal(t, exitOther, code)
	require.Equal(t, "error: 2 problems\n", stderr)
	var problems []document.Problem
	require.NoError(t, json.Unmarshal([]byte(stdout), &problems))
	require.Equal(t, []document.Problem{
		{File: broken, Line: 1, Column: 1, Field: "modell", Message: "there is no such key; did you mean model?"},
		{File: broken, Line: 3, Column: 14, Field: "budget.max_steps", Message: `"ten" is a text, not a whole number`},
	}, problems)

	code, stdout, _ = c.call(t.Context(), "agents", "check", "reviewer", "--json")
	require.Equal(t, exitDone, code)
	require.Equal(t, "[]\n", stdout)

	typo := filepath.Join(c.here, "typo.yaml")
	require.NoError(t, os.WriteFile(typo, []byte("hooks: audit, redact\ntools: raed_file, list_files, our_own\n"), 0o600))
	code, stdout, stderr = c.call(t.Context(), "agents", "check", typo)
	require.Equal(t, exitDone, code, "a worker may have a tool of that name")
	require.Empty(t, stdout)
	require.Equal(t, typo+": nothing is wrong\n"+
		typo+": note: tool: there is no \"raed_file\"; did you mean read_file?\n"+
		typo+": note: tool: there is no \"our_own\"; there are list_files, read_file, search_files, write_file, edit_file; "+
		"http_get, http_post, shell, sleep, wait_until, todo, ask_user, read_artifact, execution_history can be turned on with EVERSTEP_BUILTIN_TOOLS; "+
		"others are on workers of your own: name their --task-queue\n", stderr)
	_, _, refused := c.call(t.Context(), "run", "--model", "openai/gpt-5-mini", "--tool", "our_own", "hi")
	require.Contains(t, stderr, strings.TrimPrefix(refused, "error: "), "run refuses it in the same words")

	both := filepath.Join(c.here, "both.yaml")
	require.NoError(t, os.WriteFile(both, []byte("tools:\n  allow: [read_file, list_files]\n  deny: [write_file, read_file]\n"), 0o600))
	code, stdout, _ = c.call(t.Context(), "agents", "check", both)
	require.Equal(t, exitOther, code)
	require.Equal(t, both+":3:22: tools.deny: read_file is in tools.allow, too, so the agent has it not; name it in one of them\n", stdout)
	file, err := agentfile.Load(both)
	require.NoError(t, err, "it counts as it stands")
	require.Equal(t, []string{"list_files"}, file.Definition.Tools)

	provider := filepath.Join(c.here, "provider.yaml")
	require.NoError(t, os.WriteFile(provider, []byte("model: opnai/gpt-5-mini\nfallbacks: [house/large]\n"), 0o600))
	code, stdout, stderr = c.call(t.Context(), "agents", "check", provider)
	require.Equal(t, exitOther, code)
	require.Equal(t, provider+":1:8: model: there is no provider \"opnai\"; did you mean openai?\n", stdout)
	require.Contains(t, stderr, provider+":2:13: fallbacks[0]: note: house is no provider of ours; there are scripted")

	// Whoever counts the problems of a file counts the same.
	require.NoError(t, os.WriteFile(filepath.Join(c.here, "agents", "many.yaml"), []byte("modell: x\nmodel: {name: m, provider: opnai}\nfallbacks: [{model: anthropc/x}]\n"), 0o600))
	_, checked, _ := c.call(t.Context(), "agents", "check", "many")
	require.Contains(t, checked, "many.yaml:2:28: model.provider: there is no provider")
	require.Contains(t, checked, "many.yaml:3:21: fallbacks[0].model: there is no provider")
	require.Equal(t, 3, strings.Count(checked, "\n"))
	_, listed, _ := c.call(t.Context(), "agents", "list")
	require.Contains(t, listed, "broken: 3 problems")
	_, _, stderr = c.call(t.Context(), "run", "--agent", "many", "hi")
	require.Contains(t, stderr, "many.yaml has 3 problems:")
}

func TestAgentsSchema(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := newCaller(t).call(t.Context(), "agents", "schema")
	require.Equal(t, exitDone, code, stderr)
	schema, err := json.Marshal(agentfile.Schema())
	require.NoError(t, err)
	require.JSONEq(t, string(schema), stdout)
}

func TestAgentsThatAreWrong(t *testing.T) {
	t.Parallel()
	here := agentFolder(t)
	broken := filepath.Join(here, "agents", "broken.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(here, ".everstep", "agents", "twin.yaml"), []byte("name: reviewer\n"), 0o600))
	both := "error: " + broken + " has 2 problems:\n  " + broken + ":1:1: modell: there is no such key; did you mean model?\n  " +
		broken + ":3:14: budget.max_steps: \"ten\" is a text, not a whole number\n"
	twice := "error: agent: reviewer is the name of several: " + filepath.Join(here, "agents", "reviewer.md") + ", " + filepath.Join(here, ".everstep", "agents", "twin.yaml") + "; give the file\n"
	tests := map[string]struct {
		args []string
		says string
	}{
		"show of a broken one":   {[]string{"agents", "show", "broken"}, both},
		"run of a broken one":    {[]string{"run", "--agent", broken, "hi"}, both},
		"start of a broken one":  {[]string{"start", "--agent", "broken", "hi"}, both},
		"a name of two":          {[]string{"agents", "show", "reviewer"}, twice},
		"no such name":           {[]string{"run", "--agent", "auditor", "hi"}, "error: agent: there is no agent \"auditor\" in ./agents and ./.everstep/agents; there are broken, hooked, own, reviewer, writer\n"},
		"no name":                {[]string{"agents", "show"}, "error: agent: is missing; write it as in: starter agents show agents/reviewer.md\n"},
		"empty flag":             {[]string{"run", "--agent", "", "hi"}, "error: --agent: \"\" is empty; give a name, or leave it out\n"},
		"no model":               {[]string{"run", "--agent", "writer", "hi"}, "error: model: is missing; name one with --model or EVERSTEP_MODEL: " + local.ModelForm + "\n"},
		"a hook of nobody":       {[]string{"run", "--agent", "hooked", "hi"}, "error: hooks: the worker that this command starts has none, and the agent uses \"audit\"; run a worker of your own that has it, and name its --task-queue\n"},
		"a compiler of nobody":   {[]string{"run", "--agent", "own", "hi"}, "error: compiler: the worker that this command starts has no \"our_own\", only whole_conversation, current_trace, selected_sections; run a worker of your own that has it, and name its --task-queue\n"},
		"a command that is none": {[]string{"agents", "lst"}, "error: \"lst\" is not a command; did you mean `starter agents list`?\n"},
		"nothing to check":       {[]string{"agents", "check", "--dir", filepath.Join(here, "agents")}, "error: agent: there is none in ./agents or ./.everstep/agents; give a file, as in: starter agents check reviewer.md\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t)
			c.here = here
			code, stdout, stderr := c.call(t.Context(), test.args...)
			require.Equal(t, exitUsage, code, stderr)
			require.Empty(t, stdout)
			require.Equal(t, test.says, stderr)
			require.NoFileExists(t, c.variables[local.VariableState], "nothing was started")
		})
	}
}

// requestOf is the start that a command line asks for.
func requestOf(t *testing.T, here string, variables variables, args ...string) client.Start {
	t.Helper()
	p := &program{in: strings.NewReader(""), machine: &local.Machine{Env: local.Environment{Environment: variables}}, here: here}
	command := startCommand(p)
	var f startFlags
	command.ResetFlags()
	f.register(p, command)
	require.NoError(t, command.ParseFlags(args))
	request, err := f.request(t.Context(), p, "hi")
	require.NoError(t, err)
	return request
}

func TestFlagsOverrideTheFile(t *testing.T) {
	t.Parallel()
	here := agentFolder(t)
	path := filepath.Join(here, "agents", "reviewer.md")
	plain := requestOf(t, here, nil, "--agent", "reviewer")
	require.Equal(t, domain.Definition{
		Model:        domain.LLMConfig{Provider: "openai-chat", Model: "gpt-5-mini"},
		SystemPrompt: "You review Go code.",
		Tools:        []string{"read_file", "list_files"},
		Budget:       domain.ExecutionBudget{MaxSteps: new(int64(9)), MaxCostNanoUSD: new(int64(500_000_000))},
		Source:       path,
	}, plain.Definition)
	require.Equal(t, plain.Definition, *plain.Given, "all of the file is asked for")
	require.Equal(t, plain.Definition.Budget, plain.Budget)

	other := requestOf(t, here, nil, "--agent", path, "--model", "openai-chat/other", "--system", "Be brief.", "--tool", "read_file", "--max-steps", "12", "--max-tokens", "500")
	require.Equal(t, "openai-chat/other", other.Definition.Model.String())
	require.Equal(t, "Be brief.", other.Definition.SystemPrompt)
	require.Equal(t, []string{"read_file"}, other.Definition.Tools)
	require.Equal(t, plain.Definition.Budget, other.Definition.Budget, "flags cap, they do not raise")
	require.Equal(t, int64(9), *other.Budget.MaxSteps)
	require.Equal(t, int64(500), *other.Budget.MaxTokens)

	// The file's model comes before the variable, which comes before none.
	variable := variables{local.VariableModel: "openai-chat/variable"}
	require.Equal(t, "openai-chat/gpt-5-mini", requestOf(t, here, variable, "--agent", "reviewer").Definition.Model.String())
	writer := requestOf(t, here, variable, "--agent", "writer")
	require.Equal(t, "openai-chat/variable", writer.Definition.Model.String())
	require.Empty(t, writer.Given.Model, "nobody asked for it")
}

func TestAgentsAreExplainedAndCompleted(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.here = agentFolder(t)
	root := newRoot(&program{machine: &local.Machine{}})
	agents, _, err := root.Find([]string{"agents"})
	require.NoError(t, err)
	require.Len(t, agents.Commands(), 4)
	for _, command := range agents.Commands() {
		require.NotEmpty(t, command.Short, command.Name())
		require.NotEmpty(t, command.Long, command.Name())
		require.Contains(t, command.Example, "starter agents "+command.Name())
		code, stdout, _ := c.call(t.Context(), "agents", command.Name(), "--help")
		require.Equal(t, exitDone, code)
		require.Contains(t, stdout, command.Long)
	}
	code, stdout, _ := c.call(t.Context(), "agents")
	require.Equal(t, exitDone, code)
	require.Contains(t, stdout, "schema")
	for _, args := range [][]string{{"agents", "show", ""}, {"agents", "check", ""}, {"run", "--agent", ""}, {"start", "--agent", ""}} {
		code, stdout, _ = c.call(t.Context(), append([]string{"__complete"}, args...)...)
		require.Equal(t, exitDone, code)
		require.Contains(t, stdout, "reviewer\tReviews Go code.\n", args)
		require.Contains(t, stdout, "writer\n", args)
	}
}
