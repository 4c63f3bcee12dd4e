package whole_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/testsuite"
)

// The prices of the recorded model, in nano-dollars for a million tokens.
const (
	inputPrice  = 2_500_000_000
	outputPrice = 10_000_000_000
	cachePrice  = 1_250_000_000
)

// A reckoning is where an execution has to end under a budget. It is reckoned
// here from the recording alone, by what the specification says and with
// nothing of the code that it is held against.
type reckoning struct {
	// played is the run as the model plays it: what is longer than its bound is cut.
	played wholeRun
	status domain.ExecutionStatus
	reason domain.StopReason
	// steps are those that began, whole those of them that came as recorded.
	steps, whole int
	tokens, cost int64
	calls        int64
	// bounds are what the answer of each step is bounded to; zero is not at all.
	bounds []int64
	// noTools says of each step that no tools are offered.
	noTools []bool
}

// foresee reckons where a run ends under limits of steps, tokens, cost and tool calls.
func (w wholeRun) foresee(b domain.ExecutionBudget) reckoning {
	f := reckoning{played: w, status: domain.StatusStopped}
	f.played.steps = append([]recordedStep(nil), w.steps...)
	conversation, excess := w.fixed()+guessMessage(w.prompt), int64(0)
	for n, s := range w.steps {
		guess := conversation + excess
		bound, binds, reason := f.mayBegin(b, int64(n), guess)
		if reason != "" {
			f.reason = reason
			return f
		}
		f.bounds = append(f.bounds, bound)
		f.noTools = append(f.noTools, len(w.toolNames) == 0 || b.MaxToolCalls != nil && f.calls >= *b.MaxToolCalls)
		f.steps++
		used := s.usage
		cut := bound > 0 && used.OutputTokens > bound
		if cut {
			used.OutputTokens = bound
			f.played.steps[n] = recordedStep{text: s.text[:min(len(s.text), int(bound))], usage: used, finish: domain.FinishLength}
		}
		f.tokens += used.InputTokens + used.OutputTokens
		f.cost += costOf(used)
		if cut {
			f.reason = binds
			return f
		}
		f.whole++
		excess = max(used.InputTokens-conversation, 0)
		conversation += s.guess()
		for range s.calls {
			if b.MaxToolCalls != nil && f.calls >= *b.MaxToolCalls {
				f.reason = domain.ToolCallLimitReached
				continue
			}
			f.calls++
		}
		if f.reason != "" {
			f.whole-- // some of its results say that they were not allowed
			return f
		}
	}
	f.status, f.reason = domain.StatusCompleted, domain.Completed
	return f
}

// mayBegin is the check before a step: how long its answer may get and which
// limit says so, or which limit forbids the step.
func (f reckoning) mayBegin(b domain.ExecutionBudget, done, guess int64) (bound int64, binds, forbids domain.StopReason) {
	switch {
	case b.MaxSteps != nil && done >= *b.MaxSteps:
		return 0, "", domain.StepsLimitReached
	case b.MaxTokens != nil && f.tokens >= *b.MaxTokens:
		return 0, "", domain.TokenLimitReached
	case b.MaxCostNanoUSD != nil && f.cost >= *b.MaxCostNanoUSD:
		return 0, "", domain.CostLimitReached
	}
	if b.MaxTokens != nil {
		bound, binds = *b.MaxTokens-f.tokens-guess, domain.TokenLimitReached
		if bound < 1 {
			return 0, "", domain.TokenLimitReached
		}
	}
	if b.MaxCostNanoUSD != nil {
		money := *b.MaxCostNanoUSD - f.cost - dear(guess, inputPrice)
		if money < 0 || money*1_000_000/outputPrice < 1 {
			return 0, "", domain.CostLimitReached
		}
		if buys := money * 1_000_000 / outputPrice; bound == 0 || buys < bound {
			bound, binds = buys, domain.CostLimitReached
		}
	}
	return bound, binds, ""
}

// costOf is what an inference costs, and dear what tokens of a price do, in
// nano-dollars, rounded up.
func costOf(u domain.Usage) int64 {
	sum := (u.InputTokens-u.CacheReadTokens)*inputPrice + u.CacheReadTokens*cachePrice + u.OutputTokens*outputPrice
	return (sum + 999_999) / 1_000_000
}

func dear(tokens, price int64) int64 { return (tokens*price + 999_999) / 1_000_000 }

// fixed is what is guessed to be read beside the conversation: a token for four
// bytes of each text.
func (w wholeRun) fixed() int64 {
	sum := quarter(w.system)
	for _, name := range w.toolNames {
		sum += quarter(name) + quarter(anySchema)
	}
	return sum
}

// guess is what the step adds to the conversation.
func (s recordedStep) guess() int64 {
	sum := guessMessage(s.text)
	for _, c := range s.calls {
		sum += quarter(c.Function.Name) + quarter(c.Function.Arguments)
	}
	for _, result := range s.results {
		sum += guessMessage(result)
	}
	if s.user != "" {
		sum += guessMessage(s.user)
	}
	return sum
}

func quarter(text string) int64      { return int64(len(text)+3) / 4 }
func guessMessage(text string) int64 { return 4 + quarter(text) }

// limits are those to try on a run: each kind alone at a quarter and a half of
// what the run needs, at one less and at exactly that, and a few drawn mixes.
func (w wholeRun) limits(draw *rand.Rand) []domain.ExecutionBudget {
	all := w.foresee(domain.ExecutionBudget{})
	var limits []domain.ExecutionBudget
	for _, one := range []struct {
		need int64
		set  func(*domain.ExecutionBudget, *int64)
	}{
		{int64(all.steps), func(b *domain.ExecutionBudget, n *int64) { b.MaxSteps = n }},
		{all.tokens, func(b *domain.ExecutionBudget, n *int64) { b.MaxTokens = n }},
		{all.cost, func(b *domain.ExecutionBudget, n *int64) { b.MaxCostNanoUSD = n }},
		{all.calls, func(b *domain.ExecutionBudget, n *int64) { b.MaxToolCalls = n }},
	} {
		for _, n := range []int64{one.need / 4, one.need / 2, one.need - 1, one.need} {
			var b domain.ExecutionBudget
			one.set(&b, new(max(n, 0)))
			limits = append(limits, b)
		}
	}
	for range 4 {
		share := func(need int64) *int64 { return new(need * (20 + draw.Int64N(100)) / 100) }
		limits = append(limits, domain.ExecutionBudget{
			MaxSteps: share(int64(all.steps)), MaxTokens: share(all.tokens), MaxCostNanoUSD: share(all.cost), MaxToolCalls: share(all.calls + 1),
		})
	}
	return limits
}

// limited is an agent with a price, and with guards that nothing here trips but
// the cut answers, for which a limit counts more.
func limited(budget domain.ExecutionBudget) domain.Definition {
	return domain.Definition{
		Model:  domain.LLMConfig{Price: &domain.Price{Input: inputPrice, Output: outputPrice, CacheRead: new(int64(cachePrice))}},
		Budget: budget,
		Guards: domain.Guards{
			FinishReasons: []domain.FinishReason{domain.FinishLength, domain.FinishContentFilter},
		},
	}
}

// TestRecordedRunsStopWhereTheyHaveTo drives the recorded runs into limits: each
// stops at the step, for the reason and with the spending that the recording
// and the limit leave no choice about.
func TestRecordedRunsStopWhereTheyHaveTo(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	runs, ends := 0, map[domain.StopReason]int{}
	eachRecorded(t, func(t *testing.T, recorded recordedRun, draw *rand.Rand) {
		run := recorded.whole(19 + 4*draw.IntN(5))
		for n, budget := range run.limits(draw) {
			want := run.foresee(budget)
			got := want.played.play(t, limited(budget))
			want.require(t, fmt.Sprintf("limit %d: %s", n, budgetText(budget)), got)
			mu.Lock()
			ends[want.reason]++
			mu.Unlock()
		}
		mu.Lock()
		runs++
		mu.Unlock()
	})
	t.Logf("%d runs ended %v", runs, ends)
	if runs < enough || t.Failed() {
		t.Log("with so FEW runs not every kind of end has to be met")
		return
	}
	for _, reason := range []domain.StopReason{
		domain.Completed, domain.StepsLimitReached, domain.TokenLimitReached, domain.CostLimitReached, domain.ToolCallLimitReached,
	} {
		require.Positive(t, ends[reason], "no limit led to %s", reason)
	}
}

// TestRecordedRunsMeetNoGuard: with every guard on, at limits that they just do not reach, the recorded runs come out
// as they were recorded.
func TestRecordedRunsMeetNoGuard(t *testing.T) {
	t.Parallel()
	eachRecorded(t, func(t *testing.T, recorded recordedRun, _ *rand.Rand) {
		run := recorded.whole(25)
		definition := run.guarded()
		got := run.play(t, definition)
		want := run.foresee(definition.Budget)
		require.Equal(t, domain.StatusCompleted, want.status)
		want.require(t, budgetText(definition.Budget), got)
		require.Equal(t, run.steps[len(run.steps)-1].text, got.Answer)
		require.Len(t, got.Messages, len(run.messages(len(run.steps))), "no guard has said anything")
		plain := run.play(t, domain.Definition{})
		require.Equal(t, plain.Transcript(), got.Transcript())
		require.Equal(t, plain.Outcome.Usage, got.Outcome.Usage)
		require.Equal(t, plain.EventTypes(), got.EventTypes())
	})
}

// require holds a run against the reckoning.
func (f reckoning) require(t *testing.T, limit string, got testsuite.Run) {
	t.Helper()
	outcome := got.Outcome
	require.Equal(t, []any{f.status, f.reason}, []any{outcome.Status, outcome.StopReason}, "%s: %+v", limit, got.Error)
	require.Equal(t, f.steps, outcome.Steps, limit)
	require.Equal(t, f.tokens, outcome.Usage.TotalTokens(), limit)
	require.Equal(t, f.cost, outcome.CostNanoUSD, limit)
	require.Len(t, got.Called(), int(f.calls), limit)
	require.Len(t, got.Asked, f.steps, "%s: inferences", limit)
	for n, asked := range got.Asked {
		require.Equal(t, f.bounds[n], asked.MaxOutputTokens, "%s: bound of step %d", limit, n+1)
		require.Equal(t, f.noTools[n], len(asked.Tools) == 0, "%s: tools of step %d", limit, n+1)
	}
	requireBegins(t, f.played.messages(f.whole), got.Messages)
}

func budgetText(b domain.ExecutionBudget) string {
	text := ""
	for _, one := range []struct {
		name  string
		value *int64
	}{{"steps", b.MaxSteps}, {"tokens", b.MaxTokens}, {"nano-dollars", b.MaxCostNanoUSD}, {"calls", b.MaxToolCalls}} {
		if one.value != nil {
			text += fmt.Sprintf(" %d %s", *one.value, one.name)
		}
	}
	return text
}

// eachRecorded runs a test on recorded runs, some of which call tools in parallel: as many as are enough, all with
// EVERSTEP_RECORDED=all, a few with -short. The draw is the run's own, the same each time.
func eachRecorded(t *testing.T, test func(t *testing.T, run recordedRun, draw *rand.Rand)) {
	t.Helper()
	runs := repeated(recordedRuns(t), enough)
	step := len(runs) / enough
	switch {
	case testing.Short():
		step = 12
	case everyRecorded():
		step = 1
	}
	t.Run("runs", func(t *testing.T) {
		for i := 0; i < len(runs); i += step {
			run := runs[i]
			if i%4 == 3 {
				run = run.merged()
			}
			t.Run(run.ID, func(t *testing.T) {
				t.Parallel()
				test(t, run, rand.New(rand.NewPCG(44, uint64(i))))
			})
		}
	})
}

// guarded is an agent with every guard on, at limits that a run just does not
// reach: of tokens and money it needs a little more than it spends, since what
// is guessed of an inference has to fit too.
func (w wholeRun) guarded() domain.Definition {
	need := w.foresee(domain.ExecutionBudget{})
	budget := domain.ExecutionBudget{MaxSteps: new(int64(need.steps)), MaxToolCalls: new(need.calls)}
	for percent := int64(100); budget.MaxTokens == nil || w.foresee(budget).status != domain.StatusCompleted; percent++ {
		budget.MaxTokens, budget.MaxCostNanoUSD = new(need.tokens*percent/100), new(need.cost*percent/100)
	}
	*budget.MaxSteps++
	*budget.MaxToolCalls++
	budget.MaxSeconds, budget.Deadline = new(3600.0), new(time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC))
	definition := limited(budget)
	definition.Guards.OutputRetries, definition.Guards.FinalAnswer = new(0), true
	const never = 12 // no run makes a step so often in a row
	definition.Guards.Repetition = &domain.Repetition{Nudge: never, Stop: never + 1}
	return definition
}
