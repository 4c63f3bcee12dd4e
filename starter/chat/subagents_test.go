package chat

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
)

var (
	researcher = domain.AgentID{UUID: uuid.MustParse("3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11")}
	critic     = domain.AgentID{UUID: uuid.MustParse("770a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a13")}
	reader     = domain.AgentID{UUID: uuid.MustParse("9d0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a12")}
)

// by has events be those of a sub-agent.
func by(id domain.AgentID, name string, depth int, events ...client.Event) []client.Event {
	for i := range events {
		events[i].AgentID, events[i].Path, events[i].Number = id, append(slices.Repeat([]string{"above"}, depth-1), name), 1
	}
	return events
}

// belowEvents are a turn in which one sub-agent has ended, and another waits for a person while one below it works.
func belowEvents() []client.Event {
	call := pays(`{"to": "acme", "amount": 5}`)
	return slices.Concat(
		[]client.Event{
			{Type: domain.EventExecutionStarted}, {Type: domain.EventStepStarted, Step: 1}, {Type: domain.EventInferenceReceived, Step: 1, Text: "I have two look into it."},
			{Type: domain.EventToolCallStarted, Step: 1, Position: 0, Tool: "spawn_subagent", Arguments: `{"subagent":"researcher","prompt":"look"}`}, {Type: domain.EventSubagentSpawning, Step: 1, Position: 0, ChildID: researcher, ChildName: "researcher"},
			{Type: domain.EventToolCallStarted, Step: 1, Position: 1, Tool: "critic", Arguments: `{"prompt":"criticize"}`}, {Type: domain.EventSubagentSpawning, Step: 1, Position: 1, ChildID: critic, ChildName: "critic"},
		},
		by(researcher, "researcher", 1,
			turnBegan, stepBegan,
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Text: "I have it read,\nand pay then.", Usage: domain.Usage{InputTokens: 1200, OutputTokens: 34}},
			client.Event{Type: domain.EventToolCallStarted, Step: 1, Tool: "reader", Arguments: `{"prompt":"read"}`}, client.Event{Type: domain.EventSubagentSpawning, Step: 1, ChildID: reader, ChildName: "reader"}),
		by(reader, "reader", 2, turnBegan, stepBegan),
		by(critic, "critic", 1,
			turnBegan, stepBegan, client.Event{Type: domain.EventInferenceReceived, Step: 1, Text: "All is well."},
			client.Event{Type: client.EventEnded, Ended: &contract.Outcome{Status: domain.StatusCompleted, StopReason: domain.Completed, Steps: 1, Usage: domain.Usage{InputTokens: 90}, CostNanoUSD: 20_000}}),
		[]client.Event{{Type: domain.EventSubagentCompleted, Step: 1, Position: 1, ChildID: critic}, {Type: domain.EventToolCallCompleted, Step: 1, Position: 1, Tool: "critic"}},
		by(researcher, "researcher", 1,
			client.Event{Type: domain.EventWaitOpened, Step: 1, Position: 1, Tool: call.Tool, Arguments: call.Arguments, ToolExecutionID: call.ToolExecutionID, Wait: &call}),
	)
}

// asksBelow has the sub-agent tell what of it waits.
func (s *sitting) asksBelow() []want {
	return s.take(looked{of: researcher, view: account.Status{
		Head:      account.Head{Waits: []domain.Wait{pays(`{"to": "acme", "amount": 5}`)}},
		Execution: account.Execution{Outcome: contract.Outcome{Number: 1, Status: domain.StatusInProgress, Steps: 1, Usage: domain.Usage{InputTokens: 1234}, CostNanoUSD: 2_100_000, Priced: true}},
	}})
}

// TestSubagents: each stands under the call that has started it, its call that waits is decided here, for it and for no
// other, and is not asked about when somebody has decided.
func TestSubagents(t *testing.T) {
	t.Parallel()
	s := sit(t, 120, 40).idle()
	wants := s.hears(belowEvents()...)
	require.Contains(t, wants, wantLook{of: researcher}, "it says what it costs, and what waits")
	require.NotContains(t, s.View().Content, "y runs it")
	s.asksBelow()
	screen := s.View().Content
	require.Contains(t, screen, "sub-agent researcher 3f0a3c5e 3f9e1b2c  step 1, pay")
	require.Contains(t, screen, "? researcher 3f0a3c5e · waits for your word")
	require.Contains(t, screen, "$0.0021")
	require.Contains(t, screen, "waits for your word")
	require.NotContains(t, screen, "I have it read", "its steps are folded")
	s.keys(ctrlT)
	require.Contains(t, s.View().Content, "step 1 · 1,234 tokens · I have it read, and pay then.")
	s.keys(ctrlT)

	call := pays(`{"to": "acme", "amount": 5}`)
	word := client.Word{Call: call.ToolExecutionID, Digest: call.Digest, Verdict: domain.Approved, By: "ann"}
	require.Equal(t, []want{wantAnswer{word: word, of: researcher.String()}}, s.after(time.Minute).says("y"))
	s.take(replied{want: wantAnswer{word: word, of: researcher.String()}})
	s.hears(by(researcher, "researcher", 1, client.Event{Type: domain.EventWaitClosed, Step: 1, Position: 1, Tool: "pay", ToolExecutionID: call.ToolExecutionID, Wait: &domain.Wait{Kind: domain.WaitApproval, Answer: &domain.Answer{Verdict: domain.Approved}}})...)
	require.NotContains(t, s.View().Content, "y runs it")
	require.Zero(t, s.open())

	s.hears(client.Event{Type: domain.EventSubagentCompleted, Step: 1, ChildID: researcher, Error: domain.Errorf(domain.Unavailable, "it was terminated from outside")}, client.Event{Type: domain.EventToolCallCompleted, Step: 1, Tool: "spawn_subagent", Error: domain.Errorf(domain.Unavailable, "it was terminated from outside")})
	require.Contains(t, s.View().Content, "researcher 3f0a3c5e · it was terminated from outside", "it tells no end itself")
	s.take(looked{of: researcher, view: account.Status{
		Head:      account.Head{Waits: []domain.Wait{call}},
		Execution: account.Execution{Outcome: contract.Outcome{Number: 1, Status: domain.StatusInProgress}},
	}})
	require.Zero(t, s.open(), "what comes late is of one that is over")
}

// TestSubagentsOfThePast: those of turns that are read back are asked for, and stand under the calls that started them.
func TestSubagentsOfThePast(t *testing.T) {
	t.Parallel()
	execution := domain.ExecutionID{UUID: uuid.New()}
	tag := domain.Tag{ExecutionID: execution, StepID: execution.Step(1)}
	said := domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "a", Name: "list_files"}, {ID: "b", Name: "critic", Arguments: `{"prompt":"look"}`}}}
	result := func(call, text string) domain.Entry {
		return domain.Entry{Message: tag.Apply(domain.Message{Role: domain.RoleTool, ToolResult: &domain.ToolResult{CallID: call, Content: text}})}
	}
	entries := []domain.Entry{userEntry("go", execution), {Message: tag.Apply(said)}, result("a", "{}"), result("b", `{"status":"completed","stop_reason":"completed","answer":"fine"}`)}
	s := sit(t, 80, 24).idle()
	require.Empty(t, s.take(recalled{entries: entries[:3]}), "no sub-agent is among them")
	s = sit(t, 80, 24).idle()
	require.Empty(t, s.take(recalled{entries: entries, live: execution}), "its events tell of them")
	s = sit(t, 80, 24).idle()
	require.Equal(t, []want{wantTell{[]domain.ExecutionID{execution}}}, s.take(recalled{entries: entries}))
	var events []pastEvent
	for _, e := range slices.Concat(
		[]client.Event{{Type: domain.EventToolCallStarted, Number: 1, Step: 1, Position: 1, Tool: "critic"}, {Type: domain.EventSubagentSpawning, Number: 1, Step: 1, Position: 1, ChildID: critic, ChildName: "critic"}},
		by(critic, "critic", 1, turnBegan, client.Event{Type: domain.EventInferenceReceived, Step: 1, Text: "It is fine."},
			client.Event{Type: client.EventEnded, Ended: &contract.Outcome{Status: domain.StatusCompleted, Steps: 1, Usage: domain.Usage{InputTokens: 70}}}),
		[]client.Event{{Type: domain.EventSubagentCompleted, Number: 1, Step: 1, Position: 1, ChildID: critic}, {Type: domain.EventToolCallCompleted, Number: 1, Step: 1, Position: 1, Tool: "critic"}},
	) {
		events = append(events, pastEvent{execution, e})
	}
	require.Empty(t, s.take(retold{events}), "what is over is asked nothing")
	lines := strings.Split(s.View().Content, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "✓ critic") })
	require.Contains(t, lines[at+1], "↳ critic 770a3c5e · completed · 1 step · 70 tokens")
	s.keys(ctrlT)
	require.Contains(t, s.View().Content, "step 1 · It is fine.")
}
