package whole_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/openaichat"
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
	// api is the adapter's name; empty: that of chat completions.
	api string
	// plays answer the requests, each one. There are no more requests.
	plays  []play
	define func(*client.Start)
	want   ending
	// check sees what the case is about; the stage sees to the rest.
	check func(t *testing.T, p *part)
	// alone is a case that needs a worker of its own, and has nothing else.
	alone func(t *testing.T)
}

// An ending is what a user gets to see. What is empty is what comes of plays
// of which the last one answers "ok".
type ending struct {
	status domain.ExecutionStatus
	reason domain.StopReason
	kind   domain.Kind
	code   domain.Code
	answer string
	// usage is given where the plays' own does not tell it.
	usage *domain.Usage
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
	cli    *cli
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
	at     time.Time
	body   string
	header http.Header
}

// requests returns how many came, and the n-th.
func (p *part) requests() []sentRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// gap is the time between the first two requests.
func (p *part) gap() time.Duration { return p.requests()[1].at.Sub(p.requests()[0].at) }

// lostTo is the code of what befell the first attempts; empty for none.
func (p *part) lostTo() domain.Code {
	if retries := p.view.Steps[0].Retries; len(retries) > 0 && retries[0].Code != nil {
		return *retries[0].Code
	}
	return ""
}

// steps are the execution's, with what explain leaves out.
func (p *part) steps(t *testing.T) []domain.StepExecution {
	t.Helper()
	return collect(t, p.agents.Steps(within(t), p.id, 0))
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
	s.cli = newCLI(t).at(s.stack)
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

var modelInPath = regexp.MustCompile(`/models/([^/:]+):`)

// ServeHTTP plays the next play of the model that is asked.
func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var asked struct{ Model string }
	_ = json.Unmarshal(body, &asked)
	if found := modelInPath.FindStringSubmatch(r.URL.Path); found != nil {
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
	p.sent = append(p.sent, sentRequest{at: time.Now(), body: string(body), header: r.Header.Clone()})
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
	c.api = cmp.Or(c.api, openaichat.Name)
	p := &part{failureCase: c, stage: s, model: model}
	s.mu.Lock()
	s.parts[model] = p
	s.mu.Unlock()
	start := client.Start{Prompt: "go", Definition: domain.Definition{
		Model: domain.LLMConfig{Provider: c.api, Model: model}, Tools: []string{"echo"},
	}}
	if c.define != nil {
		c.define(&start)
	}
	begun, err := s.agents.Start(within(t), start)
	require.NoError(t, err)
	p.id = begun.ID
	return p
}

// see waits for the end, and compares what status, explain and result tell, and
// what was asked of the server, with what the case wants.
func (p *part) see(t *testing.T) {
	t.Helper()
	c := *p.cli
	c.t = t
	want, failed := p.wanted()
	p.said = c.do("result", p.id)
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
	require.Equal(t, failed+p.lost(), p.view.Totals.FailedAttempts, "%s", p.retries())
	p.seeUsage(t, want)
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
	p.again(t, func() bool {
		var err error
		p.status, err = p.agents.Status(within(t), p.id)
		require.NoError(t, err)
		p.view, err = p.agents.Explain(within(t), p.id, 0)
		require.NoError(t, err)
		return p.status.Server.Source == contract.FromWorkflow && p.view.Source == contract.FromWorkflow
	})
	requireSums(t, p.view)
}

// again asks until the worker has answered: on a machine with much to do others
// answer in its place, who know less.
func (*part) again(t *testing.T, answered func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !answered(); {
		require.True(t, time.Now().Before(until), "no worker tells it")
	}
}

// seeCLI compares what the CLI prints with it.
func (p *part) seeCLI(t *testing.T) {
	t.Helper()
	c := *p.cli
	c.t = t
	var status, explained map[string]any
	p.again(t, func() bool {
		status, explained = c.json("status", p.id), c.json("explain", p.id)
		return status["source"] == string(contract.FromWorkflow) && explained["source"] == string(contract.FromWorkflow)
	})
	ended, _ := explained["ending"].(map[string]any)
	require.Equal(t, []any{string(p.status.Status), string(p.status.StopReason)}, []any{status["status"], status["stop_reason"]})
	require.Equal(t, []any{string(p.status.Status), string(p.status.StopReason)}, []any{explained["status"], ended["stop_reason"]})
	require.Contains(t, c.ok("explain", p.id), oneLined(p.view.Ending.Summary))
	if err := p.status.Failure(); err != nil {
		for _, printed := range []any{status["error"], ended["error"]} {
			shown, _ := printed.(map[string]any)
			require.Equal(t, err.Message, shown["message"])
		}
		p.again(t, func() bool { return strings.Contains(c.ok("status", p.id), oneLined(err.Message)) })
	}
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
func (p *part) seeUsage(t *testing.T, want ending) {
	t.Helper()
	usage := domain.Usage{InputTokens: p.status.Usage.InputTokens, OutputTokens: p.status.Usage.OutputTokens, Estimated: p.status.Usage.Estimated}
	require.Equal(t, p.status.Usage, p.view.Reported.Usage)
	if p.lost() > 0 { // what each of those may have cost counts too
		require.True(t, usage.Estimated || usage == p.toldUsage(want))
		require.GreaterOrEqual(t, usage.TotalTokens(), p.toldUsage(want).TotalTokens())
		return
	}
	if want.usage != nil {
		require.Equal(t, *want.usage, usage)
		return
	}
	told := p.toldUsage(want)
	guessed := slices.ContainsFunc(p.plays, func(one play) bool { return one.cost == costGuessed })
	if !guessed {
		require.Equal(t, told, usage)
		return
	}
	require.True(t, usage.Estimated, "what may have been billed counts, and is marked")
	require.Greater(t, usage.InputTokens, told.InputTokens)
	require.True(t, p.view.Totals.Usage.Estimated)
	if p.view.Totals.FailedAttempts > 0 {
		require.Positive(t, p.view.Waste.Usage.TotalTokens(), "explain says what it cost in vain")
	}
}

// toldUsage is what the provider told of its answers, or what the case wants.
func (p *part) toldUsage(want ending) (told domain.Usage) {
	if want.usage != nil {
		return *want.usage
	}
	for _, play := range p.plays {
		if play.cost == costTold {
			told = told.Add(domain.Usage{InputTokens: tokensIn, OutputTokens: tokensOut})
		}
	}
	return told
}

// slug is a model's name.
func slug(row, number int) string { return fmt.Sprintf("played-%d-%d", row, number) }
