package chaos

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"everstep/domain"
)

// A Config says what is to be killed, and where.
type Config struct {
	// Address is a server that answers, host and port. It must suggest to
	// continue as new after few events, or domain.Continuing is not reached.
	Address string
	// Namespace is the one to run in. Empty: default.
	Namespace string
	// Worker is the command line that runs [Work]; one argument is added to
	// it. Default: this program with [WorkerCommand].
	Worker []string
	// Dir keeps the ledger, the workers' logs and what they store; it must
	// exist. The caller removes it.
	Dir string

	// Kills is how many SIGKILLs are made, evenly over Boundaries.
	Kills int
	// Boundaries are where. Empty: all that one of the agents reaches.
	Boundaries []domain.Boundary
	// Lanes is how many agents run at a time, each with a worker of its own.
	// Zero: DefaultLanes.
	Lanes int
	// Seed chooses which passes of a boundary are hit.
	Seed uint64
	// Agents are those that run, again and again until all kills are made.
	// Empty: Scripted().
	Agents []Agent
	// Patience is after how many agents that did not reach a boundary it is
	// given up. Zero: ten, or twice as many as there are agents.
	Patience int

	// Progress gets one line at a time. Nil is silent.
	Progress func(line string)
}

// DefaultLanes is how many agents run at a time.
const DefaultLanes = 2

func (c Config) checked() (Config, error) {
	if c.Kills < 1 {
		return c, domain.Errorf(domain.Invalid, "kills: is %d; give a number from 1 on", c.Kills)
	}
	if c.Lanes < 0 || c.Lanes > 64 {
		return c, domain.Errorf(domain.Invalid, "lanes: is %d; give a number from 1 to 64", c.Lanes)
	}
	if c.Lanes == 0 {
		c.Lanes = DefaultLanes
	}
	if c.Namespace == "" {
		c.Namespace = "default"
	}
	if len(c.Agents) == 0 {
		c.Agents = Scripted()
	}
	for _, a := range c.Agents {
		if err := a.check(); err != nil {
			return c, err
		}
	}
	if err := c.aimed(); err != nil {
		return c, err
	}
	if len(c.Boundaries) == 0 {
		c.Boundaries = Reached(c.Agents)
	}
	if c.Patience == 0 {
		c.Patience = max(10, 2*len(c.Agents))
	}
	if len(c.Worker) == 0 {
		self, err := os.Executable()
		if err != nil {
			return c, fmt.Errorf("find this program to run workers: %w", err)
		}
		c.Worker = []string{self, WorkerCommand}
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	return c, nil
}

// Reached are the boundaries that one of several agents reaches.
func Reached(agents []Agent) []domain.Boundary {
	return slices.DeleteFunc(domain.Boundaries(), func(b domain.Boundary) bool {
		return !slices.ContainsFunc(agents, func(a Agent) bool { return a.reaches(b) })
	})
}

// aimed says which boundary there is none of, or that no agent reaches.
func (c Config) aimed() error {
	reached := Reached(c.Agents)
	for _, b := range c.Boundaries {
		switch {
		case !slices.Contains(domain.Boundaries(), b):
			return domain.Errorf(domain.Invalid, "boundary: %q is none of %v", string(b), domain.Boundaries())
		case !slices.Contains(reached, b):
			return domain.Errorf(domain.Invalid, "boundary: none of the agents reaches %s; they reach %v", b, reached)
		}
	}
	return nil
}

// Run makes the kills and reports what they did. A broken promise is in the
// report; an error means that the proof itself could not be carried out, and
// what had been found until then is in the report all the same.
func Run(ctx context.Context, config Config) (Report, error) {
	config, err := config.checked()
	if err != nil {
		return Report{}, err
	}
	began := time.Now()
	p, err := begin(ctx, config)
	if err != nil {
		return Report{}, err
	}
	defer p.close()
	err = p.run(ctx)
	return p.report(time.Since(began)), err
}
