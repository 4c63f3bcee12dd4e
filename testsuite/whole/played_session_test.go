package whole_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/client"
)

// A sessionServer is the world of recorded sessions: their models, by all APIs, and the system on which their tools act.
// It outlives every worker.
type sessionServer struct {
	*httptest.Server
	agents *client.Client

	mu sync.Mutex
	// sessions are found by the name of their model, and by the agent's.
	sessions map[string]*playedSession
}

// serveSessions starts the server. The client asks for the stops.
func serveSessions(t testing.TB, agents *client.Client) *sessionServer {
	t.Helper()
	s, paths := &sessionServer{agents: agents, sessions: map[string]*playedSession{}}, http.NewServeMux()
	for _, api := range playedAPIs() {
		paths.Handle("/"+api.name+"/", http.StripPrefix("/"+api.name, s.model(api)))
	}
	paths.HandleFunc("/act", s.act)
	s.Server = httptest.NewServer(paths)
	t.Cleanup(s.Close)
	return s
}

// sessionProviders are the providers of a worker whose models are such a server's.
func sessionProviders(url string) (map[string]inference.Provider, error) {
	all := map[string]inference.Provider{}
	for _, api := range playedAPIs() {
		provider, err := wire.New(adapters()[api.name], wire.Config{BaseURL: url + "/" + api.name, Key: wire.FixedKey("sk-canary")})
		if err != nil {
			return nil, err
		}
		all[api.name] = provider
	}
	return all, nil
}

// An action is what a tool asks the system to do.
type action struct {
	Agent, Tool, Arguments string
}

// sessionTools are tools that act on the server, each call at most once.
func sessionTools(url string, names []string) (tools []tool.Tool) {
	for _, name := range names {
		spec := domain.ToolSpec{Name: name, Schema: json.RawMessage(anySchema), Effect: domain.AtMostOnce}
		tools = append(tools, tool.FromSpec(spec, func(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
			call, _ := tool.ExecutionOf(ctx)
			content, err := action{call.AgentName, name, string(arguments)}.ask(ctx, url)
			return tool.Result{Content: content}, err
		}))
	}
	return tools
}

func (a action) ask(ctx context.Context, url string) (string, error) {
	body, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/act", strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", cmp.Or(ctx.Err(), tool.OutcomeUnknown(err))
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return "", cmp.Or(ctx.Err(), tool.OutcomeUnknown(fmt.Errorf("the system answered %s", response.Status)))
	}
	return string(content), nil
}

// add has the server play a run as the agent of a name, by an API.
func (s *sessionServer) add(run recordedRun, n int, id string, api playedAPI) *playedSession {
	p := &playedSession{
		recordedRun: run, n: n, id: id, api: api, model: fmt.Sprint(api.model, n), done: map[string]int{},
		turns: make([]playedPlan, len(run.Executions)),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[p.model], s.sessions[id] = p, p
	return p
}

func (s *sessionServer) session(name string) *playedSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[name]
}

// model answers as the models of an API.
func (s *sessionServer) model(api playedAPI) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, body, err := api.asked(r)
		if body == nil {
			return
		}
		p := s.session(request.model)
		if p == nil {
			http.Error(w, `{"error":{"message":"no such model","type":"invalid_request_error"}}`, http.StatusNotFound)
			return
		}
		if err != nil {
			p.finds("a request cannot be read: %s", err)
			http.Error(w, `{"error":{"message":"the test cannot read this request","type":"invalid_request_error","status":"INVALID_ARGUMENT"}}`, http.StatusBadRequest)
			return
		}
		answer, stop := p.asked(request)
		w.Header().Set("Content-Type", "text/event-stream")
		for i, e := range answer.events {
			if stop != nil && i == min(stop.event, answer.end) {
				_ = http.NewResponseController(w).Flush()
				if !s.stops(r.Context(), p, stop) {
					return
				}
			}
			_, _ = io.WriteString(w, e.data)
		}
	})
}

// act does what a tool asks for, and returns what was recorded of it.
func (s *sessionServer) act(w http.ResponseWriter, r *http.Request) {
	var a action
	body, err := io.ReadAll(r.Body)
	if err := cmp.Or(err, json.Unmarshal(body, &a)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p := s.session(a.Agent)
	if p == nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	key := effectOf(a.Tool, a.Arguments)
	stop := p.meets(key)
	if stop != nil && stop.place == beforeEffect && !s.stops(r.Context(), p, stop) {
		return
	}
	content := p.acts(key)
	if stop != nil && stop.place == afterEffect && !s.stops(r.Context(), p, stop) {
		return
	}
	_, _ = io.WriteString(w, content)
}

// stops asks for the stop, and reports whether what is under way goes on. What is cut off is not answered.
func (s *sessionServer) stops(ctx context.Context, p *playedSession, stop *playedStop) bool {
	asking, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p.mu.Lock()
	stop.came = true
	p.mu.Unlock()
	if _, err := s.agents.Stop(asking, p.id, client.StopOptions{Mode: stop.mode, Reason: "enough of that"}); err != nil {
		p.finds("stopping turn %d: %s", p.newest(), err)
		return true
	}
	if stop.mode != contract.StopNow {
		return true
	}
	select {
	case <-ctx.Done():
	case <-asking.Done():
		p.finds("turn %d was told to stop now, and its work was not cut off", p.newest())
	}
	return false
}

// A stopPlace is where in a turn its stop comes.
type stopPlace int

const (
	inAnswer stopPlace = iota
	beforeEffect
	afterEffect
)

// A playedStop is a stop of one turn.
type playedStop struct {
	mode contract.StopMode
	// answers is how many answers of the turn come before the one that it meets.
	answers int
	place   stopPlace
	// event is before which event of the answer it comes, effect in which call.
	event  int
	effect string
	// came says that it was asked for: a call may be refused before it is made.
	came bool
}

// A playedPlan is what befalls a turn, and how many answers it has had.
type playedPlan struct {
	answers int
	stop    *playedStop
}

// A playedSession is a recorded run whose model remembers nothing: it goes by what a request shows. Each recorded call of
// which the request has no result is made before the model goes on, again where it was made before.
type playedSession struct {
	recordedRun
	n     int
	id    string
	api   playedAPI
	model string

	mu sync.Mutex
	// done is the ledger: how often each effect was had.
	done  map[string]int
	turns []playedPlan
	// armed is a stop that waits for its call.
	armed *playedStop
	// before is the newest request, answered what was said to it: empty where nobody knows whether that arrived.
	before   []playedTurn
	answered []string
	requests int
	// forgot counts the requests that lacked something of those before them, wrong is what was wrong otherwise.
	forgot int
	wrong  []string
}

func (p *playedSession) finds(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// newest is the number of the turn in progress.
func (p *playedSession) newest() (turn int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for turn < len(p.turns) && p.turns[turn].answers > 0 {
		turn++
	}
	return turn
}

// asked takes a request, and returns the answer and the stop that comes in it.
func (p *playedSession) asked(r playedRequest) (playedStream, *playedStop) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	turn, err := p.turnOf(r)
	if err = cmp.Or(err, r.conversation()); err != nil {
		p.wrong = append(p.wrong, fmt.Sprintf("request %d, turn %d: %s", p.requests, turn, err))
	}
	said, left := p.next(r, turn)
	again := slices.EqualFunc(r.turns, p.before, samePlayed)
	if !again && !p.remembered(r) {
		p.forgot++
	}
	step := len(r.turns)
	stream := p.api.play(playedAnswer{
		step: step, seal: fmt.Sprintf("%04d%04d", p.n, step), thought: fmt.Sprintf("I think of turn %d.", turn),
		text: said.Content, calls: p.api.calls(step, said.ToolCalls), usage: domain.Usage{InputTokens: 100, OutputTokens: 10},
	})
	p.before, p.answered = r.turns, stream.order
	if again { // its answer was lost on the way
		return stream, nil
	}
	plan := &p.turns[turn-1]
	if plan.answers == 0 {
		plan.stop = p.stopIn(turn, left)
	}
	plan.answers++
	stop := plan.stop
	switch {
	case stop == nil || plan.answers != stop.answers+1:
		return stream, nil
	case len(said.ToolCalls) > 0 && stop.place != inAnswer:
		call := said.ToolCalls[stop.event%len(said.ToolCalls)]
		stop.effect, p.armed = effectOf(call.Function.Name, call.Function.Arguments), stop
		return stream, nil
	case stop.mode == contract.StopNow:
		p.answered = nil
	}
	return stream, stop
}

// turnOf is the turn that a request is of, by what the user has said so far.
func (p *playedSession) turnOf(r playedRequest) (turn int, err error) {
	for _, t := range r.turns {
		if t.role != "user" {
			continue
		}
		if turn == len(p.Executions) || t.text != p.Executions[turn].Prompt {
			return max(turn, 1), fmt.Errorf("the user did not say %q then", t.text)
		}
		turn++
	}
	return max(turn, 1), nil
}

// next is what the model says to a request of a turn: the first message of which a call has no result, with those calls
// alone, or the answer of the turn. left is how many such messages there are.
func (p *playedSession) next(r playedRequest, turn int) (said recordedMessage, left int) {
	shown := r.shown()
	for _, e := range p.Executions[:turn] {
		for _, m := range e.Messages {
			if m.Role == "tool" {
				continue
			}
			missing := slices.DeleteFunc(slices.Clone(m.ToolCalls), func(c recordedCall) bool {
				key := effectOf(c.Function.Name, c.Function.Arguments)
				shown[key]--
				return shown[key] >= 0
			})
			if len(missing) == 0 {
				continue
			}
			if left++; left == 1 {
				said = recordedMessage{Role: m.Role, Content: m.Content, ToolCalls: missing}
			}
		}
	}
	if left == 0 {
		messages := p.Executions[turn-1].Messages
		said = messages[len(messages)-1]
	}
	return said, left
}

// shown counts the effects whose results a request shows, or says that nobody knows them. What did not run is none.
func (r playedRequest) shown() map[string]int {
	shown, waiting := map[string]int{}, []string(nil)
	for _, turn := range r.turns {
		for _, piece := range turn.order {
			if call, ok := strings.CutPrefix(piece, callPiece); ok {
				name, arguments, _ := strings.Cut(call, " ")
				waiting = append(waiting, effectOf(name, arguments))
			}
		}
		if turn.role == "tool" && len(waiting) > 0 {
			if !strings.Contains(turn.text, saysNotRun) || strings.Contains(turn.text, saysUnresolved) {
				shown[waiting[0]]++
			}
			waiting = waiting[1:]
		}
	}
	return shown
}

// resultsIn counts the results of a request that say something.
func resultsIn(turns []playedTurn, something string) (n int) {
	for _, turn := range turns {
		if turn.role == "tool" && strings.Contains(turn.text, something) {
			n++
		}
	}
	return n
}

// What a result says of a call whose outcome is unknown, of one that did not run, and of one that did not for the first.
const (
	saysUnknown    = "outcome unknown: "
	saysNotRun     = "not run: "
	saysUnresolved = "not run: nobody knows "
)

// silent says that the model has reasoned, and said nothing.
func (t playedTurn) silent() bool {
	return t.role == "assistant" && !slices.ContainsFunc(t.order, func(piece string) bool {
		return strings.HasPrefix(piece, textPiece) || strings.HasPrefix(piece, callPiece)
	})
}

// remembered reports whether a request begins with all that the one before it had, and what was said to that.
func (p *playedSession) remembered(r playedRequest) bool {
	n := len(p.before)
	if n > len(r.turns) || !slices.EqualFunc(p.before, r.turns[:n], samePlayed) {
		return false
	}
	return n == 0 || len(p.answered) == 0 || n < len(r.turns) && slices.Equal(r.turns[n].order, p.answered)
}

func samePlayed(a, b playedTurn) bool {
	return a.role == b.role && a.text == b.text && slices.Equal(a.order, b.order) && slices.Equal(a.ids, b.ids)
}

// effectOf names the effect of a call. JSON that says the same is the same.
func effectOf(name, arguments string) string {
	var value any
	if json.Unmarshal([]byte(arguments), &value) == nil {
		if text, err := json.Marshal(value); err == nil {
			arguments = string(text)
		}
	}
	return saidCall(name, arguments)
}

// stopIn draws the stop of a turn that has some messages with calls to say, and an answer: of three sessions one has none,
// one has one in a third of its turns, and one in two thirds. The last turn ends as it is.
func (p *playedSession) stopIn(turn, calling int) *playedStop {
	draw := rand.New(rand.NewPCG(uint64(p.n), uint64(turn)))
	if turn == len(p.Executions) || draw.IntN(3) >= p.n%3 {
		return nil
	}
	modes := enum.Known[contract.StopMode]()
	return &playedStop{
		mode: modes[draw.IntN(len(modes))], answers: draw.IntN(calling + 1), place: stopPlace(draw.IntN(3)), event: draw.IntN(12),
	}
}

// stopped reports whether a stop came in a turn.
func (p *playedSession) stopped(turn int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	stop := p.turns[turn].stop
	return stop != nil && stop.came
}

// meets is the stop that comes in a call.
func (p *playedSession) meets(effect string) *playedStop {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed == nil || p.armed.effect != effect {
		return nil
	}
	stop := p.armed
	p.armed = nil
	return stop
}

// acts has an effect, and returns what was recorded of it: of those that are the same, each in turn.
func (p *playedSession) acts(effect string) (content string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if results := p.effects()[effect]; len(results) > 0 {
		content = results[min(p.done[effect], len(results)-1)]
	} else {
		p.wrong = append(p.wrong, "nothing was recorded of "+effect)
	}
	p.done[effect]++
	return content
}

// times is how often an effect was had.
func (p *playedSession) times(effect string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done[effect]
}

// newestRequest is what the model was shown last.
func (p *playedSession) newestRequest() []playedTurn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.before)
}

// effects are the results of all that the run does, by what it is.
func (p *playedSession) effects() map[string][]string {
	all := map[string][]string{}
	for _, e := range p.Executions {
		for i, m := range e.Messages {
			for k, c := range m.ToolCalls {
				key := effectOf(c.Function.Name, c.Function.Arguments)
				all[key] = append(all[key], e.Messages[i+1+k].Content)
			}
		}
	}
	return all
}

// A sessionReport is what sessions came to.
type sessionReport struct {
	// Of the effects those doubled are too many and those lacking too few, beside the calls that nobody knows the outcome of.
	// forgot counts requests that lacked something of those before them.
	stops, doubled, lacking, forgot int
	wrong                           []string
}

// add counts a session.
func (r *sessionReport) add(p *playedSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.forgot += p.forgot
	for _, wrong := range p.wrong {
		r.wrong = append(r.wrong, p.id+": "+wrong)
	}
	for _, plan := range p.turns {
		if plan.stop != nil && plan.stop.came {
			r.stops++
		}
	}
	unknown, short := resultsIn(p.before, saysUnknown)+resultsIn(p.before, saysUnresolved), 0
	for effect, results := range p.effects() {
		done := p.done[effect]
		r.doubled, short = r.doubled+max(done-len(results), 0), short+max(len(results)-done, 0)
	}
	r.lacking += max(short-unknown, 0)
	if short > unknown {
		r.wrong = append(r.wrong, fmt.Sprintf("%s: %d effects were never had, and %d calls are of unknown outcome", p.id, short, unknown))
	}
}

// require fails where an effect was had twice, or not at all, or a request lacked what was said.
func (r *sessionReport) require(t *testing.T) {
	t.Helper()
	require.Empty(t, strings.Join(r.wrong[:min(len(r.wrong), 20)], "\n"))
	require.Zero(t, r.doubled, "effects that were had again")
	require.Zero(t, r.lacking, "effects that were never had")
	require.Zero(t, r.forgot, "requests that lack something of those before them")
}
