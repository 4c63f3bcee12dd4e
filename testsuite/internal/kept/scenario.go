package kept

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"everstep/activities/asking"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/testsuite"
)

const (
	// scenarios is where the conversations lie, one a file.
	scenarios = "../testdata/scenarios"
	// expectLine is where a file's second part begins: what it comes to, written by
	// go test ./testsuite/guards -run TestScenarios -update and read before it is kept.
	expectLine = "\nexpect:\n"
)

// A Scenario is an agent, the world that it meets and what happens to it.
type Scenario struct {
	Name, Path string
	// OnlyInMemory says why the scenario is not played on a server as well.
	OnlyInMemory string
	// Definition is the agent, but for its model and tools.
	Definition domain.Definition
	Prompt     string
	Script     string
	Tools      []tool.Tool
	Events     []testsuite.Event
	// Expect is what it comes to; Head and Expected are the file's two parts.
	Expect         yaml.Node
	Head, Expected string
}

type scenarioFile struct {
	Description  string `yaml:"description"`
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
}

// Scenarios reads all of them.
func Scenarios(t testing.TB) []Scenario {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(scenarios, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	all := make([]Scenario, len(paths))
	for i, path := range paths {
		all[i] = readScenario(t, path)
	}
	return all
}

func readScenario(t testing.TB, path string) Scenario {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var file scenarioFile
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&file), path)
	require.NotEmpty(t, file.Description, path)
	head, expected, _ := strings.Cut(string(data), expectLine)
	s := Scenario{
		Name: strings.TrimSuffix(filepath.Base(path), ".yaml"), Path: path, OnlyInMemory: file.OnlyInMemory,
		Prompt: file.Prompt, Expect: file.Expect, Head: strings.TrimRight(head, "\n") + "\n" + expectLine, Expected: expected,
	}
	if s.Prompt == "" {
		s.Prompt = "go"
	}
	fromYAML(t, file.Definition, &s.Definition)
	if file.DeadlineAfter > 0 {
		// Every bubble of synctest begins at this time.
		deadline := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(file.DeadlineAfter)
		s.Definition.Budget.Deadline = &deadline
	}
	script, err := yaml.Marshal(&file.Script)
	require.NoError(t, err)
	s.Script = string(script)
	for _, name := range slices.Sorted(maps.Keys(file.Tools)) {
		s.Tools = append(s.Tools, file.Tools[name].tool(name))
	}
	for _, e := range file.Events {
		s.Events = append(s.Events, e.event(t))
	}
	return s
}

// fromYAML reads a part of a file by the JSON keys of its type.
func fromYAML(t testing.TB, node yaml.Node, into any) {
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

// A scenarioTool answers every call in the same way.
type scenarioTool struct {
	Effect domain.Effect `yaml:"effect"`
	Reply  string        `yaml:"reply"`
	Fails  string        `yaml:"fails"`
	// Unknown is why nobody knows whether it did what it was asked.
	Unknown string        `yaml:"unknown"`
	Stops   string        `yaml:"stops"`
	Takes   time.Duration `yaml:"takes"`
	// Asks says that it asks a person what its arguments say.
	Asks bool `yaml:"asks"`
}

// A scenarioEvent comes from outside. One of the fields beside At is set.
type scenarioEvent struct {
	At     time.Duration     `yaml:"at"`
	Stop   contract.StopMode `yaml:"stop"`
	Pause  bool              `yaml:"pause"`
	Resume bool              `yaml:"resume"`
	// Approve, ApproveAlways and Deny name the tool of the call that waits. Approve lets it run with the arguments of Edit, where
	// there are any.
	Approve       string         `yaml:"approve"`
	Edit          string         `yaml:"edit"`
	ApproveAlways string         `yaml:"approve_always"`
	Deny          string         `yaml:"deny"`
	Answer        string         `yaml:"answer"`
	Extend        yaml.Node      `yaml:"extend"`
	GoOn          yaml.Node      `yaml:"go_on"`
	Send          string         `yaml:"send"`
	Steer         string         `yaml:"steer"`
	Queue         string         `yaml:"queue"`
	Unsend        bool           `yaml:"unsend"`
	Clear         bool           `yaml:"clear"`
	Resolve       domain.Verdict `yaml:"resolve"`
	// Kill has the worker die.
	Kill bool `yaml:"kill"`
}

func (t scenarioTool) tool(name string) tool.Tool {
	if t.Asks {
		return asking.Tool()
	}
	return tool.FromSpec(domain.ToolSpec{Name: name, Effect: t.Effect}, func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		reply := testsuite.Returns(t.Reply)
		if t.Fails != "" {
			reply = testsuite.Fails(domain.Invalidf("%s", t.Fails))
		}
		if t.Unknown != "" {
			reply = testsuite.Unknown(t.Unknown)
		}
		content, err := testsuite.After(t.Takes, reply)(ctx, testsuite.FakeCall{})
		result := tool.Result{Content: content}
		if t.Stops != "" {
			result.Stop = &domain.StopSignal{Message: t.Stops}
		}
		return result, err
	})
}

func (e scenarioEvent) event(t testing.TB) testsuite.Event {
	t.Helper()
	var totals domain.ExecutionBudget
	switch {
	case e.Stop != "":
		return testsuite.StopAt(e.At, e.Stop)
	case e.Pause:
		return testsuite.PauseAt(e.At)
	case e.Resume:
		return testsuite.ResumeAt(e.At)
	case e.Edit != "":
		return testsuite.ApproveEditedAt(e.At, e.Approve, e.Edit)
	case e.Approve != "":
		return testsuite.ApproveAt(e.At, e.Approve)
	case e.ApproveAlways != "":
		return testsuite.ApproveAlwaysAt(e.At, e.ApproveAlways)
	case e.Deny != "":
		return testsuite.DenyAt(e.At, e.Deny, "not today")
	case e.Answer != "":
		return testsuite.AnswerAt(e.At, e.Answer)
	case e.Resolve != "":
		return testsuite.ResolveAt(e.At, e.Resolve, "")
	case e.Steer != "":
		return testsuite.SteerAt(e.At, e.Steer)
	case e.Queue != "":
		return testsuite.QueueAt(e.At, e.Queue)
	case e.Unsend:
		return testsuite.UnsendAt(e.At)
	case e.Clear:
		return testsuite.ClearAt(e.At)
	case e.Kill:
		return testsuite.KillAt(e.At)
	case e.Send != "":
		return testsuite.SendAt(e.At, e.Send)
	case !e.Extend.IsZero():
		fromYAML(t, e.Extend, &totals)
		return testsuite.ExtendAt(e.At, totals)
	}
	fromYAML(t, e.GoOn, &totals)
	return testsuite.GoOnAt(e.At, totals)
}
