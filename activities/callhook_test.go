package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// callHook runs a hook of the trigger through the activity.
func (b *bench) callHook(t *testing.T, h hook.Hook, request contract.HookRequest) (contract.HookReply, error) {
	t.Helper()
	set, err := hook.NewSet(h)
	require.NoError(t, err)
	b.config.Hooks = set
	if request.Hook.Name == "" {
		request.Hook = h.Spec()
	}
	return on(t, b, contract.CallHook, request)
}

// hookFailed reads the failure of a hook.
func hookFailed(t *testing.T, err error) (own domain.Error, retryable bool) {
	t.Helper()
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok, "%v", err)
	require.NoError(t, app.Details(&own))
	require.Equal(t, domain.CodeHookFailed, own.Code)
	require.Equal(t, string(own.Kind), app.Type())
	return own, !app.NonRetryable()
}

// failedHook is the failure of a hook that has to fail.
func (b *bench) failedHook(t *testing.T, h hook.Hook) (own domain.Error, retryable bool) {
	t.Helper()
	_, err := b.callHook(t, h, contract.HookRequest{})
	return hookFailed(t, err)
}

func TestCallHook(t *testing.T) {
	t.Parallel()
	b := benchOf()
	beats := make(chan contract.Heartbeat, 100)
	b.beats = func(beat contract.Heartbeat) { beats <- beat }
	b.attempt = 2
	agentID, err := domain.AgentIDOf("a")
	require.NoError(t, err)
	execution := agentID.Execution("run", 1)
	var asked contract.HookRequest
	h := hook.IO(domain.TriggerBeforeToolUse, "gate", func(ctx context.Context, request contract.HookRequest) (contract.HookReply, error) {
		asked = request
		require.Equal(t, contract.Place{WorkflowID: agent, ExecutionID: execution, Step: 3}, contract.PlaceOf(ctx))
		require.NoError(t, ctx.Err())
		require.Equal(t, contract.Heartbeat{ExecutionID: execution, Step: 3, Phase: contract.PhaseRunning, Attempt: 2}, <-beats)
		return contract.HookReply{
			Call: &domain.ToolCall{Name: "read", Arguments: "{}"}, Stops: []domain.StopSignal{{Message: "enough"}},
			Say: []domain.Message{{Parts: []domain.Part{{Type: domain.PartText, Text: "careful"}}}}, Note: domain.Metadata{"k": json.RawMessage("1")},
		}, nil
	})
	reply, err := b.callHook(t, h, contract.HookRequest{ExecutionID: execution, Step: 3, Call: &domain.ToolCall{ID: "c1", Name: "write"}})
	require.NoError(t, err)
	require.Equal(t, "write", asked.Call.Name)
	require.Equal(t, domain.ToolCall{Name: "read", Arguments: "{}"}, *reply.Call)
	require.Equal(t, domain.StopRequested, reply.Stops[0].Reason, "the reason that a hook has unless it names one")
	require.Equal(t, domain.RoleUser, reply.Say[0].Role)
	require.JSONEq(t, "1", string(reply.Note["k"]))
}

// TestCallHookHidesInWhatIsSaid: a signature is of the text that held the secret.
func TestCallHookHidesInWhatIsSaid(t *testing.T) {
	t.Parallel()
	b := benchOf()
	b.config.Secrets = oneSecret{}
	said := []domain.Message{{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartReasoning, Text: canary, Signature: "signed", Opaque: []byte(`{}`)}}}}
	h := hook.IO(domain.TriggerBeforeToolUse, "gate", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{Say: said, Aside: map[string][]domain.Message{"notes": said}}, nil
	})
	reply, err := b.callHook(t, h, contract.HookRequest{Step: 3, Call: &domain.ToolCall{ID: "c1", Name: "write"}})
	require.NoError(t, err)
	for _, m := range []domain.Message{reply.Say[0], reply.Aside["notes"][0]} {
		require.Equal(t, []domain.Part{{Type: domain.PartReasoning, Text: "[hidden]"}}, m.Parts)
	}
}

func TestCallHookFails(t *testing.T) {
	t.Parallel()
	with := func(err error) func() (contract.HookReply, error) {
		return func() (contract.HookReply, error) {
			return contract.HookReply{Block: "nonsense beside an error does not matter"}, err
		}
	}
	for _, test := range []struct {
		name  string
		run   func() (contract.HookReply, error)
		kind  domain.Kind
		retry bool
		says  string
	}{
		{"a plain error", with(errors.New("the ledger is closed")), domain.Invalid, false, "the ledger is closed"},
		{"one that passes", with(domain.Errorf(domain.Unavailable, "the ledger is away")), domain.Unavailable, true, "the ledger is away"},
		{"wrapped", with(fmt.Errorf("book: %w", domain.Errorf(domain.Throttled, "too fast"))), domain.Throttled, true, "too fast"},
		{"for good", with(domain.CodedErrorf(domain.Denied, domain.CodeAuth, "no right")), domain.Denied, false, "no right"},
		{"of its own context", with(context.Canceled), domain.Invalid, false, "context canceled"},
		{"an essay", with(errors.New(strings.Repeat("x", 100_000))), domain.Invalid, false, "xxx"},
		{"a reply that makes no sense", func() (contract.HookReply, error) { return contract.HookReply{Block: "no"}, nil }, domain.Invalid, false, "block: is set at before_step"},
		{"a panic", func() (contract.HookReply, error) { panic("a secret of the stack") }, domain.Internal, false, "panicked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := hook.IO(domain.TriggerBeforeStep, "ledger", func(context.Context, contract.HookRequest) (contract.HookReply, error) { return test.run() })
			own, retryable := benchOf().failedHook(t, h)
			require.Equal(t, test.kind, own.Kind)
			require.Equal(t, test.retry, retryable)
			require.Equal(t, "ledger", own.Source)
			require.Contains(t, own.Message, test.says)
			require.NotContains(t, own.Message, "secret")
			require.LessOrEqual(t, len(own.Message), domain.MaxReason)
		})
	}
	h := hook.IO(domain.TriggerBeforeStep, "ledger", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{}, nil
	})
	other := h.Spec()
	other.Name = "legder"
	_, err := benchOf().callHook(t, h, contract.HookRequest{Hook: other})
	own, retryable := hookFailed(t, err)
	require.False(t, retryable)
	require.Contains(t, own.Message, "this worker has none of that name")
}

// TestCallHookCutOff has hooks that heed their context and hooks that don't.
func TestCallHookCutOff(t *testing.T) {
	t.Parallel()
	for _, heeds := range []bool{true, false} {
		wait := func(ctx context.Context, _ contract.HookRequest) (contract.HookReply, error) {
			if heeds {
				<-ctx.Done()
				return contract.HookReply{}, ctx.Err()
			}
			select {}
		}
		t.Run(fmt.Sprintf("time, heeds %t", heeds), func(t *testing.T) {
			t.Parallel()
			h := hook.IO(domain.TriggerBeforeStep, "slow", wait)
			h.Timeout = 20 * time.Millisecond
			own, retryable := benchOf().failedHook(t, h)
			require.True(t, retryable, "as it is where the server's time-out comes first")
			require.Contains(t, own.Message, "took longer than it may, 20ms")
		})
		t.Run(fmt.Sprintf("worker stops, heeds %t", heeds), func(t *testing.T) {
			t.Parallel()
			b := benchOf()
			close(b.stop)
			h := hook.IO(domain.TriggerBeforeStep, "slow", wait)
			h.Attempts = 2
			own, retryable := b.failedHook(t, h)
			require.False(t, own.Lacking, "the server asks again, as often as it may")
			h.Attempts = 0
			once, _ := b.failedHook(t, h)
			require.True(t, once.Lacking, "the workflow asks another worker")
			require.True(t, retryable)
			require.Contains(t, own.Message, "worker stopped")
		})
		t.Run(fmt.Sprintf("cancelled, heeds %t", heeds), func(t *testing.T) {
			t.Parallel()
			parent, cancel := context.WithCancelCause(context.Background())
			b := benchOf()
			b.parent = parent
			h := hook.IO(domain.TriggerBeforeStep, "slow", func(ctx context.Context, r contract.HookRequest) (contract.HookReply, error) {
				cancel(temporal.NewCanceledError())
				return wait(ctx, r)
			})
			_, err := b.callHook(t, h, contract.HookRequest{})
			require.True(t, temporal.IsCanceledError(err), "%v", err)
		})
	}
}
