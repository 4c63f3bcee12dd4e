package domain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// fuzzState checks the strict law of the types that a saved state is made of:
// what decodes at all encodes, and decodes to an equal value.
func fuzzState[T any](f *testing.F, prefix string) {
	f.Helper()
	seed(f, prefix)
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := domain.Decode[T](data)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		first, err := json.Marshal(value)
		require.NoError(t, err)
		again, err := domain.Decode[T](first)
		require.NoError(t, err, "%s", first)
		require.Equal(t, value, again)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}

// fuzzPlain checks the law of plain structs, whose raw JSON and time zones stay
// as they came: once written they are written the same ever after. A value
// that lacks an enum cannot be read again, and says so.
func fuzzPlain[T any](f *testing.F, prefix string) {
	f.Helper()
	seed(f, prefix)
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := domain.Decode[T](data)
		if err != nil {
			return
		}
		first, err := json.Marshal(value)
		require.NoError(t, err)
		again, err := domain.Decode[T](first)
		if err != nil && strings.Contains(err.Error(), `"" is none of`) {
			return
		}
		require.NoError(t, err, "%s", first)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		last, err := domain.Decode[T](second)
		require.NoError(t, err)
		require.Equal(t, again, last)
	})
}

// seed adds the samples whose name begins with a prefix, and JSON that is wrong
// in the usual ways.
func seed(f *testing.F, prefix string) {
	f.Helper()
	found := 0
	for _, c := range wireCases(f) {
		if strings.HasPrefix(c.name, prefix) {
			f.Add([]byte(encoded(f, c.value)))
			found++
		}
	}
	require.Positive(f, found, prefix)
	for _, data := range []string{`{}`, `null`, `[]`, `{"number":1}`, `{"schema_version":1}`, `{"a`, ``, `{"STATUS":"failed","status":"x"}`} {
		f.Add([]byte(data))
	}
}

func FuzzAgentState(f *testing.F)     { fuzzState[domain.AgentState](f, "state_") }
func FuzzExecutionState(f *testing.F) { fuzzState[domain.ExecutionState](f, "execution_") }
func FuzzAgentStep(f *testing.F)      { fuzzState[domain.AgentStep](f, "step") }
func FuzzStepExecution(f *testing.F)  { fuzzState[domain.StepExecution](f, "step_execution") }
func FuzzMessageStore(f *testing.F)   { fuzzState[domain.MessageStore](f, "message_store") }
func FuzzAgentContext(f *testing.F)   { fuzzState[domain.AgentContext](f, "context") }

func FuzzToolExecution(f *testing.F)   { fuzzPlain[domain.ToolExecution](f, "tool_execution") }
func FuzzExecutionBudget(f *testing.F) { fuzzPlain[domain.ExecutionBudget](f, "budget") }
func FuzzContinuation(f *testing.F)    { fuzzPlain[domain.Continuation](f, "continuation") }
func FuzzExecutionRecord(f *testing.F) { fuzzPlain[domain.ExecutionRecord](f, "record") }
func FuzzMessage(f *testing.F)         { fuzzPlain[domain.Message](f, "message") }
func FuzzEntry(f *testing.F)           { fuzzPlain[domain.Entry](f, "entry") }
func FuzzError(f *testing.F)           { fuzzPlain[domain.Error](f, "error") }
func FuzzSessionInput(f *testing.F)    { fuzzPlain[contract.SessionInput](f, "session_input") }
func FuzzOutcome(f *testing.F)         { fuzzPlain[contract.Outcome](f, "outcome") }
func FuzzModelRequest(f *testing.F)    { fuzzPlain[contract.ModelRequest](f, "model_request") }
func FuzzModelReply(f *testing.F)      { fuzzPlain[contract.ModelReply](f, "model_reply") }
func FuzzToolRequest(f *testing.F)     { fuzzPlain[contract.ToolRequest](f, "tool_request") }
func FuzzToolReply(f *testing.F)       { fuzzPlain[contract.ToolReply](f, "tool_reply") }
func FuzzBindRequest(f *testing.F)     { fuzzPlain[contract.BindRequest](f, "bind_request") }
func FuzzBound(f *testing.F)           { fuzzPlain[contract.Bound](f, "bound") }
func FuzzUnbindRequest(f *testing.F)   { fuzzPlain[contract.UnbindRequest](f, "unbind_request") }
func FuzzVerifyReply(f *testing.F)     { fuzzPlain[contract.VerifyReply](f, "verify_reply") }
func FuzzCatalog(f *testing.F)         { fuzzPlain[contract.Catalog](f, "catalog") }
func FuzzHeartbeat(f *testing.F)       { fuzzPlain[contract.Heartbeat](f, "heartbeat") }
func FuzzStopRequest(f *testing.F)     { fuzzPlain[contract.StopRequest](f, "stop_request") }
func FuzzSendRequest(f *testing.F)     { fuzzPlain[contract.SendRequest](f, "send_request") }
func FuzzStatusView(f *testing.F)      { fuzzPlain[contract.StatusView](f, "status_view") }
func FuzzStepsPage(f *testing.F)       { fuzzPlain[contract.StepsPage](f, "steps_page") }
func FuzzRecordedEvent(f *testing.F)   { fuzzPlain[domain.RecordedEvent](f, "event_") }
func FuzzEventsPage(f *testing.F)      { fuzzPlain[contract.EventsPage](f, "events_page") }
func FuzzHookRequest(f *testing.F)     { fuzzPlain[contract.HookRequest](f, "hook_request") }
func FuzzHookReply(f *testing.F)       { fuzzPlain[contract.HookReply](f, "hook_reply") }
func FuzzApproveRequest(f *testing.F)  { fuzzPlain[contract.ApproveRequest](f, "approve_request") }
func FuzzEditRequest(f *testing.F)     { fuzzPlain[contract.EditRequest](f, "edit_request") }
func FuzzDenyRequest(f *testing.F)     { fuzzPlain[contract.DenyRequest](f, "deny_request") }
func FuzzDecisionReply(f *testing.F)   { fuzzPlain[contract.DecisionReply](f, "decision_reply") }
func FuzzAnswerRequest(f *testing.F)   { fuzzPlain[contract.AnswerRequest](f, "answer_request") }
func FuzzAnswerReply(f *testing.F)     { fuzzPlain[contract.AnswerReply](f, "answer_reply") }
func FuzzRedefineRequest(f *testing.F) { fuzzPlain[contract.RedefineRequest](f, "redefine_request") }
func FuzzRedefineReply(f *testing.F)   { fuzzPlain[contract.RedefineReply](f, "redefine_reply") }
func FuzzRevokeRequest(f *testing.F)   { fuzzPlain[contract.RevokeRequest](f, "revoke_request") }
func FuzzRevokeReply(f *testing.F)     { fuzzPlain[contract.RevokeReply](f, "revoke_reply") }
func FuzzWaiting(f *testing.F)         { fuzzPlain[contract.Waiting](f, "waiting") }
func FuzzExtendRequest(f *testing.F)   { fuzzPlain[contract.ExtendRequest](f, "extend_request") }
func FuzzExtendSessionRequest(f *testing.F) {
	fuzzPlain[contract.ExtendSessionRequest](f, "extend_session_request")
}
func FuzzMessagesPage(f *testing.F)   { fuzzPlain[contract.MessagesPage](f, "messages_page") }
func FuzzScheduledInput(f *testing.F) { fuzzPlain[contract.ScheduledInput](f, "scheduled_input") }
func FuzzScheduledRun(f *testing.F)   { fuzzPlain[contract.ScheduledRun](f, "scheduled_run") }
func FuzzSessionMessage(f *testing.F) { fuzzPlain[contract.SessionMessage](f, "session_message") }
func FuzzSessionReply(f *testing.F)   { fuzzPlain[contract.SessionReply](f, "session_reply") }
func FuzzFollowRequest(f *testing.F)  { fuzzPlain[contract.FollowRequest](f, "follow_request") }
func FuzzFollowReply(f *testing.F)    { fuzzPlain[contract.FollowReply](f, "follow_reply") }
