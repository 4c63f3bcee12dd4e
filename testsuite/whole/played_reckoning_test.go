package whole_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/testsuite"
)

// A faultReckoning is what a run has to have used, by what its server sent.
type faultReckoning struct {
	used, lost domain.Usage
	cost       int64
	steps      []stepReckoning
}

type stepReckoning struct {
	used, lost domain.Usage
	cost       int64
	tries      int
}

// reckon counts what was asked for: each answer as it told, an attempt that
// failed as far as it told, and what it did not tell as it has to be estimated.
// Messages are those of the conversation.
func (p *playedRun) reckon(messages []domain.Message) faultReckoning {
	all := faultReckoning{steps: make([]stepReckoning, len(p.steps))}
	read := p.reads(messages)
	for _, asked := range p.asked {
		step := &all.steps[asked.step]
		step.tries++
		if !asked.fault.billed() {
			continue
		}
		used := asked.told
		if used.InputTokens == 0 {
			used.InputTokens, used.Estimated = read[asked.step], true
		}
		if used.OutputTokens == 0 && (asked.thought+asked.text != "" || len(asked.calls) > 0) {
			used.OutputTokens, used.Estimated = guessMessage(asked.thought)+quarter(asked.text), true
			for _, call := range asked.calls {
				used.OutputTokens += quarter(call.Name) + quarter(call.Arguments)
			}
		}
		step.used, step.cost = step.used.Add(used), step.cost+costOf(used)
		if asked.fault != noFault {
			step.lost = step.lost.Add(used)
		}
	}
	for _, step := range all.steps {
		all.used, all.lost, all.cost = all.used.Add(step.used), all.lost.Add(step.lost), all.cost+step.cost
	}
	return all
}

// reads is what the request of each step is guessed to read.
func (p *playedRun) reads(messages []domain.Message) []int64 {
	var reads []int64
	sum := p.fixed()
	for _, m := range messages {
		if m.Role == domain.RoleAssistant {
			reads = append(reads, sum)
		}
		sum += 4
		for _, part := range m.Parts {
			sum += quarter(part.Text) + quarter(string(part.Opaque))
		}
		for _, c := range m.ToolCalls {
			sum += quarter(c.Name) + quarter(c.Arguments)
		}
		if m.ToolResult != nil {
			sum += quarter(m.ToolResult.Content)
		}
	}
	return reads
}

// calls counts the run's tool calls.
func (w wholeRun) calls() int {
	n := 0
	for _, s := range w.steps {
		n += len(s.calls)
	}
	return n
}

// require holds a run's counts against the reckoning.
func (f faultReckoning) require(t *testing.T, got testsuite.Run) {
	t.Helper()
	require.Len(t, got.Steps, len(f.steps))
	for n, want := range f.steps {
		step := got.Steps[n].Step
		tries := want.tries
		if tries == 1 {
			tries = 0
		}
		require.Equal(t, want.used, step.Usage, "usage of step %d", n+1)
		require.Equal(t, want.lost, step.Lost, "lost in step %d", n+1)
		require.Equal(t, want.cost, step.CostNanoUSD, "cost of step %d", n+1)
		require.Equal(t, tries, step.Tries, "tries of step %d", n+1)
		require.Empty(t, step.Errors)
	}
	require.Equal(t, f.used, got.Outcome.Usage)
	require.Equal(t, f.cost, got.Outcome.CostNanoUSD)
}

// A faultReport sums up what befell the runs.
type faultReport struct {
	mu       sync.Mutex
	requests int
	faults   map[faultKind]int
}

func (r *faultReport) add(p *playedRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests += len(p.asked)
	for _, asked := range p.asked {
		if asked.fault != noFault {
			r.faults[asked.fault]++
		}
	}
}

// percent is how many of the requests failed.
func (r *faultReport) percent() float64 {
	failed := 0
	for _, n := range r.faults {
		failed += n
	}
	return 100 * float64(failed) / float64(max(r.requests, 1))
}
