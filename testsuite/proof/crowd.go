package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/starter/local"
	"everstep/starter/process"
	"everstep/testsuite/proof/report"
	"everstep/worker/host"
)

func (p *program) crowdCommand() *cobra.Command {
	c := crowd{Agents: 100, Workers: 2, Steps: 12, RequestsPerMinute: 600, Thinks: 200 * time.Millisecond, progress: p.progress}
	command := &cobra.Command{
		Use:   "crowd",
		Short: "Run many agents on one rate limit, and show that all take turns",
		Long: `Runs many agents at once on one quota of requests a minute, against a model
server on this machine that refuses what exceeds it (HTTP 429), as providers do.
The workers have the same limit (--rate-limits), so that requests wait for their
turn in Temporal's task queue before they are made.

It brings up a dev server of its own, whose state is thrown away afterwards. The
table goes to standard output. It ends 1 if a promise was broken, and says which:
each agent completes, at most one request in a hundred is refused, each agent has
had its share at half time, and status says who waits.
With --no-limit the workers have no limit, to see the difference.`,
		Example: `  go run ./testsuite/proof crowd
  go run ./testsuite/proof crowd --agents 20 --steps 6 --requests 120
  go run ./testsuite/proof crowd --no-limit`,
		RunE: func(command *cobra.Command, _ []string) error { return p.prove(command.Context(), false, nil, c.run) },
	}
	set := command.Flags()
	set.Var(number{&c.Agents, 2, 2000}, "agents", "how many agents; 100 unless given")
	set.Var(number{&c.Workers, 1, 16}, "workers", "how many workers serve them; 2 unless given")
	set.Var(number{&c.Steps, 2, 1000}, "steps", "how many inferences each agent makes; 12 unless given")
	set.Var(number{&c.RequestsPerMinute, 1, 1_000_000}, "requests", "the quota, in requests a minute; 600 unless given")
	set.BoolVar(&c.Unlimited, "no-limit", false, "the workers know of no quota")
	return command
}

// A crowd is many agents on one quota.
type crowd struct {
	Agents            int
	Workers           int
	Steps             int // how many inferences each agent makes
	RequestsPerMinute int
	Unlimited         bool          // leaves the limit out, to see the difference
	Thinks            time.Duration // how long the model takes for an answer

	progress func(string)
	quota    *quotaServer
	agents   *client.Client
	ids      []string
	began    time.Time

	mu    sync.Mutex
	found crowdFigures
}

// crowdFigures are what a crowd did.
type crowdFigures struct {
	completed   int           // counts the agents that ended as they should
	first, last time.Duration // when agents ended
	statuses    int           // that were asked for meanwhile
	waiting     int           // counts those that said that the agent waits
	retried     int           // counts inferences that took more than one attempt
}

// run runs the agents to their ends.
func (c *crowd) run(ctx context.Context, dir string, dev devserver.Server) (r report.Report, err error) {
	c.quota = newQuotaServer(c)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return r, fmt.Errorf("listen for the model server: %w", err)
	}
	server := &http.Server{Handler: c.quota, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer server.Close()                       //nolint:errcheck // nothing is left to lose

	temporal, err := host.Dial(ctx, host.Connection{Address: dev.Address, Namespace: dev.Namespace})
	if err != nil {
		return r, err
	}
	defer temporal.Close()
	config := host.Config{
		Connection: host.Connection{Address: dev.Address, Namespace: dev.Namespace},
		TaskQueue:  "crowd-" + uuid.NewString(), Storage: filepath.Join(dir, "storage"),
		Tools:   []tool.Tool{tool.New(crowdTool, "Does nothing.", domain.ReadOnly, func(context.Context, struct{}) (string, error) { return "done", nil })},
		Vendors: map[string]host.Access{"openai": {BaseURL: "http://" + listener.Addr().String() + "/v1", Key: "none"}},
		Log:     host.Log{Level: slog.LevelError}, StopTimeout: time.Second,
	}
	if !c.Unlimited {
		config.RateLimits = map[string]host.RateLimit{"openai": {RequestsPerMinute: int64(c.RequestsPerMinute)}}
	}
	c.agents = local.Client(temporal, dev.Address, client.Config{Namespace: dev.Namespace, TaskQueue: config.TaskQueue})
	for range c.Workers {
		w, err := host.Start(ctx, temporal, config)
		if err != nil {
			return r, err
		}
		defer w.Stop()
	}
	if err := c.begin(ctx); err != nil {
		return r, err
	}
	if err := c.follow(ctx); err != nil {
		return r, err
	}
	for _, id := range c.ids {
		for step, err := range c.agents.Steps(ctx, id, 0) {
			if err != nil {
				return r, err
			}
			if step.Step.Tries > 1 {
				c.found.retried++
			}
		}
	}
	return c.report(), nil
}

func (c *crowd) begin(ctx context.Context) error {
	c.began = time.Now()
	for n := range c.Agents {
		begun, err := c.agents.Start(ctx, client.Start{Prompt: crowdPrompt(n), Definition: domain.Definition{
			Model: domain.LLMConfig{Provider: "openai-chat", Model: "crowd"}, Tools: []string{crowdTool}, Approvals: domain.ApprovalsOf("allow"),
			Guards: domain.Guards{Repetition: &domain.Repetition{}}, Budget: domain.Unlimited(),
		}})
		if err != nil {
			return err
		}
		c.ids = append(c.ids, begun.ID)
	}
	c.progress(fmt.Sprintf("%d agents begun, %d inferences each", c.Agents, c.Steps))
	return nil
}

// follow waits for all agents, and asks for their statuses meanwhile.
func (c *crowd) follow(ctx context.Context) error {
	var waiting errgroup.Group
	for _, id := range c.ids {
		waiting.Go(func() error { return c.await(ctx, id) })
	}
	beside, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() { c.look(beside) })
	err := waiting.Wait()
	cancel()
	looking.Wait()
	return err
}

func (c *crowd) await(ctx context.Context, id string) error {
	result, err := c.agents.Wait(ctx, id, 0)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if result.Outcome.Status == domain.StatusCompleted && result.Outcome.Steps == c.Steps && result.Answer == "done" {
		c.found.completed++
	}
	c.found.last = time.Since(c.began)
	if c.found.first == 0 {
		c.found.first = c.found.last
	}
	return nil
}

// tellEvery is between two lines on how far a measurement is.
const tellEvery = 10 * time.Second

// look asks for one agent's status after the other's.
func (c *crowd) look(ctx context.Context) {
	const every = 200 * time.Millisecond
	told := time.Now()
	for n := 0; process.Pause(ctx, every) == nil; n++ {
		status, err := c.agents.Status(ctx, c.ids[n%len(c.ids)])
		if err != nil || status.Status != domain.StatusInProgress {
			continue
		}
		c.mu.Lock()
		c.found.statuses++
		if status.RateLimited {
			c.found.waiting++
		}
		c.mu.Unlock()
		if time.Since(told) >= tellEvery {
			told = time.Now()
			c.progress(fmt.Sprintf("%s after %.0f s", c.quota.progress(), time.Since(c.began).Seconds()))
		}
	}
}

const (
	leastFair   = 0.95 // the index below which agents have not had their share
	mostRefused = 1    // percent of requests above which refusals are a storm
)

// report tells what the crowd did, and which promises were broken. Without a limit there are none but that all complete.
func (c *crowd) report() (r report.Report) {
	q, found := c.quota, c.found
	requests, fair := len(q.taken), fairness(q.halfway)
	r.Facts.Add("completed", "agents completed", report.Share{N: found.completed, Of: c.Agents})
	r.Facts.Add("workers", "workers", c.Workers)
	r.Facts.Add("limited", "workers know the quota", !c.Unlimited)
	r.Facts.Add("requests_per_minute", "quota a minute", c.RequestsPerMinute)
	r.Facts.Add("requests", "requests taken", requests)
	r.Facts.Add("refused", "requests refused (429)", q.refused)
	r.Facts.Add("busiest_minute", "requests in the busiest minute", q.busiest(time.Minute))
	r.Facts.Add("busiest_second", "requests in the busiest second", q.busiest(time.Second))
	r.Facts.Add("fairness", "fairness at half time, of 1", fair)
	r.Facts.Add("first_end_seconds", "first agent ended after", found.first)
	r.Facts.Add("last_end_seconds", "last agent ended after", found.last)
	r.Facts.Add("statuses_waiting", "statuses that said waiting", report.Share{N: found.waiting, Of: found.statuses})
	r.Facts.Add("statuses", "statuses asked for", found.statuses)
	r.Facts.Add("inferences_retried", "inferences retried", found.retried)
	holds := func(kept bool, promise report.Promise, format string, values ...any) {
		if !kept {
			r.Broken = append(r.Broken, report.Broken{Promise: promise, Detail: fmt.Sprintf(format, values...)})
		}
	}
	holds(found.completed >= c.Agents, "completed", "%d of %d agents did not complete", c.Agents-found.completed, c.Agents)
	if !c.Unlimited {
		holds(q.refused*100 <= requests*mostRefused, "refused", "the provider refused %d requests beside the %d it took", q.refused, requests)
		holds(fair >= leastFair, "fairness", "at half time the agents had not had the same: %.3f of 1", fair)
		holds(found.waiting > 0, "statuses_waiting", "no status said that an agent waits for its turn")
	}
	return r
}

// fairness is Jain's index of shares (Jain, Chiu and Hawe, 1984: (Σx)² / (n·Σx²)), of the best that there can be where the sum
// does not divide: 1 where each has had the same, as far as whole requests can be shared out, about 1/n where one has had all.
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
