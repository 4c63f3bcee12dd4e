package whole_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// failureKey is the key of every request to the stage. Nobody ever reads it.
const failureKey = "sk-stage-canary-4711"

// A failureCase is a way in which a provider fails, and what a user gets to see.
type failureCase struct {
	name string
	// api is whose form the plays have; zero: chat completions.
	api playedAPI
	// plays answer the requests, each one. There are no more requests.
	plays  []play
	define func(*client.Start)
	// meanwhile is done once it has begun.
	meanwhile func(t *testing.T, p *part)
	want      ending
	// check sees what the case is about; the stage sees to the rest.
	check func(t *testing.T, p *part)
}

// An ending is what a user gets to see. What is empty is what comes of plays
// of which the last one answers "ok".
type ending struct {
	status domain.ExecutionStatus
	reason domain.StopReason
	kind   domain.Kind
	code   domain.Code
	answer string
	// failed counts the attempts without an answer; nil: by the plays.
	failed *int
	// says is in the reason that status, explain and result tell. {model} and
	// {server} stand for the case's own.
	says []string
}

// A stage is a server that plays all cases at once, each for a model of its own.
type stage struct {
	*stack
	server *httptest.Server
	// log is what the worker says, before anything is hidden in it.
	log keptLog

	mu    sync.Mutex
	parts map[string]*part
	noted map[string]int
}

// A part is a case under way.
type part struct {
	failureCase
	*stage
	cli       *cli
	model, id string

	mu   sync.Mutex
	sent []sentRequest
	// view is the explanation, status the status, and said the CLI's result,
	// once it has ended.
	view   client.ExplainView
	status account.Status
	said   said
}

// A sentRequest is one that came.
type sentRequest struct {
	at   time.Time
	body string
}

// requests returns how many came, and the n-th.
func (p *part) requests() []sentRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// lostTo is the code of what befell the first attempts; empty for none.
func (p *part) lostTo() domain.Code {
	if retries := p.view.Steps[0].Retries; len(retries) > 0 && retries[0].Code != nil {
		return *retries[0].Code
	}
	return ""
}

// newStage makes a stage with a worker whose log is kept.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{parts: map[string]*part{}, noted: map[string]int{}}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	s.stack = connect(t, "plain", nil)
	connection := host.Connection{Address: s.address, Logger: &s.log}
	temporal, err := host.Dial(context.Background(), connection)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	config := host.Config{
		Connection: connection,
		Tools:      []tool.Tool{s.echo()}, AllowBaseURLs: []string{"*"}, Approvals: domain.ApprovalsOf("allow"), TaskQueue: s.queue, Dir: t.TempDir(), Storage: t.TempDir(),
		Vendors: map[string]host.Access{"openai": {BaseURL: s.server.URL + "/v1", Key: failureKey}, "anthropic": {BaseURL: s.server.URL, Key: failureKey}, "gemini": {BaseURL: s.server.URL + "/v1beta", Key: failureKey}},
	}
	s.worker, err = host.Start(context.Background(), temporal, config)
	require.NoError(t, err)
	t.Cleanup(s.worker.Stop)
	return s
}

// A keptLog keeps warnings and errors.
type keptLog struct{ transcript }

func (*keptLog) Debug(string, ...any) {}
func (*keptLog) Info(string, ...any)  {}
func (l *keptLog) Warn(message string, values ...any) {
	_, _ = fmt.Fprintln(l, append([]any{message}, values...)...)
}
func (l *keptLog) Error(message string, values ...any) { l.Warn(message, values...) }

// echo is the tool of all cases. It counts what it was asked to say.
func (s *stage) echo() tool.Tool {
	type args struct {
		Text string `json:"text"`
		// Times says how often.
		Times int `json:"times,omitempty"`
	}
	return tool.New("echo", "Says it again.", domain.Idempotent, func(_ context.Context, a args) (string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.noted[a.Text]++
		return strings.Repeat("echo: "+a.Text+". ", max(a.Times, 1)), nil
	})
}

// ran counts the calls of echo with a text.
func (s *stage) ran(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noted[text]
}

// ServeHTTP plays the next play of the model that is asked.
func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var asked struct{ Model string }
	_ = json.Unmarshal(body, &asked)
	if found := geminiModel.FindStringSubmatch(r.URL.Path); found != nil {
		asked.Model = found[1]
	}
	s.mu.Lock()
	p := s.parts[asked.Model]
	s.mu.Unlock()
	if p == nil {
		http.Error(w, "no part is called "+asked.Model, http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	n := len(p.sent)
	p.sent = append(p.sent, sentRequest{at: time.Now(), body: string(body)})
	p.mu.Unlock()
	if n >= len(p.plays) {
		http.Error(w, `{"error":{"message":"the play is over","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	p.plays[n].serve(w, r)
}

// begin starts a case.
func (s *stage) begin(t *testing.T, c failureCase, model string) *part {
	t.Helper()
	if c.api.name == "" {
		c.api = chatAPI()
	}
	p := &part{failureCase: c, stage: s, cli: newCLI(t).at(s.stack), model: model}
	s.mu.Lock()
	s.parts[model] = p
	s.mu.Unlock()
	start := client.Start{Prompt: "go", Definition: domain.Definition{
		Model: domain.LLMConfig{Provider: c.api.name, Model: model}, Tools: []string{"echo"},
	}}
	if c.define != nil {
		c.define(&start)
	}
	begun := s.starts(t, start)
	p.id = begun.ID
	return p
}

// see waits for the end, and compares what status, explain and result tell, and
// what was asked of the server, with what the case wants.
func (p *part) see(t *testing.T) {
	t.Helper()
	if p.meanwhile != nil {
		p.meanwhile(t, p)
	}
	want, failed := p.wanted()
	p.said = p.cli.do("result", p.id)
	require.Equal(t, map[domain.ExecutionStatus]int{domain.StatusCompleted: 0, domain.StatusFailed: 1, domain.StatusStopped: 3}[want.status], p.said.code, p.said.err)
	p.told(t)

	require.Equal(t, want.status, p.status.Status)
	require.Equal(t, want.reason, p.status.StopReason)
	require.Equal(t, want.status, p.view.Status)
	require.Equal(t, want.reason, p.view.Ending.StopReason)
	if want.status == domain.StatusCompleted {
		require.Equal(t, want.answer+"\n", p.said.out)
		require.Empty(t, p.said.err)
	}
	why := p.view.Ending.Summary
	if want.status == domain.StatusFailed {
		for _, err := range []*domain.Error{p.status.Failure(), p.view.Ending.Error} {
			require.NotNil(t, err)
			require.Equal(t, [2]string{string(want.kind), string(want.code)}, [2]string{string(err.Kind), string(err.Code)}, err.Message)
			require.Equal(t, why, "it failed: "+err.Message)
		}
		require.NotEmpty(t, p.view.Advice, "what to do about it")
	}
	for _, words := range want.says {
		words = strings.NewReplacer("{model}", p.model, "{server}", p.server.URL).Replace(words)
		require.Contains(t, why, words)
		require.Contains(t, p.said.err, words)
	}
	require.Len(t, p.requests(), len(p.plays))
	require.Equal(t, failed+p.lost(), p.view.Waste.FailedAttempts, "%s", p.retries())
	p.seeUsage(t)
	shown, err := json.Marshal([]any{p.status, p.view})
	require.NoError(t, err)
	require.NotContains(t, p.said.err+p.said.out+string(shown), failureKey)
	if p.check != nil {
		p.check(t, p)
	}
}

// lost counts the attempts that a machine lost which is too busy to hear of them in time.
func (p *part) lost() (n int) {
	for _, step := range p.view.Steps {
		for _, r := range step.Retries {
			if r.Reason == "the inference was cut off by the server" || strings.HasPrefix(r.Reason, "no worker finished it in time") {
				n += r.Attempts
			}
		}
	}
	return n
}

// retries are the attempts that failed, as explain tells them.
func (p *part) retries() string {
	var all []client.ExplainRetry
	for _, step := range p.view.Steps {
		all = append(all, step.Retries...)
	}
	text, err := json.Marshal(all)
	return fmt.Sprint(string(text), err)
}

// told asks for status and explanation, until the worker has time to tell them.
func (p *part) told(t *testing.T) {
	t.Helper()
	for until := time.Now().Add(patience); p.status.Server.Source != contract.FromWorkflow || p.view.Source != contract.FromWorkflow; {
		require.True(t, time.Now().Before(until), "no worker tells it: others answer in its place, who know less")
		var err error
		p.status, err = p.agents.Status(within(t), p.id)
		require.NoError(t, err)
		p.view, err = p.agents.Explain(within(t), p.id, 0)
		require.NoError(t, err)
	}
	requireSums(t, p.view)
}

func oneLined(text string) string { return strings.Join(strings.Fields(text), " ") }

// wanted completes what the case wants by its plays.
func (p *part) wanted() (want ending, failed int) {
	want = p.want
	want.status = cmp.Or(want.status, domain.StatusCompleted)
	if want.status == domain.StatusCompleted {
		want.reason = cmp.Or(want.reason, domain.Completed)
		want.answer = cmp.Or(want.answer, "ok")
	}
	if want.status == domain.StatusFailed {
		want.reason = domain.ErrorForbade
	}
	if want.failed != nil {
		return want, *want.failed
	}
	for _, play := range p.plays {
		if !play.whole {
			failed++
		}
	}
	return want, failed
}

// seeUsage compares what was counted: exactly where the provider told it, else
// marked as estimated and more than what was told.
func (p *part) seeUsage(t *testing.T) {
	t.Helper()
	usage := domain.Usage{InputTokens: p.status.Usage.InputTokens, OutputTokens: p.status.Usage.OutputTokens, Estimated: p.status.Usage.Estimated}
	require.Equal(t, p.status.Usage, p.view.Reported.Usage)
	if p.lost() > 0 { // what each of those may have cost counts too
		require.True(t, usage.Estimated || usage == p.toldUsage())
		require.GreaterOrEqual(t, usage.TotalTokens(), p.toldUsage().TotalTokens())
		return
	}
	told := p.toldUsage()
	guessed := slices.ContainsFunc(p.plays, func(one play) bool { return one.cost == costGuessed })
	if !guessed {
		require.Equal(t, told, usage)
		return
	}
	require.True(t, usage.Estimated, "what may have been billed counts, and is marked")
	require.Greater(t, usage.InputTokens, told.InputTokens)
	require.True(t, p.view.Totals.Usage.Estimated)
	if p.view.Waste.FailedAttempts > 0 {
		require.Positive(t, p.view.Waste.Usage.TotalTokens(), "explain says what it cost in vain")
	}
}

// toldUsage is what the provider told of its answers.
func (p *part) toldUsage() (told domain.Usage) {
	for _, play := range p.plays {
		if play.cost == costTold {
			told = told.Add(domain.Usage{InputTokens: tokensIn, OutputTokens: tokensOut})
		}
	}
	return told
}

// A play answers one request.
type play struct {
	serve http.HandlerFunc
	// whole says that it is an answer.
	whole bool
	cost  playCost
}

// A playCost says what a play counts as.
type playCost int

const (
	// costNothing is what surely cost nothing.
	costNothing playCost = iota
	// costGuessed is what may have cost something, and nobody said how much.
	costGuessed
	// costTold is what has told its usage, which is always the same.
	costTold
)

func streams(body string) http.HandlerFunc { return serves("text/event-stream", body) }

func serves(mediaType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = io.WriteString(w, body)
	}
}

// gives is a whole answer as a stream.
func gives(body string) play { return play{serve: streams(body), whole: true, cost: costTold} }

// fine is the answer "ok".
func fine(api playedAPI) play {
	whole, _ := api.says("ok")
	return gives(whole)
}

// refuses is an error with a status, before the model has done anything.
func refuses(status int, body string, headers ...string) play {
	return play{cost: costNothing, serve: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, header := range headers {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}}
}

// breaks is a stream that is no answer and does not tell its usage.
func breaks(body string) play { return play{serve: streams(body), cost: costGuessed} }

// wrong is a response of status 200 that is no answer.
func wrong(mediaType, body string) play {
	return play{serve: serves(mediaType, body), cost: costGuessed}
}

// toldly is a play that has told its usage.
func toldly(p play) play {
	p.cost = costTold
	return p
}

// breaksOff resets the connection instead of answering.
func breaksOff() play {
	return play{cost: costGuessed, serve: func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}}
}

// lasting is a play that does not end before the other side has closed the connection.
func lasting(serve func(w http.ResponseWriter, r *http.Request)) (play, <-chan struct{}) {
	gone := make(chan struct{})
	return play{cost: costGuessed, serve: func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		serve(w, r)
	}}, gone
}

// stall sends a part of an answer and no more.
func stall(part string) (play, <-chan struct{}) {
	return lasting(func(w http.ResponseWriter, r *http.Request) {
		streams(part)(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
}

// dribbles sends comments without end, so that no time-out between pieces comes.
func dribbles() (play, <-chan struct{}) {
	return lasting(func(w http.ResponseWriter, r *http.Request) {
		for tick := time.Tick(20 * time.Millisecond); r.Context().Err() == nil; <-tick {
			streams(": still here\n\n")(w, r)
			_ = http.NewResponseController(w).Flush()
		}
	})
}

func isClosed(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(patience):
		require.Fail(t, "the connection stays open")
	}
}

// chatText is a chunk of text.
func chatText(text string) string { return chatChunk(fmt.Sprintf(`{"content":%q}`, text), "null") }

// chatCall is a chunk with a call of echo.
func chatCall(text string) string {
	return chatChunk(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"echo","arguments":"{\"text\":\"%s\"}"}}]}`, text), "null")
}

// twice bounds the attempts of an inference.
func twice(s *client.Start) { s.Definition.Attempts = 2 }

// failing is how an execution fails.
func failing(kind domain.Kind, code domain.Code, says ...string) ending {
	return ending{status: domain.StatusFailed, kind: kind, code: code, says: says}
}

// stopping is how an execution is stopped.
func stopping(reason domain.StopReason, says ...string) ending {
	return ending{status: domain.StatusStopped, reason: reason, says: says}
}
