package whole_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/proxy"
	"google.golang.org/protobuf/proto"

	"everstep/activities/anthropic"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/starter/client"
	"everstep/worker/host"
	"everstep/worker/host/codec"
)

// A pacedServer plays an API of models as slowly as the test wants: each request
// gets what the test says, when it says it.
type pacedServer struct {
	*httptest.Server
	requests chan *pacedAnswer
}

// A pacedAnswer is the answer to one request.
type pacedAnswer struct {
	t    testing.TB
	body string
	say  chan string
	// gone is closed when the other side has hung up, or all is said.
	gone chan struct{}
}

func servePaced(t testing.TB) *pacedServer {
	t.Helper()
	s := &pacedServer{requests: make(chan *pacedAnswer)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a := &pacedAnswer{t: t, body: string(body), say: make(chan string), gone: make(chan struct{})}
		defer close(a.gone)
		w.Header().Set("Content-Type", "text/event-stream")
		select {
		case s.requests <- a:
		case <-r.Context().Done():
			return
		}
		for {
			select {
			case text, more := <-a.say:
				if !more {
					return
				}
				_, _ = io.WriteString(w, text)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// next waits for a request.
func (s *pacedServer) next(t testing.TB) *pacedAnswer {
	t.Helper()
	select {
	case a := <-s.requests:
		return a
	case <-time.After(patience):
		t.Fatal("no request came")
		return nil
	}
}

// raw says something as it is.
func (a *pacedAnswer) raw(text string) {
	a.t.Helper()
	select {
	case a.say <- text:
	case <-a.gone:
		a.t.Fatal("the request has ended before all was said")
	}
}

// chunk says a piece of a chat completion.
func (a *pacedAnswer) chunk(delta, finish string) {
	a.t.Helper()
	a.raw(fmt.Sprintf("data: {\"id\":\"c1\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish))
}

func (a *pacedAnswer) text(text string) {
	a.t.Helper()
	a.chunk(fmt.Sprintf(`{"content":%q}`, text), "null")
}

func (a *pacedAnswer) thinks(text string) {
	a.t.Helper()
	a.chunk(fmt.Sprintf(`{"reasoning_content":%q}`, text), "null")
}

// done ends the answer as a whole one.
func (a *pacedAnswer) done(finish string) {
	a.t.Helper()
	a.chunk("{}", fmt.Sprintf("%q", finish))
	a.raw("data: [DONE]\n\n")
	close(a.say)
}

// cut ends the answer in its middle.
func (a *pacedAnswer) cut() { close(a.say) }

// pacedStack is a stack with one provider, which a paced server plays.
func pacedStack(t *testing.T, config host.Config, provider func(wire.Config) (inference.Provider, error)) (*stack, *pacedServer) {
	t.Helper()
	server := servePaced(t)
	p, err := provider(wire.Config{BaseURL: server.URL + "/v1", Key: wire.FixedKey("sk-canary")})
	require.NoError(t, err)
	config.Providers = map[string]inference.Provider{"paced": p}
	return start(t, config), server
}

func pacedChat(c wire.Config) (inference.Provider, error) {
	return wire.New(openaichat.Dialects()[0].API(), c)
}

func pacedMessages(c wire.Config) (inference.Provider, error) {
	return wire.New(anthropic.API(), c)
}

func (s *stack) beginPaced(t *testing.T, definition domain.Definition) client.Execution {
	t.Helper()
	definition.Model.Provider, definition.Model.Model = "paced", "m-1"
	begun, err := s.agents.Start(within(t), client.Start{ID: s.named("live"), Prompt: "go", Definition: definition})
	require.NoError(t, err)
	return begun
}

// A follower follows an execution in the background.
type follower struct {
	t      *testing.T
	events chan client.Event
	// seen are the events that were waited for.
	seen []client.Event
}

func (s *stack) follows(t *testing.T, id string) *follower {
	t.Helper()
	f := &follower{t: t, events: make(chan client.Event, 10_000)}
	ctx := within(t)
	go func() {
		defer close(f.events)
		for event, err := range s.agents.Follow(ctx, id, client.FollowOptions{}) {
			if err != nil {
				return
			}
			f.events <- event
		}
	}()
	return f
}

// until waits for an event of a type and, where it is live, until all of a text
// has come. It returns the event.
func (f *follower) until(kind domain.EventType, attempt int, text string) client.Event {
	f.t.Helper()
	got := ""
	for event := range f.events {
		f.seen = append(f.seen, event)
		if event.Type != kind || event.Attempt != attempt {
			continue
		}
		if got += event.Text; text == "" || strings.Contains(got, text) {
			return event
		}
	}
	require.FailNow(f.t, "it ended before", "%s %d %q: %+v", kind, attempt, text, f.seen)
	return client.Event{}
}

// rest waits for the end and returns all events.
func (f *follower) rest() []client.Event {
	for event := range f.events {
		f.seen = append(f.seen, event)
	}
	return f.seen
}

// historyText is all that the server keeps of a workflow, decoded.
func (s *stack) historyText(t *testing.T, of client.Execution) string {
	t.Helper()
	compress := codec.New()
	var text bytes.Buffer
	open := proxy.VisitPayloadsOptions{Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
		decoded, err := compress.Decode(payloads)
		for _, p := range decoded {
			text.Write(p.GetData())
			text.WriteByte('\n')
		}
		return payloads, err
	}}
	events := s.temporal.GetWorkflowHistory(within(t), of.WorkflowID, of.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		require.NoError(t, proxy.VisitPayloads(within(t), proto.Clone(event), open))
		fmt.Fprintln(&text, event)
	}
	return text.String()
}

// beat waits for a heartbeat of the pending inference that counts so many bytes.
func (s *stack) beat(t *testing.T, of client.Execution, length int) contract.Heartbeat {
	t.Helper()
	compress := codec.New()
	var beat contract.Heartbeat
	require.Eventually(t, func() bool {
		described, err := s.temporal.DescribeWorkflowExecution(within(t), of.WorkflowID, "")
		if err != nil {
			return false
		}
		for _, pending := range described.GetPendingActivities() {
			beat = contract.Heartbeat{}
			if compress.DataConverter().FromPayloads(pending.GetHeartbeatDetails(), &beat) == nil && beat.Length >= length {
				return true
			}
		}
		return false
	}, patience, 20*time.Millisecond)
	return beat
}

// TestLiveText: text and reasoning are seen while they arrive, marked by
// attempt; that of an attempt which was cut is withdrawn. Who comes late gets
// what there is and goes on with it. The history has the final message alone.
func TestLiveText(t *testing.T) {
	t.Parallel()
	s, server := pacedStack(t, host.Config{}, pacedChat)
	c := newCLI(t).at(s) // what builds the starter has not to fit into the follower's patience
	begun := s.beginPaced(t, domain.Definition{})
	early := s.follows(t, begun.ID)
	plain := c.start("watch", begun.ID)

	first := server.next(t)
	first.thinks("DOOMED thought")
	early.until(client.EventReasoning, 1, "DOOMED thought")
	first.text("DOOMED text\nand m")
	early.until(client.EventText, 1, "DOOMED text\nand m")
	plain.untilErr("step 1: DOOMED text\n")
	first.cut()
	withdrawn := early.until(client.EventWithdrawn, 1, "")
	require.NotEmpty(t, withdrawn.Reason)
	early.until(domain.EventInferenceRequested, 2, "")
	plain.untilErr("step 1: -- what came so far of attempt 1 is withdrawn\n")

	second := server.next(t)
	second.thinks("KEPT thought")
	second.text("KEPT one")
	early.until(client.EventReasoning, 2, "KEPT thought")
	early.until(client.EventText, 2, "KEPT one")

	late, lines := s.follows(t, begun.ID), c.start("watch", begun.ID, "--json")
	late.until(client.EventText, 2, "KEPT one")
	lines.untilOut(`"text":"KEPT one"`)
	second.text(" and two")
	for _, f := range []*follower{early, late} {
		f.until(client.EventText, 2, " and two")
	}
	lines.untilOut(`"text":" and two"`)
	second.done("stop")

	const answer = "KEPT one and two"
	for _, f := range []*follower{early, late} {
		answered := f.until(domain.EventInferenceReceived, 2, answer)
		require.Equal(t, len(answer), answered.Shown)
		require.Equal(t, domain.EventExecutionCompleted, f.rest()[len(f.rest())-1].Type)
	}
	for _, e := range late.seen {
		require.NotContains(t, e.Text, "DOOMED", "what was withdrawn is over")
		require.NotEqual(t, client.EventWithdrawn, e.Type)
	}
	requireAttempts(t, lines.wait().out)
	require.Equal(t, answer+"\n", plain.wait().out)

	kept := s.historyText(t, begun)
	require.NotContains(t, kept, "DOOMED")
	require.Contains(t, kept, answer)
	require.Empty(t, regexp.MustCompile(`KEPT one"`).FindString(kept), "no part of the answer is kept beside it")
}

// requireAttempts looks at the lines of a watcher that came in the second attempt.
func requireAttempts(t *testing.T, out string) {
	t.Helper()
	attempts := map[domain.EventType][]int{}
	for line := range strings.Lines(out) {
		var event client.Event
		require.NoError(t, json.Unmarshal([]byte(line), &event))
		attempts[event.Type] = append(attempts[event.Type], event.Attempt)
	}
	require.Equal(t, []int{2}, attempts[client.EventReasoning])
	require.Equal(t, []int{2, 2}, attempts[client.EventText])
	require.Len(t, attempts[domain.EventInferenceRequested], 2)
	require.Len(t, attempts[domain.EventInferenceReceived], 2)
}

// TestLiveReasoningOfMessages: thinking in the other form in which it comes.
func TestLiveReasoningOfMessages(t *testing.T) {
	t.Parallel()
	s, server := pacedStack(t, host.Config{}, pacedMessages)
	begun := s.beginPaced(t, domain.Definition{})
	f := s.follows(t, begun.ID)
	event := func(name, fields string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + fields + "}\n\n"
	}
	a := server.next(t)
	a.raw(event("message_start", `,"message":{"id":"msg_1","role":"assistant","model":"m-1","content":[],"usage":{"input_tokens":30,"output_tokens":1}}`))
	a.raw(event("content_block_start", `,"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}`))
	a.raw(event("content_block_delta", `,"index":0,"delta":{"type":"thinking_delta","thinking":"What is six"}`))
	f.until(client.EventReasoning, 1, "What is six")
	a.raw(event("content_block_delta", `,"index":0,"delta":{"type":"thinking_delta","thinking":" times seven?"}`))
	a.raw(event("content_block_delta", `,"index":0,"delta":{"type":"signature_delta","signature":"c2ln"}`) + event("content_block_stop", `,"index":0`))
	f.until(client.EventReasoning, 1, " times seven?")
	a.raw(event("content_block_start", `,"index":1,"content_block":{"type":"text","text":""}`))
	a.raw(event("content_block_delta", `,"index":1,"delta":{"type":"text_delta","text":"42"}`))
	f.until(client.EventText, 1, "42")
	a.raw(event("content_block_stop", `,"index":1`) + event("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}`) + event("message_stop", ""))
	close(a.say)
	require.Equal(t, "42", f.until(domain.EventInferenceReceived, 1, "").Text)
	for _, e := range f.rest() {
		require.NotEqual(t, client.EventWithdrawn, e.Type)
	}
}

// TestLiveTextStaysAfterAStop: the partial text is what was seen, for those who
// watch and in the transcript.
func TestLiveTextStaysAfterAStop(t *testing.T) {
	t.Parallel()
	s, server := pacedStack(t, host.Config{}, pacedChat)
	c := newCLI(t).at(s)
	begun := s.beginPaced(t, domain.Definition{})
	f := s.follows(t, begun.ID)
	plain := c.start("watch", begun.ID)
	a := server.next(t)
	a.thinks("hm")
	a.text("Counting:\none, two")
	f.until(client.EventText, 1, "Counting:\none, two")
	plain.untilErr("step 1: Counting:\n")
	_, err := s.agents.Stop(within(t), begun.ID, client.StopOptions{Mode: contract.StopNow})
	require.NoError(t, err)
	cut := f.until(domain.EventInferenceReceived, 1, "")
	<-a.gone
	require.Equal(t, contract.Interrupted, cut.Outcome)
	require.Equal(t, "Counting:\none, two", cut.Text)
	require.Equal(t, len(cut.Text), cut.Shown)
	for _, e := range f.rest() {
		require.NotEqual(t, client.EventWithdrawn, e.Type)
	}
	got := plain.wait()
	require.Equal(t, 3, got.code)
	requireInOrder(t, got.err, "step 1: Counting:\n", "step 1: one, two\n", "stopped (user_requested)")
	require.Equal(t, 1, strings.Count(got.err, "Counting"))
	messages := collect(t, s.agents.Messages(within(t), begun.ID))
	require.Len(t, messages, 2)
	require.Equal(t, cut.Text, messages[1].Message.Text())
}

// TestLiveTextIsWithheldFromReaders: what a hook may rewrite is neither in a
// heartbeat nor shown; the answer is what the hook left.
func TestLiveTextIsWithheldFromReaders(t *testing.T) {
	t.Parallel()
	redact := hook.AfterInference("redact", func(r hook.Reply) (hook.Reply, error) {
		text := strings.ReplaceAll(r.At.Message.Text(), "4711", "[removed]")
		r.At.Message.Parts = []domain.Part{{Type: domain.PartText, Text: text}}
		return r, nil
	})
	s, server := pacedStack(t, host.Config{Hooks: []hook.Hook{redact}}, pacedChat)
	c := newCLI(t).at(s)
	begun := s.beginPaced(t, domain.Definition{Hooks: []string{"redact"}})
	f := s.follows(t, begun.ID)
	plain := c.start("watch", begun.ID)
	a := server.next(t)
	a.thinks("4711 it is")
	a.text("The key is\n4711\n")
	beat := s.beat(t, begun, len("The key is\n4711\n"))
	require.Empty(t, beat.Tail)
	require.Empty(t, beat.Reasoning)
	a.text("so.")
	a.done("stop")
	require.Equal(t, "redact", f.until(client.EventWithheld, 0, "").Hook)
	for _, e := range f.rest() {
		require.NotContains(t, e.Text, "4711")
	}
	got := plain.wait()
	require.Contains(t, got.err, "withheld: hook redact may rewrite it")
	require.NotContains(t, got.err, "4711")
	require.Equal(t, "The key is\n[removed]\nso.\n", got.out)
}

// TestLiveTextOfASummaryIsNotShown: it is the model's, and no answer.
func TestLiveTextOfASummaryIsNotShown(t *testing.T) {
	t.Parallel()
	s, server := pacedStack(t, host.Config{Tools: []tool.Tool{echo()}}, pacedChat)
	begun := s.beginPaced(t, domain.Definition{
		Tools: []string{"echo"}, Model: domain.LLMConfig{ContextWindow: 6000, MaxOutputTokens: 500},
	})
	f := s.follows(t, begun.ID)
	for n := range 20 {
		a := server.next(t)
		if !strings.Contains(a.body, "You sum up the beginning of a conversation") {
			a.text(strings.Repeat("all work and no play ", 200))
			a.chunk(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"echo","arguments":"{\"text\":\"%d\"}"}}]}`, n, n), "null")
			a.done("tool_calls")
			continue
		}
		a.thinks("SUMMARY thought")
		a.text("SUMMARY text")
		beat := s.beat(t, begun, len("SUMMARY text"))
		require.Empty(t, beat.Tail)
		a.done("stop")
		break
	}
	last := server.next(t)
	require.Contains(t, last.body, "SUMMARY text", "it was made")
	last.text("The end.")
	last.done("stop")
	for _, e := range f.rest() {
		require.NotContains(t, e.Text, "SUMMARY")
	}
	require.Equal(t, domain.EventExecutionCompleted, f.seen[len(f.seen)-1].Type)
	require.Equal(t, domain.StatusCompleted, f.seen[len(f.seen)-1].Ended.Status)
}
