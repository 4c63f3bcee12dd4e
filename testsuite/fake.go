package testsuite

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"everstep/activities/tool"
	"everstep/domain"
)

// A Fake is a tool that keeps what it was called with and answers as it was
// told. It is safe for concurrent use.
type Fake struct {
	spec    domain.ToolSpec
	reply   Reply
	options []tool.Option

	mu    sync.Mutex
	calls []FakeCall
}

// A FakeCall is one attempt at one call of a fake.
type FakeCall struct {
	tool.Call
	// Arguments is the exact text that the model sent, which fits the schema.
	Arguments string
}

// A Reply answers a call: with what the model reads, or with an error. It should
// end when its context does, as any tool should.
type Reply func(ctx context.Context, call FakeCall) (string, error)

// NewFake stands in for a tool. Give the spec of the real one, real.Spec(), and
// arguments are checked against its schema and crashes mean what they mean for
// it; a spec with a name alone is an at-most-once tool that takes any object.
// A nil reply answers with an empty text. Of the options tool.Verify is of use,
// with Unknown: a fake has none of the real tool's functions.
func NewFake(spec domain.ToolSpec, reply Reply, options ...tool.Option) *Fake {
	if reply == nil {
		reply = Returns("")
	}
	return &Fake{spec: spec, reply: reply, options: options}
}

// Tool is the fake as a worker takes it.
func (f *Fake) Tool() tool.Tool {
	return tool.FromSpec(f.spec, func(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
		call := FakeCall{Arguments: string(arguments)}
		call.Call, _ = tool.ExecutionOf(ctx)
		f.keep(call)
		content, err := f.reply(ctx, call)
		return tool.Result{Content: content}, err
	}, f.options...)
}

// keep puts parallel calls into call order, whichever came first.
func (f *Fake) keep(call FakeCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := len(f.calls)
	for at > 0 && f.calls[at-1].ExecutionID == call.ExecutionID && f.calls[at-1].Step == call.Step &&
		f.calls[at-1].Position > call.Position {
		at--
	}
	f.calls = slices.Insert(f.calls, at, call)
}

// Calls are the attempts so far, in call order. A call that was tried again is
// there once for each attempt.
func (f *Fake) Calls() []FakeCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Returns answers every call with a text.
func Returns(content string) Reply {
	return func(context.Context, FakeCall) (string, error) { return content, nil }
}

// Fails answers every call with an error, which the model reads. See tool.New
// for what its kind does, and tool.NotStarted.
func Fails(err error) Reply {
	return func(context.Context, FakeCall) (string, error) { return "", err }
}

// Unknown makes every call's outcome unknown, as a worker does that is lost in it: the tool may have done what it
// was asked, and nobody says. Give the tool an effect that may not be repeated, or none.
func Unknown(why string) Reply {
	return Fails(tool.OutcomeUnknown(domain.Errorf(domain.Unavailable, "%s", why)))
}

// After answers as reply does, but takes a while.
func After(delay time.Duration, reply Reply) Reply {
	return func(ctx context.Context, call FakeCall) (string, error) {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(delay):
			return reply(ctx, call)
		}
	}
}

// InTurn answers the first call with the first reply, and so on; the last one
// answers all that follow. Parallel calls of one step arrive in any order: to
// tell them apart, write a Reply that looks at the arguments.
func InTurn(replies ...Reply) Reply {
	var calls atomic.Int64
	return func(ctx context.Context, call FakeCall) (string, error) {
		if len(replies) == 0 {
			return "", nil
		}
		return replies[min(int(calls.Add(1)), len(replies))-1](ctx, call)
	}
}
