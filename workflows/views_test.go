package workflows_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// TestStepsComeByPage: from the one that is asked for on, as many as fit and one at
// the least; the last page has the end.
func TestStepsComeByPage(t *testing.T) {
	t.Parallel()
	w := steady(4, false)
	w.model = until(4, says("", calls("look", 16)...), "done")
	w.tool = gives(contract.ToolReply{Content: strings.Repeat("x", domain.MaxToolResult)})
	for name, test := range map[string]struct {
		max    int64
		status domain.ExecutionStatus
		steps  []int
	}{"an answer": {10, domain.StatusCompleted, []int{1, 2, 3, 4, 5}}, "a limit": {3, domain.StatusStopped, []int{1, 2, 3}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := w.executed(t, input(t, "", budgeted(stepsOf(test.max))))
			endsAs(t, env, test.status)
			var seen []int
			read := func(large bool) (pages int) {
				seen = nil
				_, _, err := account.ReadRun(account.Request{Want: []account.Part{account.Steps}, LargePage: contract.LargePage{Large: large}}, func(request account.Request) (account.Page, error) {
					page := query(t, env, account.Query, request)
					require.NotEmpty(t, page.Steps)
					for _, step := range page.Steps {
						seen = append(seen, step.Number)
					}
					pages++
					return page, nil
				})
				require.NoError(t, err)
				return pages
			}
			pages := read(false)
			require.Greater(t, pages, 1)
			require.Equal(t, test.steps, seen)
			require.Less(t, read(true), pages, "a large page holds more")
			require.Equal(t, test.steps, seen)
			require.Equal(t, test.status == domain.StatusStopped, endOf(t, env, 0).Signal != nil)
		})
	}
}

// TestTheResultTellsTheEnd where the end is short; the memo never does.
func TestTheResultTellsTheEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		steps  int64
		answer string
		told   bool
	}{
		"a limit":    {1, "", true},
		"long words": {9, strings.Repeat("x", domain.MaxEnd), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := steady(1, false)
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				if r.Step > 1 {
					return says(test.answer), nil
				}
				return says("", look()), nil
			}
			env := w.executed(t, input(t, "", budgeted(stepsOf(test.steps))))
			end := outcome(t, env).End
			require.Nil(t, readAccount(t, env, account.HeadOf, account.Carry).Head.Carry.Outcome.End, "it is the memo's")
			require.Equal(t, test.told, end != nil)
			if test.told {
				require.Equal(t, endOf(t, env, 0), *end)
				require.Equal(t, test.answer, end.Answer)
				require.Equal(t, test.steps == 1, end.Signal != nil)
			}
		})
	}
}

// TestEventsComeByPage, each once and in order.
func TestEventsComeByPage(t *testing.T) {
	t.Parallel()
	w := steady(3, false)
	w.model = until(3, says("", calls("nothing", domain.MaxRequestedCalls)...), "done")
	env := w.executed(t, input(t, ""))
	completes(t, env)
	pages := 0
	all, _, err := account.ReadRun(account.Request{Want: []account.Part{account.Events}}, func(request account.Request) (account.Page, error) {
		pages++
		return query(t, env, account.Query, request), nil
	})
	require.NoError(t, err)
	require.Greater(t, pages, 1)
	for i, e := range all.Events {
		require.EqualValues(t, i+1, e.Sequence)
	}
	require.Equal(t, domain.EventExecutionCompleted, all.Events[len(all.Events)-1].Type)
}

// TestWhatComesWithMessages: the definition, where the asker has another one, and,
// where a page begins with this run, the parts in storage that come before it.
func TestWhatComesWithMessages(t *testing.T) {
	t.Parallel()
	w := steady(8, true)
	first := w.environment(t)
	outgrows(first, 3)
	execute(first, input(t, ""))
	in := nextRun(t, first)
	env := w.executed(t, in)
	completes(t, env)

	all := query(t, env, contract.QueryMessages, contract.MessagesRequest{})
	require.Equal(t, in.Carry.Segments, all.Segments)
	require.Nil(t, all.Resolved)
	rest := query(t, env, contract.QueryMessages, contract.MessagesRequest{From: all.From + 1, Resolved: &domain.Digest{}})
	require.Empty(t, rest.Segments)
	require.Equal(t, in.Carry.Config.Resolved.Digest, rest.Resolved.Digest)
	require.Nil(t, query(t, env, contract.QueryMessages, contract.MessagesRequest{Resolved: &rest.Resolved.Digest}).Resolved, "the asker has it")
}

// TestTheErrorThatCounts is the one that ended the execution, also where an earlier
// one had the same words.
func TestTheErrorThatCounts(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), model: plays(says("", look()), with(billed(domain.Denied), func(r *contract.ModelReply) {
		r.Error = domain.CodedErrorf(domain.Denied, domain.CodeQuota, "no money").From("scripted")
	}))}
	w.tool = gives(contract.ToolReply{Error: domain.Errorf(domain.Unavailable, "no money").From("look")})
	env := w.executed(t, input(t, ""))
	require.Equal(t, domain.CodeQuota, outcome(t, env).Code)
	require.Equal(t, domain.Denied, status(t, env).Failure().Kind)
}
