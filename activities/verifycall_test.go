package activities_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

type paid struct {
	Order int `json:"order"`
}

func pays(verify func(context.Context, paid) (tool.Finding, error)) tool.Tool {
	return tool.New("pay", "", domain.AtMostOnce, func(context.Context, paid) (string, error) { return "", nil }, tool.Verify(verify))
}

func TestVerifyCall(t *testing.T) {
	t.Parallel()
	var seen tool.Call
	b := benchOf(pays(func(ctx context.Context, args paid) (tool.Finding, error) {
		seen, _ = tool.ExecutionOf(ctx)
		require.Equal(t, 7, args.Order)
		return tool.Happened(strings.Repeat("r", domain.MaxToolResult+1), strings.Repeat("h", domain.MaxReason+1)), nil
	}))
	b.attempt = 3
	in := request("pay", domain.AtMostOnce)
	in.Arguments, in.EffectKey = `{"order":7}`, domain.DigestOf([]byte("order 7"))
	reply, err := on(t, b, contract.VerifyCall, in)
	require.NoError(t, err)
	require.Equal(t, domain.VerdictDone, reply.Verdict)
	require.Contains(t, reply.Result, "of 65537 bytes left out")
	require.LessOrEqual(t, len(reply.Reason), domain.MaxReason)
	require.Equal(t, tool.Call{ID: in.ID(), Key: in.EffectKey.String(), ExecutionID: in.ExecutionID, Step: 3, Position: 2, Attempt: 3}, seen)
}

// TestVerifyCallFails so that it is tried again, unless that makes no sense.
func TestVerifyCallFails(t *testing.T) {
	t.Parallel()
	failing := func(err error) func(context.Context, paid) (tool.Finding, error) {
		return func(context.Context, paid) (tool.Finding, error) { return tool.Finding{}, err }
	}
	for name, test := range map[string]struct {
		verify func(context.Context, paid) (tool.Finding, error)
		says   string
		final  bool
		after  time.Duration
	}{
		"plainly":          {failing(errors.New("no line")), "no line", false, 0},
		"for some time":    {failing(tool.RetryLater(errors.New("closed"), time.Minute)), "closed", false, time.Minute},
		"whatever is done": {failing(tool.GiveUp(errors.New("no access"))), "no access", true, 0},
		"denied":           {failing(domain.Deniedf("no access")), "no access", true, 0},
		"by breaking down": {func(context.Context, paid) (tool.Finding, error) { panic("oops") }, "panicked", true, 0},
		"by taking long": {func(ctx context.Context, _ paid) (tool.Finding, error) {
			<-ctx.Done()
			return tool.Finding{}, ctx.Err()
		}, "took longer than it may", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := benchOf(pays(test.verify))
			b.limit = 50 * time.Millisecond
			in := request("pay", domain.AtMostOnce)
			in.Arguments = `{"order":7}`
			_, err := on(t, b, contract.VerifyCall, in)
			app, _ := failureOf(t, err)
			require.Contains(t, app.Message(), test.says)
			require.Equal(t, test.final, app.NonRetryable())
			require.Equal(t, test.after, app.NextRetryDelay())
		})
	}
	_, err := on(t, benchOf(), contract.VerifyCall, request("pay", domain.AtMostOnce))
	app, _ := failureOf(t, err)
	require.False(t, app.NonRetryable(), "another worker may have the tool")
}
