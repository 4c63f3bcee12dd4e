package testsuite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.temporal.io/sdk/interceptor"

	"everstep/activities"
	"everstep/activities/files"
	"everstep/activities/inference"
	"everstep/activities/scripted"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
)

// Config is the agent under test and the world that it meets.
type Config struct {
	// Definition is the agent. Its model is replaced by the script's; where it
	// names no tools it has all that are here, and where it has no approvals, each
	// call runs, as with a worker whose word is allow.
	Definition domain.Definition
	// Script is what the model says, in the YAML of the models scripted/FILE.
	Script string
	// Turns are the same as values. Give Script, Turns or Provider.
	Turns []Turn
	// Provider is the model in place of both, by the name that the definition
	// gives it. What it is asked is not in Run.Asked, and RealTime is on.
	Provider inference.Provider
	// Tools are those that the worker has: real ones, or a Fake's.
	Tools []tool.Tool
	// Hooks are those that the worker has.
	Hooks []hook.Hook
	// Compilers are those that the worker has beside ours, by name.
	Compilers map[string]activities.Compiler
	// Interceptors see, and change, what the workflow and its activities do, as a worker's.
	Interceptors []interceptor.WorkerInterceptor
	// Dir adds the file tools, with this folder as their root.
	Dir string
	// Budget caps the definition's, as a request does.
	Budget domain.ExecutionBudget
	// Metadata and Messages are given to the first execution, as by client.Start.
	Metadata domain.Metadata
	Messages []domain.Entry
	// Trusted are the session's trusted values, as by client.Start.
	Trusted domain.Trusted
	// RealTime lets delays take as long as they say, for tools that talk to other
	// processes or over a network. A run then ends with a panic when nothing
	// happens for 10 minutes.
	RealTime bool
}

// An Env runs one agent as often as a test asks. It is for one goroutine.
type Env struct {
	t          *testing.T
	config     Config
	definition domain.Definition
	tools      []tool.Tool
	script     *scripted.Provider
	hooks      hook.Set
}

// New checks the configuration. What is wrong with it, or with the script, ends
// the test; the message names the script's line.
func New(t *testing.T, config Config) *Env {
	t.Helper()
	env := &Env{t: t, config: config, script: scripted.New(), tools: slices.Clone(config.Tools)}
	env.config.RealTime = config.RealTime || config.Provider != nil
	if config.Dir != "" {
		root, err := files.Open(config.Dir)
		if err != nil {
			t.Fatalf("testsuite: Dir: %v", err)
		}
		t.Cleanup(func() { _ = root.Close() })
		env.tools = append(env.tools, root.Tools()...)
	}
	for _, added := range env.tools {
		if err := added.Check(); err != nil {
			t.Fatalf("testsuite: Tools: %v", err)
		}
	}
	var err error
	if env.hooks, err = hook.NewSet(config.Hooks...); err != nil {
		t.Fatalf("testsuite: Hooks: %v", err)
	}
	env.definition = config.Definition
	if path := writeScript(t, config); path != "" {
		env.definition.Model.Provider, env.definition.Model.Model = scripted.Name, path
		if err := env.script.Check(t.Context(), env.definition.Model); err != nil {
			t.Fatalf("testsuite: %v", err)
		}
	}
	if env.definition.Tools == nil {
		for _, added := range env.tools {
			env.definition.Tools = append(env.definition.Tools, added.Spec().Name)
		}
	}
	if err := env.definition.Check(); err != nil {
		t.Fatalf("testsuite: Definition: %v", err)
	}
	return env
}

// writeScript puts the script into a file, where the provider reads it as any
// worker's does. Beside another provider there is none.
func writeScript(t *testing.T, config Config) string {
	t.Helper()
	text, name := []byte(config.Script), "script.yaml"
	switch given := config.Script != "" || config.Turns != nil; {
	case config.Script != "" && config.Turns != nil:
		t.Fatal("testsuite: Script, Turns: both are given; give one")
	case config.Provider != nil && given:
		t.Fatal("testsuite: Provider: is given beside a script; give one")
	case config.Provider != nil:
		return ""
	case !given:
		t.Fatal("testsuite: Script: is missing; say what the model answers, here or in Turns")
	case config.Turns != nil:
		var err error
		name = "script.json"
		if text, err = json.Marshal(map[string]any{"turns": config.Turns}); err != nil {
			t.Fatalf("testsuite: Turns: %v", err)
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatalf("testsuite: %v", err)
	}
	return path
}
