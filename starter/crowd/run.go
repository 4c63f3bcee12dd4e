package crowd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	sdk "go.temporal.io/sdk/client"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
	"everstep/worker/host/codec"
)

// A Config says how large the crowd is.
type Config struct {
	// Address and Namespace are the Temporal server's.
	Address, Namespace string
	// Dir is for what the workers keep.
	Dir     string
	Agents  int
	Workers int
	// Steps is how many inferences each agent makes.
	Steps             int
	RequestsPerMinute int
	// Unlimited leaves the limit out, to see the difference.
	Unlimited bool
	// Thinks is how long the model takes for an answer.
	Thinks time.Duration
	// Progress is told how far it is. Nil: nobody.
	Progress func(string)
}

// crowd is a run in progress.
type crowd struct {
	config   Config
	provider *provider
	agents   *client.Client
	ids      []string
	began    time.Time

	mu     sync.Mutex
	report Report
}

// Run runs the agents to their ends. The error is of what kept it from doing so;
// broken promises are in the report.
func Run(ctx context.Context, config Config) (Report, error) {
	c := &crowd{config: config, provider: newProvider(config)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Report{}, fmt.Errorf("listen for the model server: %w", err)
	}
	server := &http.Server{Handler: c.provider, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer server.Close()                       //nolint:errcheck // nothing is left to lose

	temporal, err := host.Dial(ctx, host.Connection{Address: config.Address, Namespace: config.Namespace})
	if err != nil {
		return Report{}, err
	}
	defer temporal.Close()
	queue := "crowd-" + uuid.NewString()
	stop, err := c.work(ctx, temporal, queue, "http://"+listener.Addr().String()+"/v1")
	if err != nil {
		return Report{}, err
	}
	defer stop()
	if err := c.begin(ctx, temporal, queue); err != nil {
		return Report{}, err
	}
	if err := c.follow(ctx); err != nil {
		return Report{}, err
	}
	err = c.countRetries(ctx)
	return c.result(), err
}

// work starts the workers.
func (c *crowd) work(ctx context.Context, temporal sdk.Client, queue, model string) (stop func(), err error) {
	var workers []*host.Worker
	stop = func() {
		for _, w := range workers {
			w.Stop()
		}
	}
	nothing := tool.New(toolName, "Does nothing.", domain.ReadOnly, func(context.Context, struct{}) (string, error) { return "done", nil })
	for range c.config.Workers {
		config := host.Config{
			Connection: host.Connection{Address: c.config.Address, Namespace: c.config.Namespace},
			TaskQueue:  queue, Dir: c.config.Dir, Storage: filepath.Join(c.config.Dir, "storage"),
			Tools: []tool.Tool{nothing}, OpenAI: host.Access{BaseURL: model, Key: "none"},
			Log: host.Log{Level: host.LevelError}, StopTimeout: time.Second,
		}
		if !c.config.Unlimited {
			config.RateLimits = map[string]host.RateLimit{"openai": {RequestsPerMinute: int64(c.config.RequestsPerMinute)}}
		}
		w, err := host.Start(ctx, temporal, config)
		if err != nil {
			stop()
			return nil, err
		}
		workers = append(workers, w)
	}
	return stop, nil
}

// begin starts all agents at once.
func (c *crowd) begin(ctx context.Context, temporal sdk.Client, queue string) error {
	compress, err := codec.New()
	if err != nil {
		return err
	}
	c.agents = client.New(temporal, client.Config{
		Namespace: c.config.Namespace, TaskQueue: queue, Converter: compress.DataConverter(),
		Loopback: host.Loopback(c.config.Address), Timing: host.Timing(c.config.Address), WorkflowTaskTimeout: host.TaskTimeout(c.config.Address),
	})
	c.began = time.Now()
	c.report = Report{
		Agents: c.config.Agents, Workers: c.config.Workers, RequestsPerMinute: c.config.RequestsPerMinute, Limited: !c.config.Unlimited,
	}
	for n := range c.config.Agents {
		begun, err := c.agents.Start(ctx, client.Start{Prompt: promptOf(n), Definition: domain.Definition{
			Model: domain.LLMConfig{Provider: "openai-chat", Model: "crowd"}, Tools: []string{toolName}, Guards: domain.Guards{Repetition: &domain.Repetition{}},
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ends := make(chan error, len(c.ids))
	for _, id := range c.ids {
		go func() { ends <- c.await(ctx, id) }()
	}
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() { c.look(ctx) })
	defer cancel() // before the wait for look
	var failed []error
	for range c.ids {
		failed = append(failed, <-ends)
	}
	return errors.Join(failed...)
}

// await waits for an agent's end.
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
	// lookEvery is how often a status is asked for, tellEvery how often it is
	// told how far it is.
	lookEvery = 200 * time.Millisecond
	tellEvery = 10 * time.Second
)

// look asks for one agent's status after the other's.
func (c *crowd) look(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	told := time.Now()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
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
			c.say("%s after %.0f s", c.provider.progress(), time.Since(c.began).Seconds())
		}
	}
}

func (c *crowd) result() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.provider
	p.mu.Lock()
	defer p.mu.Unlock()
	r := c.report
	r.Requests, r.Refused = len(p.taken), p.refused
	r.BusiestMinute, r.BusiestSecond = p.busiest(time.Minute), p.busiest(time.Second)
	r.Fairness = jain(p.halfway)
	r.Broken = r.judge()
	return r
}

func (c *crowd) say(format string, values ...any) {
	if c.config.Progress != nil {
		c.config.Progress(fmt.Sprintf(format, values...))
	}
}
