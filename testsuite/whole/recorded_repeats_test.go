package whole_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// same says what a step called and got; empty where it called nothing.
func (s recordedStep) same() string {
	var b strings.Builder
	for i, c := range s.calls {
		fmt.Fprintf(&b, "%q %q %q\n", c.Function.Name, c.Function.Arguments, s.results[i])
	}
	return b.String()
}

// inARow counts, for each step, the steps up to it that made the same calls and
// got the same; zero where it called nothing.
func (w wholeRun) inARow() []int {
	counts := make([]int, len(w.steps))
	for i, s := range w.steps {
		switch {
		case len(s.calls) == 0:
		case i > 0 && s.same() == w.steps[i-1].same():
			counts[i] = counts[i-1] + 1
		default:
			counts[i] = 1
		}
	}
	return counts
}

// TestRecordedRunsDoNotRepeat says what the guard has to tell apart: the real
// runs come back to a call, and hardly one makes it again at once with the same result; one that does is told so.
func TestRecordedRunsDoNotRepeat(t *testing.T) {
	t.Parallel()
	longest, again, steps := 0, 0, 0
	for _, recorded := range recordedRuns(t) {
		for _, run := range []wholeRun{recorded.whole(25), recorded.merged().whole(25)} {
			row := slices.Max(run.inARow())
			if longest, steps = max(longest, row), steps+len(run.steps); row > 1 {
				nudges, _ := run.requireGuarded(t, domain.Repetition{Nudge: row, Stop: row + 1})
				require.Positive(t, nudges, recorded.ID)
			}
		}
		seen := map[string]bool{}
		for _, s := range recorded.whole(25).steps {
			if key := s.same(); key != "" {
				if seen[key] {
					again++
				}
				seen[key] = true
			}
		}
	}
	t.Logf("at most %d equal steps in a row; %d steps make the same call as an earlier one of their run, with the same result", longest, again)
	require.NotZero(t, steps)
}

// TestRepeatedCalls has the recorded runs get stuck: a step of theirs comes again
// and again, with the same results or with others, at once or every other step.
// The nudge and the stop come where the specification says.
func TestRepeatedCalls(t *testing.T) {
	t.Parallel()
	limits := []domain.Repetition{
		{Nudge: domain.DefaultNudge, Stop: domain.DefaultStop}, {Nudge: 2, Stop: 3}, {Nudge: 3}, {Stop: 4}, {},
	}
	var nudges, stops, called atomic.Int64
	eachRecorded(t, func(t *testing.T, run wholeRun, draw *rand.Rand) {
		if len(run.toolNames) == 0 {
			t.Skip("the run calls no tools")
		}
		called.Add(1)
		for _, at := range draw.Perm(len(limits))[:2] {
			limit := limits[at]
			for _, stuck := range run.stuck(draw) {
				n, s := stuck.requireGuarded(t, limit)
				nudges.Add(int64(n))
				stops.Add(int64(s))
			}
		}
	})
	t.Logf("%d nudges, %d stops", nudges.Load(), stops.Load())
	if !t.Failed() && called.Load() > 0 {
		require.Positive(t, nudges.Load())
		require.Positive(t, stops.Load())
	}
}

// stuck are ways in which a run gets stuck at a step that calls tools.
func (w wholeRun) stuck(draw *rand.Rand) []wholeRun {
	var calling []int
	for i, s := range w.steps {
		if len(s.calls) > 0 {
			calling = append(calling, i)
		}
	}
	at, times := calling[draw.IntN(len(calling))], 1+draw.IntN(12)
	insert := func(step func(i int) recordedStep) wholeRun {
		stuck := w
		stuck.steps = slices.Clone(w.steps[:at])
		for i := range times {
			stuck.steps = append(stuck.steps, step(i))
		}
		stuck.steps = append(stuck.steps, w.steps[at:]...)
		return stuck.counted(25)
	}
	return []wholeRun{
		insert(func(int) recordedStep { return w.steps[at] }),
		insert(func(i int) recordedStep { // there is progress
			s := w.steps[at]
			s.results = slices.Clone(s.results)
			s.results[0] += fmt.Sprint(" ", i)
			return s
		}),
		insert(func(i int) recordedStep { // an answer in between
			if i%3 == 2 {
				return recordedStep{text: "One moment.", user: "Well?"}
			}
			return w.steps[at]
		}),
	}
}

// requireGuarded plays a run, and says how often it was nudged and stopped.
func (w wholeRun) requireGuarded(t *testing.T, limit domain.Repetition) (nudges, stops int) {
	t.Helper()
	status, reason, steps := domain.StatusCompleted, domain.Completed, len(w.steps)
	var want []recordedMessage
	for i, n := range w.inARow() {
		one := wholeRun{steps: w.steps[i : i+1]}
		want = append(want, one.messages(1)[1:]...)
		if limit.Stop > 0 && n >= limit.Stop {
			status, reason, steps = domain.StatusStopped, domain.StopRequested, i+1
			stops++
			break
		}
		if limit.Nudge > 0 && n == limit.Nudge {
			want = append(want, recordedMessage{Role: "user", Content: fmt.Sprintf("The last %d steps made the same tool calls", n)})
			nudges++
		}
	}
	got := w.play(t, domain.Definition{Guards: domain.Guards{Repetition: &limit}})
	require.Equal(t, []any{status, reason, steps}, []any{got.Outcome.Status, got.Outcome.StopReason, got.Outcome.Steps}, "%+v: %+v", limit, got.Error)
	require.Len(t, got.Messages, 1+len(want), "%+v", limit)
	for i, m := range got.Messages[1:] {
		is := recordedOf(m)
		if want[i].Role == "user" && strings.HasPrefix(want[i].Content, "The last ") {
			require.True(t, strings.HasPrefix(is.Content, want[i].Content), "%+v: message %d is %+v; want the nudge", limit, i+1, is)
			continue
		}
		require.True(t, sameMessage(is, want[i]), "%+v: message %d is %+v; want %+v", limit, i+1, is, want[i])
	}
	return nudges, stops
}
