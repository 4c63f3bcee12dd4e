package testsuite_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/testsuite"
)

// shownTo writes what a model was sent, a line for each message: who speaks, what is said, and the calls.
func shownTo(messages []domain.Message) []string {
	lines := make([]string, len(messages))
	for i, m := range messages {
		text := m.Text()
		if m.ToolResult != nil {
			text = m.ToolResult.Name + " = " + m.ToolResult.Content
		}
		for _, call := range m.ToolCalls {
			text += fmt.Sprintf(" <%s %s>", call.Name, call.Arguments)
		}
		lines[i] = string(m.Role) + ": " + strings.TrimSpace(text)
	}
	return lines
}

// noting are two tools: note, whose calls may not be made twice, and wait, which takes five minutes.
func noting(reply testsuite.Reply) []tool.Tool {
	note := testsuite.NewFake(domain.ToolSpec{Name: "note", Effect: domain.AtMostOnce}, reply)
	wait := testsuite.NewFake(domain.ToolSpec{Name: "wait", Effect: domain.ReadOnly}, testsuite.After(5*time.Minute, testsuite.Returns("waited")))
	return []tool.Tool{note.Tool(), wait.Tool()}
}

func asks(text, name, argument string) testsuite.Turn {
	call := testsuite.Call{Name: name}
	if argument != "" {
		call.Arguments = map[string]string{"of": argument}
	}
	return testsuite.Turn{Text: text, Calls: []testsuite.Call{call}}
}

// TestATurnSeesAllOfTheOneBefore: whatever way the execution before ended, the model is shown its calls with their
// results, and what was cut off as that.
func TestATurnSeesAllOfTheOneBefore(t *testing.T) {
	t.Parallel()
	const goOn, asked, done = 10 * time.Hour, `assistant: <note {"of":"order-1"}>`, "tool: note = done"
	noted := asks("", "note", "order-1")
	for name, c := range map[string]struct {
		turns      []testsuite.Turn
		note       testsuite.Reply
		definition domain.Definition
		events     []testsuite.Event
		want       []string
	}{
		"it completed": {
			turns: []testsuite.Turn{asks("First a note.", "note", "order-1"), {Text: "Noted."}},
			want:  []string{`assistant: First a note. <note {"of":"order-1"}>`, "tool: note = done", "assistant: Noted."},
		},
		"it was stopped in a call": {
			turns:  []testsuite.Turn{noted, asks("", "wait", "")},
			events: []testsuite.Event{testsuite.StopAt(time.Minute, contract.StopNow)},
			want:   []string{asked, done, "assistant: <wait {}>", "tool: wait = interrupted: the execution was stopped while wait ran; it may have taken effect"},
		},
		"it was stopped between two steps": {
			turns:  []testsuite.Turn{noted, asks("", "wait", "")},
			events: []testsuite.Event{testsuite.StopAt(time.Minute, contract.AfterStep)},
			want:   []string{asked, done, "assistant: <wait {}>", "tool: wait = waited"},
		},
		"its answer was cut off by a stop, as Ctrl-C in a chat does": {
			turns:  []testsuite.Turn{noted, {Reasoning: "Which order is it?", Text: strings.Repeat("It is. ", 100), Delay: 100 * time.Second}},
			events: []testsuite.Event{testsuite.StopAt(15*time.Second, contract.StopNow)},
			want:   []string{asked, done, "assistant: " + strings.TrimSpace(strings.Repeat("It is. ", 15)) + "\n\n" + domain.CutOffNote},
		},
		"its reasoning was cut off": {
			turns:  []testsuite.Turn{{Reasoning: strings.Repeat("Which? ", 100), Text: "This.", Delay: 100 * time.Second}},
			events: []testsuite.Event{testsuite.StopAt(time.Second, contract.StopNow)},
			want:   []string{},
		},
		"it failed": {
			turns: []testsuite.Turn{noted, {Text: "never", Failures: []testsuite.Failure{{Status: 400, Message: "no"}}}},
			want:  []string{asked, done},
		},
		"it came to a limit": {
			turns:      []testsuite.Turn{noted},
			definition: domain.Definition{Budget: domain.ExecutionBudget{MaxSteps: new(int64(1))}},
			want:       []string{asked, done},
		},
		"its answer was cut by its length": {
			turns: []testsuite.Turn{{Text: "It is a very", Finish: domain.FinishLength}},
			want:  []string{"assistant: It is a very\n\n" + domain.CutOffNote},
		},
		"the filter cut its answer": {
			turns: []testsuite.Turn{{Text: "It is a very", Finish: domain.FinishContentFilter}},
			want:  []string{"assistant: It is a very\n\n" + domain.CutOffNote},
		},
		"nobody knows what became of its call": {
			turns:  []testsuite.Turn{noted, {Text: "Unknown."}},
			note:   testsuite.Unknown("the line went dead"),
			events: []testsuite.Event{testsuite.ResolveAt(2*goOn, domain.VerdictDone, "")}, // no session ends before
			want: []string{asked, "tool: note = outcome unknown: the line went dead; the call of note may or may not have taken effect, and was not repeated\n\nDo not call note again for the same: until somebody has resolved what happened, it is not run. " +
				"Find out in another way whether it was done, or tell the user that this is unknown, and that it is call CALL.", "assistant: Unknown."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply := c.note
			if reply == nil {
				reply = testsuite.Returns("done")
			}
			env := testsuite.New(t, testsuite.Config{
				Definition: c.definition, Tools: noting(reply), Turns: append(c.turns, testsuite.Turn{Text: "At the end."}),
			})
			run := env.Run("Begin.", append(c.events, testsuite.SendAt(goOn, "Go on please."))...)
			require.Len(t, run.Executions, 2)
			last := run.Asked[len(run.Asked)-1]
			shown := shownTo(last.Messages)
			for i, line := range shown {
				for _, e := range run.Executions[0].ToolExecutions() {
					shown[i] = strings.ReplaceAll(line, e.ID.String(), "CALL")
				}
			}
			require.Equal(t, append(append([]string{"user: Begin."}, c.want...), "user: Go on please."), shown)
			require.Equal(t, last.Messages, run.Shown(run.Steps[0].Step), "the step names what was sent")
		})
	}
}

// TestNoEffectIsMadeAgainNextTurn: a model that makes a call unless it sees one makes it once, though the execution
// in which it was made was stopped.
func TestNoEffectIsMadeAgainNextTurn(t *testing.T) {
	t.Parallel()
	note := testsuite.NewFake(domain.ToolSpec{Name: "note", Effect: domain.AtMostOnce}, func(context.Context, testsuite.FakeCall) (string, error) { return "done", nil })
	wait := testsuite.NewFake(domain.ToolSpec{Name: "wait", Effect: domain.ReadOnly}, testsuite.After(time.Hour, testsuite.Returns("waited")))
	env := testsuite.New(t, testsuite.Config{
		Tools: []tool.Tool{note.Tool(), wait.Tool()},
		Script: `
turns:
  - tool_calls: [{name: note, arguments: {of: order-1}}]
  - tool_calls: [{name: wait}]
  - text: 'note said {{ result "note" }}'
`,
	})
	run := env.Run("Begin.", testsuite.StopAt(time.Minute, contract.StopNow), testsuite.SendAt(10*time.Hour, "go on please"))
	require.Equal(t, "note said done", run.Answer)
	require.Len(t, note.Calls(), 1)
}
