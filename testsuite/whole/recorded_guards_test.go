package whole_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/hook"
)

// eachRecorded runs a test on recorded runs, each as one execution: as many as are enough, all with
// EVERSTEP_RECORDED=all, a few with -short. The draw is the run's own, the same each time.
func eachRecorded(t *testing.T, test func(t *testing.T, run wholeRun, draw *rand.Rand)) {
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
			t.Run(runs[i].ID, func(t *testing.T) {
				t.Parallel()
				test(t, runs[i].whole(25), rand.New(rand.NewPCG(44, uint64(i))))
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
	longest := max(1, w.mostRepeated())
	definition.Guards.Repetition = &domain.Repetition{Nudge: longest + 1, Stop: longest + 2}
	return definition
}

// replyFormat is what the answers of structured runs are.
var replyFormat = domain.ResponseFormat{
	Type: domain.FormatSchema, Name: "reply",
	Schema: json.RawMessage(`{"type":"object","properties":{"reply":{"type":"string","minLength":1}},"required":["reply"],"additionalProperties":false}`),
}

// structured is the run with each answer as JSON.
func (w wholeRun) structured(t *testing.T) wholeRun {
	t.Helper()
	w.steps, w.schema = slices.Clone(w.steps), string(replyFormat.Schema)
	for i, s := range w.steps {
		if len(s.calls) == 0 {
			encoded, err := json.Marshal(map[string]string{"reply": s.text})
			require.NoError(t, err)
			w.steps[i].text = string(encoded)
		}
	}
	return w.counted(25)
}

// TestRecordedRunsMeetNoGuard: with every guard on the recorded runs come out
// as they were recorded. Half of the guarded ones answer in JSON.
func TestRecordedRunsMeetNoGuard(t *testing.T) {
	t.Parallel()
	eachRecorded(t, func(t *testing.T, run wholeRun, draw *rand.Rand) {
		var format domain.ResponseFormat
		if draw.IntN(2) == 0 {
			run, format = run.structured(t), replyFormat
		}
		definition := run.guarded()
		definition.Format = format
		got := run.play(t, definition)
		want := run.foresee(definition.Budget)
		require.Equal(t, domain.StatusCompleted, want.status)
		want.require(t, budgetText(definition.Budget), got)
		require.Equal(t, run.steps[len(run.steps)-1].text, got.Answer)
		require.Len(t, got.Messages, len(run.messages(len(run.steps))), "no guard has said anything")
		plain := run.play(t, domain.Definition{Format: format})
		require.Equal(t, plain.Transcript(), got.Transcript())
		require.Equal(t, plain.Outcome.Usage, got.Outcome.Usage)
		require.Equal(t, plain.EventTypes(), got.EventTypes())
	})
}

// TestRecordedRunsEndByFinishReasons: guards.finish_reasons ends a run after the
// first step that ended so, unless the user goes on there.
func TestRecordedRunsEndByFinishReasons(t *testing.T) {
	t.Parallel()
	eachRecorded(t, func(t *testing.T, run wholeRun, draw *rand.Rand) {
		filtered := draw.IntN(len(run.steps))
		run.steps[filtered].finish = domain.FinishContentFilter
		for _, reason := range []domain.FinishReason{domain.FinishToolCalls, domain.FinishStop, domain.FinishContentFilter} {
			steps, want := len(run.steps), domain.Completed
			for i, s := range run.steps {
				finish := domain.FinishStop
				switch {
				case s.finish != "":
					finish = s.finish
				case len(s.calls) > 0:
					finish = domain.FinishToolCalls
				}
				if finish == reason && s.user == "" {
					steps, want = i+1, domain.FinishReasonReceived
					break
				}
			}
			got := run.play(t, domain.Definition{Guards: domain.Guards{FinishReasons: []domain.FinishReason{reason}}})
			require.Equal(t, domain.StatusCompleted, got.Outcome.Status, "%s: %+v", reason, got.Error)
			require.Equal(t, want, got.Outcome.StopReason, reason)
			require.Equal(t, steps, got.Outcome.Steps, reason)
		}
	})
}

// TestRecordedRunsShowAUsersStop: one that comes in a step that ends by its finish
// reason, too, is not shown as completed.
func TestRecordedRunsShowAUsersStop(t *testing.T) {
	t.Parallel()
	eachRecorded(t, func(t *testing.T, run wholeRun, draw *rand.Rand) {
		steps := 1 + draw.IntN(len(run.steps))
		stop := hook.AfterStep("stop", func(c hook.Point) (hook.Point, error) {
			if c.State.TransientStepCount() < steps {
				return c, nil
			}
			return c.StopFor(domain.FinishReasonReceived, "content", nil).StopFor(domain.UserRequested, "enough", nil), nil
		})
		stop.Always = true
		got := run.play(t, domain.Definition{}, stop)
		require.Equal(t, []any{domain.StatusStopped, domain.UserRequested, steps},
			[]any{got.Outcome.Status, got.Outcome.StopReason, got.Outcome.Steps})
	})
}

// TestRecordedRunsGetAFinalAnswer: with guards.final_answer the last step that
// max_steps allows, and no other, is asked without tools and told so.
func TestRecordedRunsGetAFinalAnswer(t *testing.T) {
	t.Parallel()
	eachRecorded(t, func(t *testing.T, run wholeRun, draw *rand.Rand) {
		if len(run.toolNames) == 0 {
			t.Skip("the run has no tools to withhold")
		}
		last := 1 + draw.IntN(len(run.steps))
		// The model does as it is told: it answers.
		run.steps[last-1] = recordedStep{text: "This is what I have."}
		got := run.play(t, domain.Definition{
			Budget: domain.ExecutionBudget{MaxSteps: new(int64(last))}, Guards: domain.Guards{FinalAnswer: true},
		})
		require.Equal(t, domain.StatusCompleted, got.Outcome.Status, "%s: %+v", got.Outcome.StopReason, got.Error)
		require.Equal(t, last, got.Outcome.Steps)
		require.Equal(t, "This is what I have.", got.Answer)
		for i, asked := range got.Asked {
			final := i == last-1
			require.Equal(t, final, len(asked.Tools) == 0, "tools of step %d", i+1)
			told := asked.Messages[len(asked.Messages)-1].Text()
			require.Equal(t, final, strings.HasPrefix(told, "This is the last step that the budget allows"), "step %d: %s", i+1, told)
		}
	})
}

// TestRecordedRunsAnswerInJSON puts answers that do not fit the format before
// one that does: as many as are allowed, and one more.
func TestRecordedRunsAnswerInJSON(t *testing.T) {
	t.Parallel()
	eachRecorded(t, func(t *testing.T, plain wholeRun, draw *rand.Rand) {
		run := plain.structured(t)
		var answers []int
		for i, s := range run.steps {
			if len(s.calls) == 0 {
				answers = append(answers, i)
			}
		}
		at, retries := answers[draw.IntN(len(answers))], draw.IntN(4)
		for _, wrong := range []int{retries, retries + 1} {
			spoilt := run
			bad := recordedStep{text: plain.steps[at].text, usage: run.steps[at].usage}
			spoilt.steps = slices.Insert(slices.Clone(run.steps), at, slices.Repeat([]recordedStep{bad}, wrong)...)
			status, reason, steps := domain.StatusCompleted, domain.Completed, len(spoilt.steps)
			if wrong > retries {
				status, reason, steps = domain.StatusStopped, domain.RetryLimitReached, at+wrong
			}
			got := spoilt.play(t, domain.Definition{Format: replyFormat, Guards: domain.Guards{OutputRetries: new(retries)}})
			limit := fmt.Sprintf("%d wrong answers from step %d, %d retries", wrong, at+1, retries)
			require.Equal(t, []any{status, reason, steps}, []any{got.Outcome.Status, got.Outcome.StopReason, got.Outcome.Steps}, "%s: %+v", limit, got.Error)
			for i, step := range got.Steps {
				failed := i >= at && i < at+wrong
				require.Equal(t, failed, step.Step.HasErrors(), "%s: step %d", limit, i+1)
				if failed && i+1 < len(got.Asked) {
					told := got.Asked[i+1].Messages
					require.Contains(t, told[len(told)-1].Text(), "does not fit the required format", limit)
				}
			}
			if wrong > retries {
				require.Empty(t, got.Executions[0].Error)
			} else {
				require.Equal(t, spoilt.steps[len(spoilt.steps)-1].text, got.Answer)
			}
		}
	})
}
