package whole_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/worker/host"
)

const (
	callsPay  = `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"pay","arguments":"{\"order\":7}"}}]}`
	callsWait = `{"tool_calls":[{"index":0,"id":"call_2","type":"function","function":{"name":"wait","arguments":"{}"}}]}`
)

// A payingSession is an agent that pays once and then does something that does not come to its end by itself.
type payingSession struct {
	*cli
	stack *stack
	id    string
	model *chatServer
	paid  atomic.Int32
	// waits is told when the tool wait is called, which works until it is cut off or let go.
	waits, goes chan struct{}
}

// pays makes a session of which the model answers, after the call that pays, as given.
func payingStage(t *testing.T, answers ...http.HandlerFunc) *payingSession {
	t.Helper()
	p := &payingSession{waits: make(chan struct{}, 1), goes: make(chan struct{})}
	p.model = serveChat(t, append([]http.HandlerFunc{streamed("tool_calls", callsPay)}, answers...)...)
	pay := tool.New("pay", "Pays.", domain.AtMostOnce, func(context.Context, order) (string, error) {
		p.paid.Add(1)
		return "receipt 4711", nil
	})
	wait := tool.New("wait", "Waits.", domain.ReadOnly, func(ctx context.Context, _ struct{}) (string, error) {
		p.waits <- struct{}{}
		select {
		case <-p.goes:
			return "waited", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	p.stack = start(t, host.Config{
		Tools: []tool.Tool{pay, wait}, Vendors: map[string]host.Access{"openai": {BaseURL: p.model.URL + "/v1", Key: "sk-canary"}},
	})
	p.cli, p.id = newCLI(t).at(p.stack), p.stack.named("c1")
	return p
}

// run begins the session's first execution with a command, and returns it as it runs.
func (p *payingSession) run(flags ...string) *process {
	p.t.Helper()
	return p.start(append([]string{"run", "--id", p.id, "--model", "openai-chat/m-1", "--tool", "pay,wait", "Pay order 7."}, flags...)...)
}

// untilWaits returns when the tool wait is at work.
func (p *payingSession) untilWaits() {
	p.t.Helper()
	select {
	case <-p.waits:
	case <-time.After(patience):
		require.FailNow(p.t, "wait is never called")
	}
}

// requireShown fails unless the newest request shows all that the session has said, each message in few words.
func (p *payingSession) requireShown(want ...string) {
	p.t.Helper()
	require.EqualValues(p.t, 1, p.paid.Load())
	requests := p.model.requests()
	var shown []string
	for _, m := range listOf(requests[len(requests)-1]["messages"]) {
		line := fmt.Sprint(m["role"])
		if text, _ := m["content"].(string); text != "" {
			line += " " + text
		}
		for _, call := range listOf(m["tool_calls"]) {
			line += fmt.Sprint(" calls ", call["function"].(map[string]any)["name"])
		}
		shown = append(shown, line)
	}
	require.Equal(p.t, append([]string{"user Pay order 7.", "assistant calls pay", "tool receipt 4711"}, want...), shown)
}

// TestTheNextMessageShowsWhatWasPaid however the execution before ended, so that no model pays again that makes a call of
// which it sees nothing.
func TestTheNextMessageShowsWhatWasPaid(t *testing.T) {
	t.Parallel()
	refusal := refused(http.StatusUnauthorized, "", `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`)
	waits, done := streamed("tool_calls", callsWait), streamed("stop", `{"content":"Done."}`)
	interrupted := "tool interrupted: the execution was stopped while wait ran; it may have taken effect"

	t.Run("it was completed", func(t *testing.T) {
		t.Parallel()
		p := payingStage(t, done, done)
		require.Equal(t, 0, p.run().wait().code)
		p.ok("send", p.id, "And now?", "--wait")
		p.requireShown("assistant Done.", "user And now?")
	})
	t.Run("it was stopped in its next call", func(t *testing.T) {
		t.Parallel()
		p := payingStage(t, waits, done)
		run := p.run()
		p.untilWaits()
		p.ok("stop", p.id, "--mode", "now")
		require.Equal(t, 3, run.wait().code)
		p.ok("send", p.id, "And now?", "--wait")
		p.requireShown("assistant calls wait", interrupted, "user And now?")
	})
	t.Run("it failed", func(t *testing.T) {
		t.Parallel()
		p := payingStage(t, refusal, done)
		require.Equal(t, 1, p.run().wait().code)
		p.ok("send", p.id, "And now?", "--wait")
		p.requireShown("user And now?")
	})
	t.Run("it came to a limit", func(t *testing.T) {
		t.Parallel()
		p := payingStage(t, done)
		require.Equal(t, 3, p.run("--max-steps", "1").wait().code)
		p.ok("send", p.id, "And now?", "--wait", "--max-steps", "5")
		p.requireShown("user And now?")
	})
	t.Run("a message was queued meanwhile", func(t *testing.T) {
		t.Parallel()
		p := payingStage(t, waits, done, done)
		run := p.run()
		p.untilWaits()
		queued := p.start("send", p.id, "--queue", "And now?", "--wait")
		require.Eventually(t, func() bool { return len(listOf(p.json("status", p.id)["waiting_messages"])) == 1 }, patience, 50*time.Millisecond)
		close(p.goes)
		require.Equal(t, 0, run.wait().code)
		require.Equal(t, 0, queued.wait().code)
		p.requireShown("assistant calls wait", "tool waited", "assistant Done.", "user And now?")
	})
	t.Run("a message was queued, and it was stopped", func(t *testing.T) {
		t.Parallel()
		p := payingStage(t, waits, done)
		run := p.run()
		p.untilWaits()
		queued := p.start("send", p.id, "--queue", "And now?", "--wait")
		require.Eventually(t, func() bool { return len(listOf(p.json("status", p.id)["waiting_messages"])) == 1 }, patience, 50*time.Millisecond)
		p.ok("stop", p.id, "--mode", "now")
		require.Equal(t, 3, run.wait().code)
		require.Equal(t, 0, queued.wait().code)
		p.requireShown("assistant calls wait", interrupted, "user And now?")
	})
	t.Run("each run of a schedule is of one session", func(t *testing.T) {
		t.Parallel()
		p := payingStage(t, done, done)
		name := p.stack.named("daily")
		p.ok("schedule", "create", name, "--cron", "@yearly", "--id", p.id, "--model", "openai-chat/m-1", "--tool", "pay", "Pay order 7.")
		t.Cleanup(func() { p.ok("schedule", "delete", name) })
		for n := range 2 {
			p.ok("schedule", "trigger", name)
			p.stack.runs(t, name, ended(n+1))
		}
		p.requireShown("assistant Done.", "user Pay order 7.")
	})
}
