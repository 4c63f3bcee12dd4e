package host

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/worker/host/codec"
)

// long is a text that the codec would compress.
func long() string { return strings.Repeat("long ", codec.Threshold) }

// sent is the end of the chain on the client's side: it keeps what it is given.
type sent struct {
	interceptor.ClientOutboundInterceptorBase
	args []any
}

func (s *sent) QueryWorkflow(_ context.Context, in *interceptor.ClientQueryWorkflowInput) (converter.EncodedValue, error) {
	s.args = in.Args
	return nil, nil
}

func (s *sent) SignalWorkflow(_ context.Context, in *interceptor.ClientSignalWorkflowInput) error {
	s.args = []any{in.Arg}
	return nil
}

func (s *sent) UpdateWorkflow(_ context.Context, in *interceptor.ClientUpdateWorkflowInput) (client.WorkflowUpdateHandle, error) {
	s.args = in.Args
	return nil, nil
}

func TestClientsSendPlain(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(ctx context.Context, c interceptor.ClientOutboundInterceptor, args []any) error{
		"query": func(ctx context.Context, c interceptor.ClientOutboundInterceptor, args []any) error {
			_, err := c.QueryWorkflow(ctx, &interceptor.ClientQueryWorkflowInput{Args: args})
			return err
		},
		"signal": func(ctx context.Context, c interceptor.ClientOutboundInterceptor, args []any) error {
			return c.SignalWorkflow(ctx, &interceptor.ClientSignalWorkflowInput{Arg: args[0]})
		},
		"update": func(ctx context.Context, c interceptor.ClientOutboundInterceptor, args []any) error {
			_, err := c.UpdateWorkflow(ctx, &interceptor.ClientUpdateWorkflowInput{Args: args})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compress := codec.New()
			end := &sent{}
			args := []any{long()}
			require.NoError(t, send(t.Context(), (&plain{}).InterceptClient(end), args))
			require.Equal(t, []any{long()}, args, "the caller's arguments stay as they were")
			payloads, err := compress.DataConverter().ToPayloads(end.args...)
			require.NoError(t, err)
			var text string
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(payloads, &text), "readable without the codec")
			require.Equal(t, long(), text)

			require.Error(t, send(t.Context(), (&plain{}).InterceptClient(end), []any{func() {}}))
		})
	}
}

// encodeOnly is a codec whose other side has none.
type encodeOnly struct{ *codec.Codec }

func (encodeOnly) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return payloads, nil
}

// replying is an environment with a workflow, answering, whose workers compress and whose clients do not.
func replying(compress *codec.Codec, run func(workflow.Context) error) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetDataConverter(converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), encodeOnly{compress}))
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 2 * time.Minute, Interceptors: []interceptor.WorkerInterceptor{&plain{}}})
	env.SetTestTimeout(2 * time.Minute)
	env.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: "answering"})
	return env
}

func TestWorkflowsAnswerPlain(t *testing.T) {
	t.Parallel()
	compress := codec.New()
	env := replying(compress, func(ctx workflow.Context) error {
		echo := func(text string) (string, error) { return text, nil }
		if err := workflow.SetQueryHandler(ctx, "ask", echo); err != nil {
			return err
		}
		return workflow.SetUpdateHandler(ctx, "change", func(_ workflow.Context, text string) (string, error) { return text, nil })
	})
	change, err := codec.Plain(long())
	require.NoError(t, err)
	var answer any
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow("change", "id", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { require.NoError(t, err) },
			OnComplete: func(result any, err error) {
				require.NoError(t, err)
				answer = result
			},
		}, change)
	}, 0)
	env.ExecuteWorkflow("answering")
	require.NoError(t, env.GetWorkflowError())

	payloads, err := compress.DataConverter().ToPayloads(answer)
	require.NoError(t, err)
	var text string
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(payloads, &text))
	require.Equal(t, long(), text)

	ask, err := codec.Plain(long())
	require.NoError(t, err)
	value, err := env.QueryWorkflow("ask", ask)
	require.NoError(t, err)
	require.NoError(t, value.Get(&text))
	require.Equal(t, long(), text)
}

// TestLargePagesAreCompressed where the asker can read that, and reach the server then whatever they say.
func TestLargePagesAreCompressed(t *testing.T) {
	t.Parallel()
	noise := make([]byte, domain.MaxLargePage)
	chance := rand.NewChaCha8([32]byte{})
	_, _ = chance.Read(noise)
	for i, b := range noise {
		noise[i] = ' ' + b%95
	}
	env := replying(codec.New(), func(ctx workflow.Context) error {
		return workflow.SetQueryHandler(ctx, "ask", func(account.Request) (string, error) { return string(noise), nil })
	})
	env.ExecuteWorkflow("answering")
	require.NoError(t, env.GetWorkflowError())
	var answer string
	value, err := env.QueryWorkflow("ask", account.Request{})
	require.NoError(t, err)
	require.NoError(t, value.Get(&answer))
	require.Equal(t, string(noise), answer)
	value, err = env.QueryWorkflow("ask", account.Request{LargePage: contract.LargePage{Large: true}})
	require.NoError(t, err)
	var compressed converter.RawValue
	require.NoError(t, value.Get(&compressed))
	require.Equal(t, codec.Encoding, string(compressed.Payload().GetMetadata()[converter.MetadataEncoding]))
	require.Less(t, compressed.Payload().Size(), 4<<20, "what a message may take")
}
