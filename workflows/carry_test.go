package workflows_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// fullCarry is of an idle session, with a value in every field.
func fullCarry(t *testing.T, in contract.SessionInput) contract.Carry {
	t.Helper()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	execution := in.AgentID.Execution("run", 1)
	prior := domain.Spent{Steps: 1, Tokens: 2, Seconds: 3, CostNanoUSD: 4, ToolCalls: 5}
	state := domain.NewAgentState(in.AgentID, domain.AgentID{}, noon, in.Definition.Model)
	state, err := state.BeginExecution(execution, domain.Unlimited(), noon)
	require.NoError(t, err)
	state = state.WithCounts(domain.ExecutionCounts{ToolCalls: 6, Waited: 7, Prior: prior}, noon)
	state, err = state.WithExecutionCompleted(noon)
	require.NoError(t, err)
	encoded, err := json.Marshal(state)
	require.NoError(t, err)

	log := domain.LogAt(4, domain.DigestOf([]byte("before")))
	for i := range 3 {
		log = log.Append("", domain.UserMessage(fmt.Sprint("message ", i)), domain.DigestOf([]byte{byte(i)}))
	}
	chain, _ := log.ChainAt(4)
	fallback := domain.LLMConfig{Provider: "scripted", Model: "/y"}
	return contract.Carry{
		State: encoded, Sequence: 13, Prior: prior,
		Outcome: &contract.Outcome{AgentID: in.AgentID, ExecutionID: execution, Number: 1, Status: domain.StatusCompleted},
		Config: contract.CarriedConfig{
			Config: contract.Config{
				Agent: "billing", Constraints: contract.Constraints{Handed: []domain.Approvals{*domain.ApprovalsOf("writes")}},
				UpdateNotes: contract.UpdateNotes{Updates: []contract.ChangeNote{{By: "ben", At: noon}}},
				Resolved: &contract.Resolved{
					Definition: in.Definition, Compaction: new(domain.Compaction{}.WithDefaults()), Digest: domain.DigestOf([]byte("resolved")),
				},
			},
			Pins:    []contract.ToolPin{{Name: "look", Pin: domain.DigestOf([]byte("pin"))}},
			Changes: []contract.Change{{Number: 1, At: noon, Fields: []string{"price"}}},
			Next: &contract.Config{
				Definition: in.Definition, Asked: []string{"tools"},
				UpdateNotes: contract.UpdateNotes{Updates: []contract.ChangeNote{{By: "ann", At: noon}}},
			},
			Handoffs: 2,
		},
		Conversation: contract.CarriedConversation{
			Entries: log.Entries(), Base: 4, Chain: chain,
			Edits: domain.Edits{Cleared: 3, Hidden: 2, Summary: 4, Buffered: 3, TakenBack: []domain.Span{{From: 5, To: 6, By: 2, AfterStep: 1}}},
			From:  5, EditsBefore: domain.Edits{Cleared: 1, TakenBack: []domain.Span{{From: 1, To: 2}}},
			Inferences: 8, ShownTokens: contract.ShownTokens{Visible: 9, Traces: 10, Results: 17, ResultTokens: 18}, Window: 19, Excess: 20,
			TokenIndex: []int64{11<<5 | 1, 12<<5 | 16}, NewestRole: domain.RoleUser,
		},
		Mail: contract.CarriedMail{
			Answers: contract.Answers{}.With(string(contract.UpdateSend), "a", contract.SendReply{Number: 1}), Settings: contract.Settings{Paused: true, Suspended: &contract.Suspension{Reason: "audit"}},
			Waited: 22, SpokenSince: noon.Add(time.Minute), Reported: 23,
		},
		Records: contract.CarriedRecords{
			Ended: []contract.EndedExecution{{Number: 1, RunID: "run"}}, Moved: &contract.Move{Number: 3, After: 1, At: noon}, PositionDue: true,
		},
		Guarded: domain.Guarded{
			Cycles: domain.Cycles{Newest: []domain.Digest{domain.DigestOfTexts("calls")}, Same: []int{14}}, Fallback: 1, Primary: &fallback, Misguided: 15,
			Invalid: 16,
		},
		Bound:    []contract.Bound{{Server: "shop", ID: "1", TaskQueue: "q/mcp/1"}},
		Segments: []contract.Segment{{RunID: "run", To: 4, Digest: chain}},
		Copy:     &contract.RecordRequest{Log: domain.LogRef{Length: 4, Digest: chain}, RunID: "earlier"},
		Runs:     21,
	}
}

// TestCarryIsTakenOver: what one run hands on the next one hands on too, every
// field of it, where nothing happened in between.
func TestCarryIsTakenOver(t *testing.T) {
	t.Parallel()
	in := input(t, "named")
	in.Prompt = ""
	carry := fullCarry(t, in)
	for _, part := range []any{
		carry, carry.Config, carry.Config.Config, carry.Conversation, carry.Conversation.Edits, carry.Mail, carry.Records, carry.Guarded,
	} {
		fields := reflect.ValueOf(part)
		for i := range fields.NumField() {
			if name := fields.Type().Field(i).Name; name == "Definition" || name == "Asked" || name == "Waiting" {
				continue // they are carried by the input, of what waits, and where an execution is in progress
			}
			require.False(t, fields.Field(i).IsZero(), "fullCarry has nothing in %s.%s", fields.Type(), fields.Type().Field(i).Name)
		}
	}
	in.Carry = &carry
	env := steady(1, false).environment(t)
	env.SetContinueAsNewSuggested(true)
	execute(env, in)
	next := nextRun(t, env)
	want, is := reflect.ValueOf(carry), reflect.ValueOf(*next.Carry)
	for i := range want.NumField() {
		name := want.Type().Field(i).Name
		expected, err := json.Marshal(want.Field(i).Interface())
		require.NoError(t, err)
		if name == "Runs" {
			expected = []byte("22")
		}
		found, err := json.Marshal(is.Field(i).Interface())
		require.NoError(t, err)
		require.JSONEq(t, string(expected), string(found), name)
	}
}
