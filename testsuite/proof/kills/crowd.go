package kills

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
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
		TaskQueue:  queue, Storage: filepath.Join(c.Dir, "storage"),
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
			Model: domain.LLMConfig{Provider: "openai-chat", Model: "crowd"}, Tools: []string{crowdTool}, Approvals: domain.ApprovalsOf("allow"), Guards: domain.Guards{Repetition: &domain.Repetition{}}, Budget: domain.Unlimited(),
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
