package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/process"
	"everstep/worker/host"
)

// A CrowdConfig says how large the crowd is.
type CrowdConfig struct {
	// Address and Namespace are the Temporal server's.
	Address, Namespace string
	Dir                string // for what the workers keep
	Agents             int
	Workers            int
	Steps              int // how many inferences each agent makes
	RequestsPerMinute  int
	Unlimited          bool          // leaves the limit out, to see the difference
	Thinks             time.Duration // how long the model takes for an answer
	// Progress is told how far it is.
	Progress func(string)
}

type crowd struct {
	config CrowdConfig
	server *quotaServer
	agents *client.Client
	ids    []string
	began  time.Time

	mu     sync.Mutex
	report CrowdReport
}

// Crowd runs the agents to their ends. Broken promises are in the report.
func Crowd(ctx context.Context, config CrowdConfig) (CrowdReport, error) {
	c := &crowd{config: config, server: &quotaServer{CrowdConfig: config, asked: make([]int, config.Agents)}, report: CrowdReport{
		Agents: config.Agents, Workers: config.Workers, RequestsPerMinute: config.RequestsPerMinute, Limited: !config.Unlimited,
	}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return CrowdReport{}, fmt.Errorf("listen for the model server: %w", err)
	}
	server := &http.Server{Handler: c.server, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer server.Close()                       //nolint:errcheck // nothing is left to lose

	temporal, err := host.Dial(ctx, host.Connection{Address: config.Address, Namespace: config.Namespace})
	if err != nil {
		return CrowdReport{}, err
	}
	defer temporal.Close()
	queue := "crowd-" + uuid.NewString()
	c.agents = local.Client(temporal, config.Address, client.Config{Namespace: config.Namespace, TaskQueue: queue})
	for range config.Workers {
		w, err := host.Start(ctx, temporal, config.worker(queue, "http://"+listener.Addr().String()+"/v1"))
		if err != nil {
			return CrowdReport{}, err
		}
		defer w.Stop()
	}
	if err := c.begin(ctx); err != nil {
		return CrowdReport{}, err
	}
	if err := c.follow(ctx); err != nil {
		return CrowdReport{}, err
	}
	err = c.countRetries(ctx)
	return c.result(), err
}

// worker is one that serves a queue with the model at a URL.
func (c CrowdConfig) worker(queue, model string) host.Config {
	nothing := tool.New(crowdTool, "Does nothing.", domain.ReadOnly, func(context.Context, struct{}) (string, error) { return "done", nil })
	config := host.Config{
		Connection: host.Connection{Address: c.Address, Namespace: c.Namespace},
		TaskQueue:  queue, Dir: c.Dir, Storage: filepath.Join(c.Dir, "storage"),
		Tools: []tool.Tool{nothing}, Vendors: map[string]host.Access{"openai": {BaseURL: model, Key: "none"}},
		Log: host.Log{Level: slog.LevelError}, StopTimeout: time.Second,
	}
	if !c.Unlimited {
		config.RateLimits = map[string]host.RateLimit{"openai": {RequestsPerMinute: int64(c.RequestsPerMinute)}}
	}
	return config
}

func (c *crowd) begin(ctx context.Context) error {
	c.began = time.Now()
	for n := range c.config.Agents {
		begun, err := c.agents.Start(ctx, client.Start{Prompt: crowdPrompt(n), Definition: domain.Definition{
			Model: domain.LLMConfig{Provider: "openai-chat", Model: "crowd"}, Tools: []string{crowdTool}, Guards: domain.Guards{Repetition: &domain.Repetition{}},
		}})
		if err != nil {
			return err
		}
		c.ids = append(c.ids, begun.ID)
	}
	c.say("%d agents begun, %d inferences each", c.config.Agents, c.config.Steps)
	return nil
}

// follow waits for all agents, and asks for their statuses meanwhile.
func (c *crowd) follow(ctx context.Context) error {
	var waiting, looking sync.WaitGroup
	failed := make([]error, len(c.ids))
	for i, id := range c.ids {
		waiting.Go(func() { failed[i] = c.await(ctx, id) })
	}
	beside, cancel := context.WithCancel(ctx)
	looking.Go(func() { c.look(beside) })
	waiting.Wait()
	cancel()
	looking.Wait()
	return errors.Join(failed...)
}

func (c *crowd) await(ctx context.Context, id string) error {
	result, err := c.agents.Wait(ctx, id, 0)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, took := &c.report, time.Since(c.began).Seconds()
	if result.Outcome.Status == domain.StatusCompleted && result.Outcome.Steps == c.config.Steps && result.Answer == "done" {
		r.Completed++
	}
	if r.FirstSeconds == 0 {
		r.FirstSeconds = took
	}
	r.LastSeconds = took
	return nil
}

// countRetries counts the inferences that took more than one attempt.
func (c *crowd) countRetries(ctx context.Context) error {
	for _, id := range c.ids {
		for step, err := range c.agents.Steps(ctx, id, 0) {
			if err != nil {
				return err
			}
			if step.Step.Tries > 1 {
				c.report.Retried++
			}
		}
	}
	return nil
}

const (
	lookEvery = 200 * time.Millisecond // between two questions for a status
	tellEvery = 10 * time.Second       // between two words on how far it is
)

// look asks for one agent's status after the other's.
func (c *crowd) look(ctx context.Context) {
	told := time.Now()
	for n := 0; process.Pause(ctx, lookEvery) == nil; n++ {
		status, err := c.agents.Status(ctx, c.ids[n%len(c.ids)])
		if err != nil || status.Status != domain.StatusInProgress {
			continue
		}
		c.mu.Lock()
		c.report.Statuses++
		if status.RateLimited {
			c.report.Waiting++
		}
		c.mu.Unlock()
		if since := time.Since(told); since >= tellEvery {
			told = time.Now()
			c.say("%s after %.0f s", c.server.progress(), time.Since(c.began).Seconds())
		}
	}
}

func (c *crowd) result() CrowdReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.server
	p.mu.Lock()
	defer p.mu.Unlock()
	r := c.report
	r.Requests, r.Refused = len(p.taken), p.refused
	r.BusiestMinute, r.BusiestSecond = p.busiest(time.Minute), p.busiest(time.Second)
	r.Fairness = fairness(p.halfway)
	r.Broken = r.judge()
	return r
}

func (c *crowd) say(format string, values ...any) {
	c.config.Progress(fmt.Sprintf(format, values...))
}

// A CrowdReport is what a crowd did.
type CrowdReport struct {
	Agents            int  `json:"agents"`
	Workers           int  `json:"workers"`
	RequestsPerMinute int  `json:"requests_per_minute"`
	Limited           bool `json:"limited"`
	Completed         int  `json:"completed"` // counts the agents that ended as they should
	Requests          int  `json:"requests"`  // those that the provider took; Refused were too many
	Refused           int  `json:"refused"`
	// BusiestMinute and BusiestSecond are the most that were taken within any
	// such time.
	BusiestMinute int `json:"busiest_minute"`
	BusiestSecond int `json:"busiest_second"`
	// Fairness is Jain's index of the agents' requests when half of all were
	// taken: 1 where each has had the same, as far as whole requests can be shared out, about
	// 1/Agents where one has had all. (Jain, Chiu and Hawe, 1984: (Σx)² / (n·Σx²).)
	Fairness     float64 `json:"fairness"`
	FirstSeconds float64 `json:"first_end_seconds"` // First and Last are when agents ended
	LastSeconds  float64 `json:"last_end_seconds"`
	// Statuses were asked for meanwhile; Waiting of them said that the agent waits.
	Statuses int `json:"statuses"`
	Waiting  int `json:"statuses_waiting"`
	Retried  int `json:"inferences_retried"` // counts inferences that took more than one attempt
	// Broken says which promises were not kept; empty: all were.
	Broken []string `json:"broken,omitempty"`
}

// Table is the report as people read it.
func (r CrowdReport) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"agents completed", fmt.Sprintf("%d of %d, on %d workers", r.Completed, r.Agents, r.Workers)},
		{"requests taken", strconv.Itoa(r.Requests)},
		{"requests refused (429)", strconv.Itoa(r.Refused)},
		{"busiest minute", fmt.Sprintf("%d requests; the quota is %d", r.BusiestMinute, r.RequestsPerMinute)},
		{"busiest second", fmt.Sprintf("%d requests", r.BusiestSecond)},
		{"fairness at half time", fmt.Sprintf("%.3f of 1", r.Fairness)},
		{"agents ended", fmt.Sprintf("after %.1f to %.1f s", r.FirstSeconds, r.LastSeconds)},
		{"statuses that said waiting", fmt.Sprintf("%d of %d", r.Waiting, r.Statuses)},
		{"inferences retried", strconv.Itoa(r.Retried)},
	} {
		_, _ = fmt.Fprintln(w, row[0]+"\t"+row[1]) // a builder takes all
	}
	_ = w.Flush()
	return b.String()
}

// fairness is Jain's index, of the best that there can be where the sum does not divide.
func fairness(shares []int) float64 {
	even, sum := make([]int, len(shares)), 0
	for _, x := range shares {
		sum += x
	}
	if sum == 0 {
		return 0
	}
	for i := range even {
		even[i] = (sum + i) / len(shares)
	}
	return jain(shares) / jain(even)
}

// jain is Jain's index of fairness.
func jain(shares []int) float64 {
	var sum, squares float64
	for _, x := range shares {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}

const (
	leastFair   = 0.95 // the index below which agents have not had their share
	mostRefused = 1    // percent of requests above which refusals are a storm
)

// judge says which promises were broken. Without a limit there are none but that
// all complete.
func (r CrowdReport) judge() []string {
	var broken []string
	hold := func(kept bool, format string, values ...any) {
		if !kept {
			broken = append(broken, fmt.Sprintf(format, values...))
		}
	}
	hold(r.Completed >= r.Agents, "%d of %d agents did not complete", r.Agents-r.Completed, r.Agents)
	if r.Limited {
		hold(r.Refused*100 <= r.Requests*mostRefused, "the provider refused %d requests beside the %d it took", r.Refused, r.Requests)
		hold(r.Fairness >= leastFair, "at half time the agents had not had the same: %.3f of 1", r.Fairness)
		hold(r.Waiting > 0, "no status said that an agent waits for its turn")
	}
	return broken
}

const crowdTool = "nothing"

// A quotaServer plays the chat completions API under a quota. Each agent makes
// calls for as long as its steps need, then answers.
type quotaServer struct {
	CrowdConfig

	mu      sync.Mutex
	taken   []time.Time
	refused int
	asked   []int // what was taken of each agent
	halfway []int // the same when half of all was
}

var agentNumber = regexp.MustCompile(`agent number (\d+)`)

// crowdPrompt is what an agent is told, by which the provider knows it.
func crowdPrompt(agent int) string { return fmt.Sprintf("You are agent number %d.", agent) }

// ServeHTTP takes a request, or refuses it.
func (p *quotaServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	agent := -1
	if found := agentNumber.FindSubmatch(body); err == nil && found != nil {
		agent, err = strconv.Atoi(string(found[1]))
	}
	if err != nil || agent < 0 || agent >= p.Agents {
		http.Error(w, `{"error":{"message":"which agent is this?"}}`, http.StatusBadRequest)
		return
	}
	if wait := p.take(agent, time.Now()); wait > 0 {
		w.Header().Set("Retry-After-Ms", strconv.FormatInt(wait.Milliseconds()+1, 10))
		http.Error(w, `{"error":{"message":"rate limit reached for requests","type":"requests","code":"rate_limit_exceeded"}}`, http.StatusTooManyRequests)
		return
	}
	select {
	case <-r.Context().Done():
		return
	case <-time.After(p.Thinks):
	}
	delta, finish := `{"content":"done"}`, "stop"
	if done := bytes.Count(body, []byte(`"role":"tool"`)); done < p.Steps-1 {
		delta, finish = fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":%q,"arguments":"{}"}}]}`, done, crowdTool), "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: {\"id\":\"c\",\"model\":\"crowd\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%q}],"+
		"\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":120}}\n\ndata: [DONE]\n\n", delta, finish) // whoever left needs none
}

// secondShare is the part of a minute's requests that may come within a second.
const secondShare = 20

// take counts a request in, or says after which time it may come again.
func (p *quotaServer) take(agent int, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, window := range []struct {
		span time.Duration
		most int
	}{{time.Minute, p.RequestsPerMinute}, {time.Second, max(p.RequestsPerMinute/secondShare, 1)}} {
		if n := len(p.taken); n >= window.most {
			if free := p.taken[n-window.most].Add(window.span); free.After(now) {
				p.refused++
				return free.Sub(now)
			}
		}
	}
	p.taken = append(p.taken, now)
	p.asked[agent]++
	if len(p.taken) == p.Agents*p.Steps/2 {
		p.halfway = slices.Clone(p.asked)
	}
	return 0
}

// busiest is how many requests were taken at most within a time.
func (p *quotaServer) busiest(span time.Duration) int {
	most, from := 0, 0
	for i, at := range p.taken {
		for at.Sub(p.taken[from]) >= span {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

func (p *quotaServer) progress() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%d of %d requests taken, %d refused", len(p.taken), p.Agents*p.Steps, p.refused)
}
