package domain_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/testsuite/golden"
)

var update = flag.Bool("update", false, "rewrite testdata")

// A wireCase is one value that crosses a wire or is kept.
type wireCase struct {
	name   string
	value  any
	decode func(data []byte) (any, error)
}

func wire[T any](name string, value T) wireCase {
	return wireCase{name, value, func(data []byte) (any, error) { return domain.Decode[T](data) }}
}

// filled is a wireCase with something in every field.
func filled[T any](name string) wireCase {
	var value T
	fill(reflect.ValueOf(&value).Elem(), name)
	return wire(name, value)
}

// fill sets every exported field. Enums get their first value, whatever comes of it.
func fill(v reflect.Value, name string) {
	switch special := v.Addr().Interface().(type) {
	case *time.Time:
		*special = noon
		return
	case *json.RawMessage:
		*special = json.RawMessage(`{"raw":true}`)
		return
	case *uuid.UUID:
		*special = uuid.MustParse(firstRun)
		return
	case *domain.AgentState:
		*special = domain.NewAgentState(sampleAgent(), domain.AgentID{}, noon, domain.LLMConfig{})
		return
	case *domain.Event:
		*special = domain.Event{Type: domain.EventStepStarted, EventHeader: domain.EventHeader{Sequence: 2, Time: noon, Step: 1}}
		return
	case **domain.Origin:
		*special = &domain.Origin{ExecutionID: executionID(1), Step: 1}
		return
	case *domain.LongPrice:
		*special = domain.LongPrice{Above: 7, Price: domain.Price{Input: 7, Output: 7, CacheRead: new(int64(7)), CacheWrite: new(int64(7))}}
		return
	case *domain.Definition: // what follows has a sample of its own, and stands in the others with one field
		if name != "definition" {
			*special = domain.Definition{SystemPrompt: "the " + name}
			return
		}
	case *contract.Carry:
		if name != "carry" {
			*special = contract.Carry{State: json.RawMessage(`{"raw":true}`)}
			return
		}
	case *contract.Resolved:
		if name != "resolved" {
			*special = contract.Resolved{Digest: domain.DigestOf([]byte(name))}
			return
		}
	case *domain.Digest:
		*special = domain.DigestOf([]byte(name))
		return
	}
	if enum, ok := enums[v.Type().Name()]; ok {
		v.SetString(enum.listed[0])
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.IsExported() && field.Tag.Get("json") != "-" {
				fill(v.Field(i), field.Name)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		fill(item, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), item)
	case reflect.String:
		v.SetString("the " + name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(7)
	default:
		panic(fmt.Sprintf("no value for %s %s", name, v.Type()))
	}
}

// wireCases has one sample of each type that crosses a wire or outlives a deployment.
func wireCases(t testing.TB) []wireCase {
	t.Helper()
	cases := []wireCase{wire("state", standingState().WithStepsFolded(0)), wire("record", recordOf(endedState()))}
	for _, event := range filledEvents(t) {
		cases = append(cases, wire("event_"+string(event.Type), event))
	}
	resolved := filled[contract.Resolved]("resolved").value.(contract.Resolved)
	resolved.Definition = domain.Definition{} // the asker has it
	scheduled, message := filled[contract.ScheduledInput]("scheduled").value.(contract.ScheduledInput), filled[contract.SessionMessage]("message").value.(contract.SessionMessage)
	scheduled.Start, message.Request = contract.SessionInput{Prompt: "sum up"}, contract.SendRequest{Prompt: "sum up"} // they have samples of their own
	return append(cases,
		filled[domain.Definition]("definition"), filled[contract.Carry]("carry"),
		filled[contract.SessionInput]("session_input"), filled[contract.Outcome]("outcome"),
		filled[contract.ModelRequest]("model_request"), filled[contract.ModelReply]("model_reply"),
		filled[contract.Heartbeat]("heartbeat"), filled[contract.ToolRequest]("tool_request"), filled[contract.ToolReply]("tool_reply"),
		filled[contract.ResolveRequest]("resolve_request"), wire("resolved", resolved),
		filled[contract.RecordRequest]("record_request"), filled[contract.Segment]("segment"), filled[domain.Entry]("entry"),
		filled[contract.StopRequest]("stop_request"), filled[contract.ChildReport]("child_report"), filled[contract.Grant]("grant"), filled[contract.SendRequest]("send_request"), filled[contract.SendReply]("send_reply"),
		filled[contract.UnsendRequest]("unsend_request"), filled[contract.UnsendReply]("unsend_reply"),
		filled[contract.SuspendRequest]("suspend_request"), filled[contract.UnsuspendRequest]("unsuspend_request"), filled[contract.SuspendReply]("suspend_reply"),
		filled[contract.ClearRequest]("clear_request"), filled[contract.ClearReply]("clear_reply"),
		filled[contract.RewindRequest]("rewind_request"), filled[contract.RewindReply]("rewind_reply"),
		filled[contract.CloseReply]("close_reply"),
		filled[contract.MessagesRequest]("messages_request"), filled[contract.MessagesPage]("messages_page"),
		filled[contract.CloseRequest]("close_request"),
		filled[contract.HookRequest]("hook_request"), filled[contract.HookReply]("hook_reply"),
		filled[contract.OutputRequest]("output_request"), filled[contract.OutputReply]("output_reply"),
		filled[contract.AnswerRequest]("answer_request"), filled[contract.AnswerReply]("answer_reply"),
		filled[contract.Waiting]("waiting"),
		filled[contract.UpdateRequest]("update_request"), filled[contract.Change]("change"),
		filled[contract.RevokeRequest]("revoke_request"), filled[contract.RevokeReply]("revoke_reply"),
		filled[contract.ExtendRequest]("extend_request"), filled[contract.ExtendReply]("extend_reply"),
		filled[contract.ExtendSessionRequest]("extend_session_request"), filled[contract.ExtendSessionReply]("extend_session_reply"),
		filled[contract.VerifyReply]("verify_reply"), filled[contract.BindRequest]("bind_request"), filled[contract.Bound]("bound"), filled[contract.UnbindRequest]("unbind_request"), filled[contract.UnbindReply]("unbind_reply"),
		wire("scheduled_input", scheduled), filled[contract.ScheduledRun]("scheduled_run"),
		wire("session_message", message), filled[contract.SessionReply]("session_reply"),
		filled[contract.FollowRequest]("follow_request"), filled[contract.FollowReply]("follow_reply"),
		filled[contract.AwaitRequest]("await_request"), filled[contract.AwaitReply]("await_reply"),
		filled[contract.PauseRequest]("pause_request"), filled[contract.PauseReply]("pause_reply"),
	)
}

// TestWireHoldsTheContract: each type that crosses into or out of a workflow
// has a sample.
func TestWireHoldsTheContract(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range wireCases(t) {
		names[c.name] = true
	}
	for _, c := range contractConstants(t) {
		_, inner, generic := strings.Cut(strings.TrimSuffix(c.typ, "]"), "[")
		if !generic {
			continue
		}
		for typ := range strings.SplitSeq(inner, ", ") {
			require.True(t, names[snake(typ)], "%s: %s has no sample", c.name, typ)
		}
	}
}

// snake writes a Go name as the samples do.
func snake(name string) string {
	var text strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			text.WriteByte('_')
		}
		text.WriteString(strings.ToLower(string(r)))
	}
	return text.String()
}

// TestWire: each type is encoded as wire.txtar shows it, and decoded to the value that it was.
func TestWire(t *testing.T) {
	t.Parallel()
	var archive txtar.Archive
	for _, c := range wireCases(t) {
		data := []byte(encoded(t, c.value))
		again, err := c.decode(data)
		require.NoError(t, err, c.name)
		require.Equal(t, c.value, again, c.name)
		var pretty bytes.Buffer
		require.NoError(t, json.Indent(&pretty, data, "", "  "))
		pretty.WriteByte('\n')
		archive.Files = append(archive.Files, txtar.File{Name: c.name, Data: pretty.Bytes()})
	}
	golden.Compare(t, filepath.Join("testdata", "wire.txtar"), string(txtar.Format(&archive)), *update)
}

func TestListsOfAStepAreNeverNull(t *testing.T) {
	t.Parallel()
	step, err := domain.StepExecution{Step: domain.AgentStep{Number: 1}}.Kept()
	require.NoError(t, err)
	require.Contains(t, encoded(t, step), `"tool_executions":[]`)
	require.Contains(t, encoded(t, step), `"errors":[]`)
}

func TestSessionFormHoldsNoExecution(t *testing.T) {
	t.Parallel()
	for name, state := range states() {
		data, err := state.EncodeSession()
		require.NoError(t, err, name)
		require.NotContains(t, string(data), `"execution":`, name)
		session, err := domain.DecodeAgentState(data)
		require.NoError(t, err, name)
		require.Equal(t, domain.StatusPending, session.Status(), name)
		require.Equal(t, state.ExecutionCount, session.ExecutionCount, name)
		require.Equal(t, state.Context, session.Context, name)
		if state.Execution.IsZero() {
			require.Equal(t, state, session, name)
		}
	}
}
