package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestAnotherModelTakesOver where one fails for good: with the next step, as
// the definition says, and the failed step is kept.
func TestAnotherModelTakesOver(t *testing.T) {
	t.Parallel()
	to := func(model string, on ...domain.Failure) domain.Fallback {
		return domain.Fallback{Model: domain.LLMConfig{Provider: "scripted", Model: model}, On: on}
	}
	quota := domain.CodedErrorf(domain.Denied, domain.CodeQuota, "no money").From("scripted")
	broken := domain.Invalidf("no such parameter").From("scripted")
	down := domain.Errorf(domain.Unavailable, "down").From("scripted")
	for name, test := range map[string]struct {
		fallbacks []domain.Fallback
		fails     map[string]*domain.Error
		status    domain.ExecutionStatus
		steps     int
		asked     string
	}{
		"one after the other":   {[]domain.Fallback{to("/b"), to("/c")}, map[string]*domain.Error{"/x": quota, "/b": down}, domain.StatusCompleted, 3, "/x /b /c"},
		"not for a bad request": {[]domain.Fallback{to("/b")}, map[string]*domain.Error{"/x": broken}, domain.StatusFailed, 1, "/x"},
		"it fails otherwise":    {[]domain.Fallback{to("/b")}, map[string]*domain.Error{"/x": down, "/b": quota}, domain.StatusFailed, 2, "/x /b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, asked := "", ""
			w := &world{}
			w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
				model = r.Definition.Model.Model
				return contract.Resolved{MinOutputTokens: 1, Digest: domain.DigestOf([]byte(model))}, nil
			}
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				require.Equal(t, domain.DigestOf([]byte(model)), r.Resolved)
				if asked += model + " "; test.fails[model] != nil {
					return contract.ModelReply{Outcome: contract.BilledFailure, Error: test.fails[model], Tries: 1}, nil
				}
				return says("done"), nil
			}
			env := w.executed(t, input(t, "", func(in *contract.SessionInput) {
				in.Definition.Fallbacks, in.Definition.Attempts = test.fallbacks, 1
			}))
			out := outcome(t, env)
			require.Equal(t, test.status, out.Status)
			require.Equal(t, test.steps, out.Steps)
			require.Equal(t, test.asked+" ", asked)
			if test.status == domain.StatusFailed {
				require.Equal(t, test.fails[model].Kind, out.Kind, "what the last one said counts")
			}
			steps := stepsIn(t, env, 0)
			require.Equal(t, domain.StepError, steps[0].Step.Type(), "the failed step is kept")
			models := ""
			for _, step := range steps {
				models += strings.TrimPrefix(step.Step.Model, "scripted/") + " "
			}
			require.Equal(t, asked, models, "each step says which model it was asked of")
		})
	}
}

// TestTheNextExecutionBeginsWithTheFirstModel: a fallback stays for the rest of
// its execution and no longer.
func TestTheNextExecutionBeginsWithTheFirstModel(t *testing.T) {
	t.Parallel()
	model, asked := "", ""
	failed := false
	w := &world{}
	w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
		model = r.Definition.Model.Model
		return contract.Resolved{MinOutputTokens: 1, Digest: domain.DigestOf([]byte(model))}, nil
	}
	w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
		if asked += model + " "; model == "/x" && !failed {
			failed = true
			return contract.ModelReply{Outcome: contract.BilledFailure, Error: domain.Errorf(domain.Unavailable, "down"), Tries: 1}, nil
		}
		return says("done"), nil
	}
	env := w.environment(t)
	prompts(env, time.Minute, "again")
	closes(env, 2*time.Minute)
	execute(env, input(t, "ann", func(in *contract.SessionInput) {
		in.Definition.Attempts = 1
		in.Definition.Fallbacks = []domain.Fallback{{Model: domain.LLMConfig{Provider: "scripted", Model: "/b"}}}
	}))
	endsWith(t, env, 2)
	require.Equal(t, "/x /b /x ", asked)
}
