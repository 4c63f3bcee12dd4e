package whole_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/hook"
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
	// beyond is by how many tokens, and by how much money, the last inference
	// was dearer than what was reserved for it.
	beyondTokens, beyondCost int64
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
		f.beyondTokens = max(used.InputTokens-guess, 0)
		f.beyondCost = max(costOf(used)-dear(guess, inputPrice)-dear(used.OutputTokens, outputPrice)+1, 0)
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
	if w.schema != "" {
		const told = 60 // for the words around it
		sum += quarter(w.schema) + told
	}
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
	recorded := recordedRuns(t)
	runs, step := repeated(recorded, enough), 1
	if testing.Short() {
		step = 12
	}
	found := &overshoots{ends: map[domain.StopReason]int{}}
	t.Run("runs", func(t *testing.T) {
		for i := 0; i < len(runs); i += step {
			recorded, tokens := runs[i], 19+4*(i%5)
			if i%4 == 3 {
				recorded = recorded.merged()
			}
			t.Run(recorded.ID, func(t *testing.T) {
				t.Parallel()
				run := recorded.whole(tokens)
				for n, budget := range run.limits(rand.New(rand.NewPCG(4, uint64(i)))) {
					want := run.foresee(budget)
					got := want.played.play(t, limited(budget))
					want.require(t, fmt.Sprintf("limit %d: %s", n, budgetText(budget)), got)
					found.add(t, budget, want)
				}
			})
		}
	})
	found.report(t, len(recorded) >= enough)
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

// TestRecordedRunsKnowWhatIsLeft: after each step hooks find in the state what the
// recording has left of every limit, also where the run goes on from another one.
func TestRecordedRunsKnowWhatIsLeft(t *testing.T) {
	t.Parallel()
	eachRecorded(t, func(t *testing.T, run wholeRun, draw *rand.Rand) {
		const much = int64(1) << 40
		totals := domain.ExecutionBudget{
			MaxSteps: new(much), MaxTokens: new(much), MaxCostNanoUSD: new(much), MaxToolCalls: new(much), MaxSeconds: new(1e6),
		}
		first := limited(totals)
		first.Guards, first.Budget.MaxSteps = domain.Guards{}, new(1+draw.Int64N(int64(len(run.steps))))
		var left, shown []domain.ExecutionBudget
		look := hook.AfterStep("look", func(c hook.Point) (hook.Point, error) {
			b, _ := c.State.BudgetLeft(c.Now)
			left, shown = append(left, b), append(shown, c.State.Debug(c.Now).BudgetLeft)
			return c, nil
		})
		look.Always = true
		user := run.user()
		first.Hooks, first.SystemPrompt = []string{user.Name}, run.system
		events := []testsuite.Event{testsuite.GoOnAt(5*time.Minute, totals)}
		if *first.Budget.MaxSteps == int64(len(run.steps)) {
			events = nil // it completes at once
		}
		got := run.env(t, first, look, user).Run(run.prompt, events...)
		require.Equal(t, domain.StatusCompleted, got.Outcome.Status, "%+v", got.Error)
		require.Len(t, left, len(run.steps))
		for n := range run.steps {
			sofar := run
			sofar.steps = run.steps[:n+1]
			used, limit := sofar.foresee(domain.ExecutionBudget{}), much
			if n < int(*first.Budget.MaxSteps) {
				limit = *first.Budget.MaxSteps
			}
			want := []int64{limit - int64(n+1), much - used.tokens, much - used.cost, much - used.calls}
			b := left[n]
			require.Equal(t, want, []int64{*b.MaxSteps, *b.MaxTokens, *b.MaxCostNanoUSD, *b.MaxToolCalls}, "step %d", n+1)
			require.InDelta(t, 1e6, *b.MaxSeconds, 60, "step %d: the time between the two does not count", n+1)
			require.Equal(t, b.MaxSteps, shown[n].MaxSteps)
			require.Equal(t, b.MaxToolCalls, shown[n].MaxToolCalls)
		}
	})
}
