package workflows_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
)

// overflows is how a provider refuses what is longer than its window.
func overflows() *domain.Error {
	return domain.CodedErrorf(domain.Invalid, domain.CodeContextOverflow, "too long")
}

// refused is how an activity fails for good.
func refused(err *domain.Error) error {
	return temporal.NewApplicationErrorWithOptions(err.Message, string(err.Kind),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{err}})
}

// TestAConversationThatIsTooLong is made shorter once a step, by a summary that
// is the step's too.
func TestAConversationThatIsTooLong(t *testing.T) {
	t.Parallel()
	summary := with(says("what was said"), func(r *contract.ModelReply) { r.Message.Role = domain.RoleUser })
	sums := repeats(summary)
	window := int64(0) // of the summary that was refused
	for name, test := range map[string]struct {
		off       bool
		overflows int
		billed    bool
		named     int64
		sums      func(contract.ModelRequest) (contract.ModelReply, error)
		summaries int
		code      domain.Code
	}{
		"a window that is named": {overflows: 1, named: 30_000, summaries: 1, sums: func(r contract.ModelRequest) (contract.ModelReply, error) {
			require.LessOrEqual(t, r.Summary.Window, int64(30_000))
			return summary, nil
		}},
		"once, and billed":     {overflows: 1, billed: true, sums: sums, summaries: 1},
		"without a compaction": {off: true, overflows: 1, sums: sums, code: domain.CodeContextOverflow},
		"no summary": {overflows: 1, summaries: 1, code: domain.CodeContextOverflow, sums: func(contract.ModelRequest) (contract.ModelReply, error) {
			return says(" "), nil
		}},
		"a summary of half as much": {overflows: 1, summaries: 2, sums: func(r contract.ModelRequest) (contract.ModelReply, error) {
			if window /= 2; r.Summary.Window > window {
				window = r.Summary.Window
				return contract.ModelReply{}, refused(overflows())
			}
			return summary, nil
		}},
		"a summary that is billed and too long": {overflows: 1, summaries: 1, code: domain.CodeContextOverflow, sums: func(contract.ModelRequest) (contract.ModelReply, error) {
			return with(billed(domain.Invalid), func(r *contract.ModelReply) { r.Error = overflows() }), nil
		}},
		"workers that cut every summary off": {overflows: 1, summaries: 3, code: domain.CodeWorkerShutdown, sums: func(contract.ModelRequest) (contract.ModelReply, error) {
			return contract.ModelReply{Outcome: contract.ShutDown, Tries: 1}, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := steady(8, false)
			plain, left, summaries := w.model, test.overflows, 0
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				w.mu.Lock()
				said := w.options[string(contract.CallModel)].Summary
				w.mu.Unlock()
				require.Equal(t, r.Summary != nil, strings.HasSuffix(said, "summary"), said)
				switch {
				case r.Summary != nil:
					summaries++
					return test.sums(r)
				case r.Step == 7 && left > 0 && test.billed:
					left--
					return with(billed(domain.Invalid), func(r *contract.ModelReply) { r.Error = overflows() }), nil
				case r.Step == 7 && left > 0:
					left--
					long := overflows()
					long.Window = test.named
					return contract.ModelReply{}, refused(long)
				}
				reply, err := plain(r)
				return with(reply, func(r *contract.ModelReply) { r.Message.Parts[0].Text += strings.Repeat(" words", 4000) }), err
			}
			w.list = lists(func(c *contract.Resolved) {
				c.ContextWindow, c.Compaction = 200_000, new(domain.Compaction{Off: test.off}.WithDefaults())
			})
			env := w.executed(t, input(t, "", tried(3)))
			out := outcome(t, env)
			require.Equal(t, test.code, out.Code)
			require.Equal(t, test.summaries, summaries)
			told := 0
			for _, started := range dataOf[domain.InferenceRequestStarted](t, env, 0) {
				if started.Summary {
					told++
				}
			}
			require.Equal(t, summaries, told)
		})
	}
}

// TestWhatCannotBeMadeShorter is not asked for again.
func TestWhatCannotBeMadeShorter(t *testing.T) {
	t.Parallel()
	w := &world{model: func(contract.ModelRequest) (contract.ModelReply, error) {
		return contract.ModelReply{}, refused(overflows())
	}}
	w.list = lists(func(c *contract.Resolved) {
		c.ContextWindow, c.Compaction = 200_000, new(domain.Compaction{}.WithDefaults())
	})
	env := w.executed(t, input(t, ""))
	require.Equal(t, domain.CodeContextOverflow, outcome(t, env).Code)
	require.Len(t, w.asked, 1)
}

// TestAConversationThatIsTooLongToBeCarried to the next run is summed up first, once,
// and what the summary hides stays behind.
func TestAConversationThatIsTooLongToBeCarried(t *testing.T) {
	t.Parallel()
	w := steady(30, false)
	plain, summaries := w.model, 0
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		if r.Summary != nil {
			summaries++
			return with(says("what was said"), func(r *contract.ModelReply) { r.Message.Role = domain.RoleUser }), nil
		}
		reply, err := plain(r)
		return with(reply, func(r *contract.ModelReply) { r.Message.Parts[0].Text += strings.Repeat(" words", 10_000) }), err
	}
	w.list = lists(func(c *contract.Resolved) {
		c.ContextWindow, c.Compaction = 500_000, new(domain.Compaction{}.WithDefaults())
	})
	env := w.environment(t)
	outgrows(env, 18)
	execute(env, input(t, ""))
	in := nextRun(t, env)
	require.Equal(t, 1, summaries)
	require.Less(t, len(in.Carry.Conversation.Entries), 37)
}
