package workflows_test

import (
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// A plan is all that is drawn of a simulation.
type plan struct {
	input            contract.SessionInput
	hooks            []hook.Hook
	storage, records bool
	window           int64
	price            domain.Price
	// lies says that the provider reads up to three times what was estimated. Only an agent without sub-agents has it.
	lies bool
	// modelAttempts are what comes of the inferences of each agent, in their order, toolAttempts what becomes of the attempts at calls.
	// Whatever comes after them is an answer, and goes well.
	modelAttempts []modelAttempt
	toolAttempts  []toolAttempt
	acts          []act
	// runs are after how many inferences each of the first runs is long enough.
	runs []int
	// down and up are from when and until when the store answers nobody.
	down, up time.Duration
}

// An ending is what comes of an inference or of an attempt at a call.
type ending string

const (
	goesWell  ending = "goes well"
	isEmpty   ending = "says nothing"
	isInvalid ending = "does not fit the format"
	isCut     ending = "is cut by its length"
	isBilled  ending = "fails, and is billed"
	isRefused ending = "is refused"
	isBusy    ending = "finds a busy server"
	shutDown  ending = "is given back by its worker"
	waitsLong ending = "is to come again in an hour"
	// dies and diesAfter lose the worker: before anything was sent or done, or after.
	dies      ending = "loses its worker before"
	diesAfter ending = "loses its worker after"
	// fails, and those below, are of calls alone.
	fails      ending = "fails"
	notStarted ending = "does not begin"
	stopsAgent ending = "asks to stop"
	isUnknown  ending = "does not know its outcome"
)

// A modelAttempt is what comes of an inference.
type modelAttempt struct {
	ending
	calls []domain.ToolCall
	lasts time.Duration
	// input and output are what it takes, in percent of what it may.
	input, output int64
}

// A toolAttempt is what comes of an attempt at a call.
type toolAttempt struct {
	ending
	lasts time.Duration
}

// An act is something that somebody does.
type act struct {
	at   time.Duration
	what string
	// pick chooses among what there is to be done it to, n how.
	pick, n int
	// again is after how long the same request comes once more; zero: it does not.
	again time.Duration
	// of is the request that comes once more.
	of *personRequest
}

func simulatedTools() []domain.ToolSpec {
	return []domain.ToolSpec{
		{Name: "look", Effect: domain.ReadOnly}, {Name: "pay", Effect: domain.AtMostOnce, EffectKey: []string{"order"}, Verifies: true},
		{Name: "wipe", Effect: domain.AtMostOnce}, {Name: "mail", Effect: domain.Keyed}, {Name: "set", Effect: domain.Idempotent},
		{Name: "ask_user", Effect: domain.ReadOnly},
	}
}

// simulatedCalls are the calls that a model makes, the harmless first.
func simulatedCalls() []domain.ToolCall {
	spawn, _ := json.Marshal(domain.Spawn{Subagent: "leaf", Prompt: "find it"})
	var calls []domain.ToolCall
	for _, call := range [][2]string{
		{"look", "{}"}, {"look", ""}, {"look", "not json"}, {"nothing", "{}"}, {"pay", `{"order": 1}`}, {"pay", `{"order":1, "note": "x"}`}, {"pay", `{"order": 2}`},
		{"pay", rewritten}, {"wipe", "{}"}, {"wipe", `{"all": true}`}, {"mail", `{"to": "ann"}`}, {"set", `{"to": 1}`}, {"ask_user", `{"question": "Which?"}`},
		{"ask_user", `{"question": "Which?", "expires_in": 600, "default": "blue"}`}, {domain.SpawnSubagent, string(spawn)}, {domain.SpawnSubagent, string(spawn)},
		{domain.HandoffTool("other"), "{}"}, {"set", `{"text": "` + string(longText()) + `"}`},
	} {
		calls = append(calls, domain.ToolCall{ID: "1", Name: call[0], Arguments: call[1]})
	}
	return calls
}

// longText is a text that does not travel by value.
func longText() []byte {
	text := make([]byte, domain.MaxInlineArguments+1)
	for i := range text {
		text[i] = 'x'
	}
	return text
}

// rewritten are the arguments in whose place the hook puts others.
const rewritten, rewrittenTo = `{"order": 3}`, `{"order": 4}`

func simulatedHooks(stops, blocks bool) []hook.Hook {
	hooks := []hook.Hook{hook.BeforeToolUse("rewrites", func(c hook.ToolUse) (hook.ToolUse, error) {
		if c.At.Call.Arguments == rewritten {
			c.At.Call.Arguments = rewrittenTo
		}
		if blocks && c.At.Call.Name == "set" {
			c.At = c.At.Block("no setting")
		}
		return c, nil
	})}
	if stops {
		hooks = append(hooks, hook.AfterStep("stops", func(c hook.Point) (hook.Point, error) {
			if c.State.StepCount() >= 3 {
				return c.Stop("enough"), nil
			}
			return c, nil
		}))
	}
	for i := range hooks {
		hooks[i].Always = true
	}
	return hooks
}

func drawPlan(draw *rapid.T) plan {
	chance := func(label string, of int) bool { return rapid.IntRange(0, of-1).Draw(draw, label) == of-1 }
	limit := func(label string, from, to int64) *int64 {
		if !chance(label+" is limited", 3) {
			return nil
		}
		return number(rapid.Int64Range(from, to).Draw(draw, label))
	}
	var p plan
	name := ""
	if !chance("without a name", 4) {
		name = "ann"
	}
	d := domain.Definition{
		Model: domain.LLMConfig{Provider: "scripted", Model: "/x"}, SystemPrompt: "root",
		Tools:    []string{"look", "pay", "wipe", "mail", "set", "ask_user"},
		Attempts: rapid.IntRange(1, 4).Draw(draw, "attempts"),
		Guards:   domain.Guards{FinalAnswer: chance("final answer", 3), Repetition: &domain.Repetition{Nudge: 2, Stop: 4}},
		Budget: domain.ExecutionBudget{
			MaxSteps: limit("steps", 0, 8), MaxToolCalls: limit("calls", 0, 6), MaxTokens: limit("tokens", 0, 4000), MaxCostNanoUSD: limit("cost", 0, 4_000_000),
		},
	}
	if chance("session budget", 3) {
		d.SessionBudget = domain.ExecutionBudget{MaxSteps: number(rapid.Int64Range(1, 12).Draw(draw, "session steps")), MaxTokens: limit("session tokens", 100, 6000)}
	}
	if chance("seconds", 6) {
		d.Budget.MaxSeconds = new(float64(rapid.IntRange(0, 120).Draw(draw, "max seconds")))
	}
	asks := domain.ApprovalRule{Tool: "pay", Then: domain.AskFirst, ExpiresAfter: time.Duration(rapid.SampledFrom([]int{0, 0, 1, 24}).Draw(draw, "expires")) * time.Hour}
	rules := []domain.ApprovalRule{asks, {Tool: "wipe", Then: rapid.SampledFrom([]domain.Permission{domain.Allow, domain.Allow, domain.AskFirst, domain.Deny}).Draw(draw, "wipe")}, {Tool: "*", Then: domain.Allow}}
	d.Approvals = &domain.Approvals{Rules: rules[rapid.IntRange(0, 1).Draw(draw, "rules"):]}
	if chance("format", 4) {
		d.Format.Type = domain.FormatJSON
	}
	if chance("fallback", 3) {
		d.Fallbacks = []domain.Fallback{{Model: domain.LLMConfig{Provider: "scripted", Model: "/y"}}}
	}
	if chance("subagents", 2) {
		d.Subagents = map[string]domain.Subagent{"leaf": {Description: "Finds things.", Agent: "leaf", InheritsTools: true}}
		d.Agents = map[string]domain.Definition{
			"leaf": {SystemPrompt: "leaf", Model: d.Model, Attempts: 2, Subagents: map[string]domain.Subagent{"leaf": {Agent: "twig", InheritsTools: true}}},
			"twig": {SystemPrompt: "twig", Model: d.Model, Attempts: 2},
		}
	} else {
		p.lies = chance("the provider lies", 3)
	}
	if chance("handoffs", 4) {
		d.Handoffs = map[string]domain.Subagent{"other": {Description: "Does the rest.", Agent: "other"}}
		if d.Agents == nil {
			d.Agents = map[string]domain.Definition{}
		}
		d.Agents["other"] = domain.Definition{SystemPrompt: "other", Model: d.Model, Tools: d.Tools, Approvals: d.Approvals, Budget: d.Budget}
	}
	if chance("window", 5) {
		p.window = rapid.Int64Range(2000, 8000).Draw(draw, "window tokens")
	}
	p.price = domain.Price{Input: rapid.Int64Range(0, 2_000_000_000).Draw(draw, "input price"), Output: rapid.Int64Range(1, 9_000_000_000).Draw(draw, "output price")}
	agent, _ := domain.AgentIDOf(name)
	if name == "" {
		agent, _ = domain.AgentIDOf(unnamed)
	}
	p.input = contract.SessionInput{AgentID: agent, Name: name, Prompt: "hello", Definition: d}
	p.storage, p.records = chance("storage", 2), chance("records", 2)
	if chance("hooks", 2) {
		p.hooks = simulatedHooks(chance("a hook stops", 4), chance("a hook blocks", 3))
	}
	if (p.storage || p.records) && chance("outage", 3) {
		p.down = time.Duration(rapid.IntRange(0, 300).Draw(draw, "down")) * time.Second
		p.up = p.down + time.Duration(rapid.IntRange(1, 600).Draw(draw, "up"))*time.Minute
	}
	p.modelAttempts = rapid.SliceOfN(modelAttempts(), 0, 14).Draw(draw, "model")
	p.toolAttempts = rapid.SliceOfN(rapid.Custom(drawToolAttempt), 0, 10).Draw(draw, "tools")
	p.runs = rapid.SliceOfN(rapid.IntRange(1, 5), 0, 4).Draw(draw, "runs")
	p.acts = rapid.SliceOfN(rapid.Custom(drawAct), 0, 14).Draw(draw, "acts")
	at := time.Duration(0)
	for i := range p.acts {
		at += p.acts[i].at
		p.acts[i].at = at
	}
	return p
}

func drawLasts(t *rapid.T) time.Duration {
	return time.Duration(rapid.SampledFrom([]int{0, 1, 1000, 5000, 20_000, 90_000}).Draw(t, "lasts")) * time.Millisecond
}

func modelAttempts() *rapid.Generator[modelAttempt] {
	calls := rapid.SliceOfN(rapid.SampledFrom(simulatedCalls()), 0, 3)
	return rapid.Custom(func(t *rapid.T) modelAttempt { return drawModelAttempt(t, calls) })
}

func drawModelAttempt(t *rapid.T, calls *rapid.Generator[[]domain.ToolCall]) modelAttempt {
	return modelAttempt{
		ending: rapid.SampledFrom([]ending{
			goesWell, goesWell, goesWell, goesWell, goesWell, goesWell, goesWell, goesWell, isEmpty, isInvalid, isCut, isBilled, isRefused, isBusy, shutDown, waitsLong, dies, diesAfter,
		}).Draw(t, "what comes of it"),
		calls: calls.Draw(t, "calls"),
		lasts: drawLasts(t), input: rapid.Int64Range(0, 100).Draw(t, "input"), output: rapid.Int64Range(0, 100).Draw(t, "output"),
	}
}

func drawToolAttempt(t *rapid.T) toolAttempt {
	return toolAttempt{rapid.SampledFrom([]ending{
		goesWell, goesWell, goesWell, goesWell, goesWell, fails, notStarted, isBusy, waitsLong, stopsAgent, isUnknown, dies, diesAfter,
	}).Draw(t, "fate"), drawLasts(t)}
}

func drawAct(t *rapid.T) act {
	return act{
		at: time.Duration(rapid.SampledFrom([]int{0, 1, 700, 3000, 10_000, 60_000, 1_000_000, 40_000_000}).Draw(t, "after")) * time.Millisecond,
		what: rapid.SampledFrom([]string{
			"send", "send", "steer", "queue", "approve", "approve", "deny", "edit", "always", "answer", "resolve", "pause", "resume", "stop", "extend", "extend session",
			"rewind", "clear", "unsend", "suspend", "unsuspend", "revoke", "update", "close", "cancel", "rubbish", "rubbish",
		}).Draw(t, "act"),
		pick: rapid.IntRange(0, 3).Draw(t, "which"), n: rapid.IntRange(0, 11).Draw(t, "how"),
		again: time.Duration(rapid.SampledFrom([]int{0, 0, 1, 20, 5000}).Draw(t, "again")) * time.Second,
	}
}

func (a act) String() string { return fmt.Sprint(a.what, " ", a.pick, " ", a.n) }
