package whole_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// A playedServer plays recorded runs over HTTP, each for the model of its name.
type playedServer struct {
	*httptest.Server
	api      playedAPI
	provider inference.Provider

	mu   sync.Mutex
	runs map[string]*playedRun
}

func servePlayed(t testing.TB, api playedAPI) *playedServer {
	t.Helper()
	s := &playedServer{api: api, runs: map[string]*playedRun{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	s.provider = openAdapter(t, api.name, wire.Config{BaseURL: s.URL, Key: wire.FixedKey("sk-canary")})
	return s
}

// geminiModel is where Gemini's requests name their model.
var geminiModel = regexp.MustCompile(`^/(?:v1beta/)?models/([^:]+):streamGenerateContent$`)

// asked reads a request by the API. Where the connection breaks in it, its body is nil.
func (api playedAPI) asked(r *http.Request) (request playedRequest, body []byte, err error) {
	if body, err = io.ReadAll(r.Body); err != nil {
		return request, nil, err
	}
	request, err = api.read(body)
	if in := geminiModel.FindStringSubmatch(r.URL.Path); in != nil {
		request.model = in[1]
	}
	return request, body, err
}

func (s *playedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, body, err := s.api.asked(r)
	if body == nil {
		return
	}
	s.mu.Lock()
	run := s.runs[request.model]
	s.mu.Unlock()
	if run == nil {
		http.Error(w, `{"error":{"message":"no such model","type":"invalid_request_error"}}`, http.StatusNotFound)
		return
	}
	if err == nil {
		err = request.conversation()
	}
	run.answer(w, r, body, request, err)
}

// add lets the server play a run for the model of a name, in place of the one
// before, and returns the whole name.
func (s *playedServer) add(name string, run *playedRun) string {
	run.api = s.api
	model := s.api.model + name
	s.mu.Lock()
	s.runs[model] = run
	s.mu.Unlock()
	return model
}

// A playedRun is a recorded run, and what was asked and answered in it.
type playedRun struct {
	wholeRun
	api playedAPI
	// seal tells what this run's answers want back from that of others.
	seal string
	// early says that usage is told before all else.
	early bool
	// faults says what befalls a request. Nil: nothing does.
	faults *faultPlan
	// check looks at each request, where it is not nil.
	check func(step int, body []byte) error

	mu sync.Mutex
	// asked are the requests, in order, and wrong what was wrong with them.
	asked []playedAttempt
	wrong []error
	// bodies are the requests of each step.
	bodies map[int]string
	done   int
}

// A playedAttempt is a request and what came of it.
type playedAttempt struct {
	step  int
	fault faultKind
	// told is the usage that the answer told of, thought, text and calls what came
	// of it.
	told          domain.Usage
	thought, text string
	calls         []domain.ToolCall
}

// answer answers a request, or lets it fail.
func (p *playedRun) answer(w http.ResponseWriter, r *http.Request, body []byte, request playedRequest, err error) {
	p.mu.Lock()
	step := p.done
	if err == nil {
		err = p.compare(step, body, request)
	}
	if err == nil && p.check != nil {
		err = p.check(step, body)
	}
	if err != nil {
		p.wrong = append(p.wrong, fmt.Errorf("request %d, step %d: %w", len(p.asked)+1, step+1, err))
		p.mu.Unlock()
		http.Error(w, `{"error":{"message":"the test refuses this request","type":"invalid_request_error","status":"INVALID_ARGUMENT"}}`, http.StatusBadRequest)
		return
	}
	fault := p.faults.next(len(p.steps[step].calls) > 0)
	attempt := playedAttempt{step: step, fault: fault}
	send := p.prepare(&attempt)
	p.asked = append(p.asked, attempt)
	if fault == noFault {
		p.done = step + 1
	}
	p.mu.Unlock()
	send(w, r)
}

// compare holds a request against the recording, and against the one before it
// where that one failed.
func (p *playedRun) compare(step int, body []byte, request playedRequest) error {
	if step >= len(p.steps) {
		return errors.New("the recording is over")
	}
	if before, again := p.bodies[step]; again && before != string(body) {
		return errors.New("it differs from the one before, which failed")
	}
	p.bodies[step] = string(body)
	if request.system != p.system || !slices.Equal(request.tools, p.toolNames) {
		return fmt.Errorf("the system prompt or the tools %q differ", request.tools)
	}
	want := p.turns(step)
	if len(request.turns) != len(want) {
		return fmt.Errorf("%d turns; want %d", len(request.turns), len(want))
	}
	for i, turn := range request.turns {
		if turn.role != want[i].role || turn.text != want[i].text || !slices.Equal(turn.order, want[i].order) {
			return fmt.Errorf("turn %d is %q; want %q", i, turn, want[i])
		}
	}
	return nil
}

// turns are what a request has to hold before a step.
func (p *playedRun) turns(step int) []playedTurn {
	turns := []playedTurn{{role: "user", text: p.prompt}}
	for n, s := range p.steps[:step] {
		turns = append(turns, playedTurn{role: "assistant", order: p.api.play(p.said(n)).order})
		for _, result := range s.results {
			turns = append(turns, playedTurn{role: "tool", text: cmp.Or(result, "(no output)")})
		}
		if s.user != "" {
			turns = append(turns, playedTurn{role: "user", text: s.user})
		}
	}
	return turns
}

// said is the answer of a step.
func (p *playedRun) said(step int) playedAnswer {
	s := p.steps[step]
	return playedAnswer{
		step: step, seal: fmt.Sprintf("%s%04d", p.seal, step), thought: fmt.Sprintf("I think of step %d: a < b && \"ü\" > 'é'.", step+1),
		text: s.text, calls: p.api.calls(step, s.calls), usage: s.usage, early: p.early,
	}
}

// prepare says what is sent for an attempt, and notes what of it will arrive.
func (p *playedRun) prepare(attempt *playedAttempt) func(http.ResponseWriter, *http.Request) {
	answer := p.said(attempt.step)
	if attempt.fault != noFault {
		// Another try of the model's: nothing of it may ever be seen.
		answer.seal += "lost"
		answer.thought, answer.text = fmt.Sprintf("withdrawn thought %d", len(p.asked)), fmt.Sprintf("withdrawn text %d. %s", len(p.asked), answer.text)
		answer.usage.OutputTokens = int64(2 + len(p.asked)%5)
		answer.usage.ReasoningTokens = 1
	}
	stream := p.api.play(answer)
	if reply, ok := attempt.fault.reply(p.api); ok {
		return reply.send
	}
	sent, rest := stream.cut(attempt.fault, len(p.asked), p.api)
	for _, e := range sent {
		attempt.thought, attempt.text = attempt.thought+e.thought, attempt.text+e.text
		if e.tool != "" {
			attempt.calls = append(attempt.calls, domain.ToolCall{Name: e.tool})
		}
		if e.arguments != "" {
			attempt.calls[len(attempt.calls)-1].Arguments += e.arguments
		}
		if !e.tells.IsZero() {
			attempt.told = e.tells
		}
		rest.begin += e.data
	}
	return rest.send
}

// A partialReply is the beginning of a stream, and how it ends.
type partialReply struct {
	begin, more string
	stall, torn bool
}

// cut is what is sent of a stream, by its fault; n varies how much.
func (s playedStream) cut(fault faultKind, n int, api playedAPI) ([]playedEvent, partialReply) {
	inText := min(s.inText+1+n%4, s.end)
	switch fault {
	case cutInText:
		return s.events[:inText], partialReply{}
	case tornInText:
		return s.events[:inText], partialReply{torn: true}
	case stalled:
		return s.events[:inText], partialReply{stall: true}
	case cutInCall:
		half, _ := halves(s.events[s.inCall].data)
		return s.events[:s.inCall], partialReply{more: half}
	case errorEvent:
		return s.events[:inText], partialReply{more: api.inStream}
	default:
		return s.events, partialReply{}
	}
}

func (p partialReply) send(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, p.begin+p.more)
	if p.stall || p.torn {
		_ = http.NewResponseController(w).Flush()
	}
	if p.stall {
		<-r.Context().Done()
	}
	if p.torn {
		panic(http.ErrAbortHandler)
	}
}

// A refusal is an answer that is none.
type refusal struct {
	status      int
	header      http.Header
	media, body string
	// reset breaks the connection instead.
	reset bool
}

func (f refusal) send(w http.ResponseWriter, _ *http.Request) {
	if f.reset {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
		}
		return
	}
	for name, values := range f.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", f.media)
	w.WriteHeader(f.status)
	_, _ = io.WriteString(w, f.body)
}

// requireSound fails where a request was wrong, or made again after its answer was whole.
func (p *playedRun) requireSound(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NoError(t, errors.Join(p.wrong...))
}
