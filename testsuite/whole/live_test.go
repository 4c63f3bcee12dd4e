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

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
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
func pacedStack(t *testing.T) (*stack, *pacedServer) {
	t.Helper()
	server := servePaced(t)
	p, err := wire.New(openaichat.Dialects()[0].API(), wire.Config{BaseURL: server.URL + "/v1", Key: wire.FixedKey("sk-canary")})
	require.NoError(t, err)
	return start(t, host.Config{Providers: map[string]inference.Provider{"paced": p}}), server
}

func (s *stack) beginPaced(t *testing.T, definition domain.Definition) client.Execution {
	t.Helper()
	definition.Model.Provider, definition.Model.Model = "paced", "m-1"
	begun := s.starts(t, client.Start{ID: s.named("live"), Prompt: "go", Definition: definition})
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

// TestLiveText: text and reasoning are seen while they arrive, marked by
// attempt; that of an attempt which was cut is withdrawn. Who comes late gets
// what there is and goes on with it. The history has the final message alone.
func TestLiveText(t *testing.T) {
	t.Parallel()
	s, server := pacedStack(t)
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
