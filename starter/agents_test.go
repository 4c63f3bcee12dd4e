package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
		"agents/one.yaml":             "name: twin\n",
		".everstep/agents/two.yaml":   "name: twin\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// TestAgentsShow: what is shown is an agent's file that means the same.
func TestAgentsShow(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.here = agentFolder(t)
	code, stdout, stderr := c.call(t.Context(), "agents", "show", "reviewer")
	require.Equal(t, exitDone, code, stderr)
	shown, err := agentfile.Settings{}.Parse("shown.yaml", []byte(stdout))
	require.NoError(t, err)
	loaded, err := agentfile.Settings{}.Load(filepath.Join(c.here, "agents", "reviewer.md"))
	require.NoError(t, err)
	require.Equal(t, loaded.Resolve(), shown.Resolve())
}

func TestAgentsSchema(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := newCaller(t).call(t.Context(), "agents", "schema")
	require.Equal(t, exitDone, code, stderr)
	schema, err := json.Marshal(agentfile.Schema())
	require.NoError(t, err)
	require.JSONEq(t, string(schema), stdout)
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
	require.Equal(t, plain.Definition, *plain.Explicit, "all of the file is asked for")
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
	require.Empty(t, writer.Explicit.Model, "nobody asked for it")
}

func TestAgentsAreExplainedAndCompleted(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.here = agentFolder(t)
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
