package testsuite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/testsuite"
)

// scenarios is where the conversations lie, one a file, each with all that it
// comes to below the line "expect:". That part is written by
// go test ./testsuite -run TestScenarios -update, and read before it is kept.
const scenarios = "testdata/scenarios"

// A scenario is an agent, the world that it meets and what happens to it.
type scenario struct {
	Description string `yaml:"description"`
	// OnlyInMemory says why the scenario is not played on a server as well.
	OnlyInMemory string `yaml:"only_in_memory"`
	// Definition is the agent, by the keys of domain.Definition.
	Definition yaml.Node `yaml:"definition"`
	// DeadlineAfter sets the budget's deadline to so much after the beginning.
	DeadlineAfter time.Duration           `yaml:"deadline_after"`
	Prompt        string                  `yaml:"prompt"`
	Script        yaml.Node               `yaml:"script"`
	Tools         map[string]scenarioTool `yaml:"tools"`
	Events        []scenarioEvent         `yaml:"events"`
	Expect        yaml.Node               `yaml:"expect"`

	name, path, head, expected string
}

// A scenarioTool answers every call in the same way.
type scenarioTool struct {
	Reply string        `yaml:"reply"`
	Fails string        `yaml:"fails"`
	Stops string        `yaml:"stops"`
	Takes time.Duration `yaml:"takes"`
}

// A scenarioEvent comes from outside. One of the fields beside At is set.
type scenarioEvent struct {
	At     time.Duration   `yaml:"at"`
	Stop   domain.StopMode `yaml:"stop"`
	Pause  bool            `yaml:"pause"`
	Resume bool            `yaml:"resume"`
	Extend yaml.Node       `yaml:"extend"`
	GoOn   yaml.Node       `yaml:"go_on"`
	Send   string          `yaml:"send"`
}

const expectLine = "\nexpect:\n"

func readScenarios(t *testing.T) []scenario {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(scenarios, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	all := make([]scenario, len(paths))
	for i, path := range paths {
		all[i] = readScenario(t, path)
	}
	return all
}

func readScenario(t *testing.T, path string) scenario {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	head, expected, _ := strings.Cut(string(data), expectLine)
	s := scenario{name: strings.TrimSuffix(filepath.Base(path), ".yaml"), path: path, head: strings.TrimRight(head, "\n"), expected: expected}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&s), path)
	require.NotEmpty(t, s.Description, path)
	return s
}

// fromYAML reads a part of a file by the JSON keys of its type.
func fromYAML(t *testing.T, node yaml.Node, into any) {
	t.Helper()
	if node.IsZero() {
		return
	}
	var value any
	require.NoError(t, node.Decode(&value))
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(into))
}

func (s scenario) definition(t *testing.T) domain.Definition {
	t.Helper()
	var d domain.Definition
	fromYAML(t, s.Definition, &d)
	if s.DeadlineAfter > 0 {
		// Every bubble of synctest begins at this time.
		deadline := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(s.DeadlineAfter)
		d.Budget.Deadline = &deadline
	}
	return d
}

func (s scenario) script(t *testing.T) string {
	t.Helper()
	text, err := yaml.Marshal(&s.Script)
	require.NoError(t, err)
	return string(text)
}

func (s scenario) tools() []tool.Tool {
	var tools []tool.Tool
	for _, name := range sortedNames(s.Tools) {
		tools = append(tools, s.Tools[name].tool(name))
	}
	return tools
}

func (t scenarioTool) tool(name string) tool.Tool {
	return tool.FromSpec(domain.ToolSpec{Name: name}, func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		select {
		case <-ctx.Done():
			return tool.Result{}, context.Cause(ctx)
		case <-time.After(t.Takes):
		}
		result := tool.Result{Content: t.Reply}
		if t.Stops != "" {
			result.Stop = &domain.StopSignal{Message: t.Stops}
		}
		if t.Fails != "" {
			return tool.Result{}, domain.Errorf(domain.Invalid, "%s", t.Fails)
		}
		return result, nil
	})
}

func (e scenarioEvent) event(t *testing.T) testsuite.Event {
	t.Helper()
	var totals domain.ExecutionBudget
	switch {
	case e.Stop != "":
		return testsuite.StopAt(e.At, e.Stop)
	case e.Pause:
		return testsuite.PauseAt(e.At)
	case e.Resume:
		return testsuite.ResumeAt(e.At)
	case e.Send != "":
		return testsuite.SendAt(e.At, e.Send)
	case !e.Extend.IsZero():
		fromYAML(t, e.Extend, &totals)
		return testsuite.ExtendAt(e.At, totals)
	}
	fromYAML(t, e.GoOn, &totals)
	return testsuite.GoOnAt(e.At, totals)
}

// play runs a scenario in memory, with the triggers at which hook trace ran.
func (s scenario) play(t *testing.T) (testsuite.Run, *trace) {
	t.Helper()
	traced := &trace{}
	env := testsuite.New(t, testsuite.Config{
		Definition: s.definition(t), Script: s.script(t), Tools: s.tools(), Hooks: scenarioHooks(traced),
	})
	var events []testsuite.Event
	for _, e := range s.Events {
		events = append(events, e.event(t))
	}
	return env.Run(s.prompt(), events...), traced
}

func (s scenario) prompt() string {
	if s.Prompt == "" {
		return "go"
	}
	return s.Prompt
}

// TestScenarios plays every conversation in memory and compares all of it.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, s := range readScenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			run, traced := s.play(t)
			checkEvents(t, run)
			got := describeRun(run, traced)
			if *update {
				require.NoError(t, os.WriteFile(s.path, []byte(s.head+"\n"+expectLine+got), 0o600))
				return
			}
			require.Equal(t, s.expected, got, "what %s came to; see it with -update", s.path)
		})
	}
}
