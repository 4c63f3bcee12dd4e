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

// same says what a step called and got, in whatever order; empty where it called nothing.
func (s recordedStep) same() string {
	calls := make([]string, len(s.calls))
	for i, c := range s.calls {
		calls[i] = fmt.Sprintf("%q %q %q\n", c.Function.Name, domain.CanonicalJSON(c.Function.Arguments), domain.CanonicalJSON(s.results[i]))
	}
	slices.Sort(calls)
	return strings.Join(calls, "")
}

// A repeat is the cycle of steps that was made most often in a row up to a step, with the same calls and results.
type repeat struct {
	length, times int
	// whole says that the step has completed it.
	whole bool
}

// repeats finds the repeat of each step by comparing all that came before; that of a step which called nothing is zero.
func (w wholeRun) repeats() []repeat {
	all := make([]repeat, len(w.steps))
	for i, s := range w.steps {
		if len(s.calls) == 0 {
			continue
		}
		first := i // of the steps in a row that call anything
		for first > 0 && len(w.steps[first-1].calls) > 0 {
			first--
		}
		all[i] = repeat{1, 1, true}
		for length := 1; length <= 8; length++ {
			same := 0
			for at := i; at-length >= first && w.steps[at].same() == w.steps[at-length].same(); at-- {
				same++
			}
			if times := same/length + 1; times > all[i].times {
				all[i] = repeat{length, times, same%length == 0}
			}
		}
	}
	return all
}

// mostRepeated is how often a step, or a cycle of steps, was made in a row at the most.
func (w wholeRun) mostRepeated() (most int) {
	for _, r := range w.repeats() {
		most = max(most, r.times)
	}
	return most
}

// TestRecordedRunsDoNotRepeat says what the guard has to tell apart: the real
// runs come back to a call, and hardly one makes it again at once with the same result; one that does is told so.
func TestRecordedRunsDoNotRepeat(t *testing.T) {
	t.Parallel()
	longest, again, steps := 0, 0, 0
	for _, recorded := range recordedRuns(t) {
		for _, run := range []wholeRun{recorded.whole(25), recorded.merged().whole(25)} {
			row := run.mostRepeated()
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
	t.Logf("at most %d equal steps, or cycles of them, in a row; %d steps make the same call as an earlier one of their run, with the same result", longest, again)
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
	insert := func(times int, step func(i int) recordedStep) wholeRun {
		stuck := w
		stuck.steps = slices.Clone(w.steps[:at])
		for i := range times {
			stuck.steps = append(stuck.steps, step(i))
		}
		stuck.steps = append(stuck.steps, w.steps[at:]...)
		return stuck.counted(25)
	}
	return []wholeRun{
		insert(times, func(int) recordedStep { return w.steps[at] }),
		insert(times, func(i int) recordedStep { // there is progress
			s := w.steps[at]
			s.results = slices.Clone(s.results)
			s.results[0] += fmt.Sprint(" ", i)
			return s
		}),
		insert(2*times, func(i int) recordedStep { // two in turns
			if i%2 == 1 {
				return w.steps[calling[0]]
			}
			return w.steps[at]
		}),
		insert(times, func(i int) recordedStep { // an answer in between
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
	for i, r := range w.repeats() {
		one := wholeRun{steps: w.steps[i : i+1]}
		want = append(want, one.messages(1)[1:]...)
		if limit.Stop > 0 && r.whole && r.times >= limit.Stop {
			status, reason, steps = domain.StatusStopped, domain.StopRequested, i+1
			stops++
			break
		}
		if limit.Nudge > 0 && r.whole && r.times == limit.Nudge {
			want = append(want, recordedMessage{Role: "user", Content: fmt.Sprintf("The last %d steps in a row", r.length*r.times)})
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
