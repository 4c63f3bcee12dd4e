package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// paysEachTime is a world of which each execution pays once. Workers say after each other which approvals
// hold where the definition has none.
func paysEachTime(said ...*domain.Approvals) *world {
	w := &world{tool: saw, model: calling(pay("1"))}
	w.list = func(contract.ResolveRequest) (contract.Resolved, error) {
		return contract.Resolved{Tools: pays(), MinOutputTokens: 1, Approvals: said[min(len(w.listed), len(said))-1]}, nil
	}
	return w
}

// TestTheWorkersApprovals hold where the definition has none, and for as long as the session: another model, which
// another worker may resolve, makes nobody freer or stricter.
func TestTheWorkersApprovals(t *testing.T) {
	t.Parallel()
	allow, ask := domain.ApprovalsOf("allow"), domain.DefaultApprovals()
	for name, test := range map[string]struct {
		own  *domain.Approvals
		said []*domain.Approvals
		asks bool
	}{
		"asks, then allows":         {nil, []*domain.Approvals{ask, allow}, true},
		"allows, then asks":         {nil, []*domain.Approvals{allow, ask}, false},
		"the definition, and allow": {ask, []*domain.Approvals{allow, allow}, true},
		"the definition, and ask":   {allow, []*domain.Approvals{ask, ask}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := paysEachTime(test.said...)
			env := w.environment(t)
			first := approvesAll(t, env, time.Minute)
			sends(env, time.Hour, "send", contract.SendRequest{Prompt: "more", Model: &domain.LLMConfig{Provider: "scripted", Model: "/other"}})
			second := approvesAll(t, env, 2*time.Hour)
			closes(env, 3*time.Hour)
			in := input(t, "ann")
			in.Definition.Approvals = test.own
			execute(env, in)
			endsWith(t, env, 2)
			require.Len(t, w.listed, 2)
			require.Equal(t, "/other", w.listed[1].Definition.Model.Model, "as the message says")
			require.Equal(t, map[bool]int{true: 2}[test.asks], *first+*second)
			require.Len(t, w.ran, 2)
		})
	}
}

// TestTheWorkersApprovalsOutliveAModelThatNobodyHas: what was decided goes along with what was in force before.
func TestTheWorkersApprovalsOutliveAModelThatNobodyHas(t *testing.T) {
	t.Parallel()
	w := &world{tools: pays(), tool: saw, model: plays(says("one"), says("", pay("7")), says("done"))}
	w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
		if r.Definition.Model.Model == "/none" {
			return contract.Resolved{}, refused(domain.Invalidf("no such model"))
		}
		return contract.Resolved{Tools: pays(), MinOutputTokens: 1, Approvals: domain.ApprovalsOf([]string{"ask", "allow"}[min(len(w.listed), 2)-1])}, nil
	}
	env := w.environment(t)
	sends(env, time.Minute, "none", contract.SendRequest{Prompt: "more", Model: &domain.LLMConfig{Provider: "scripted", Model: "/none"}})
	env.RegisterDelayedCallback(func() {
		env.SetContinueAsNewSuggested(true)
		env.SignalWorkflow("nothing", nil)
	}, 2*time.Minute)
	execute(env, input(t, "ann"))
	in := nextRun(t, env)
	require.Equal(t, domain.ApprovalsOf("ask"), in.Carry.Config.Resolved.Approvals)
	env = w.environment(t)
	sends(env, time.Minute, "pay", contract.SendRequest{Prompt: "pay", Model: &domain.LLMConfig{Provider: "scripted", Model: "/other"}})
	asked := 0
	sees(t, env, time.Hour, func(waiting []domain.Wait) { asked = len(waiting) })
	closes(env, 2*time.Hour)
	execute(env, in)
	require.Equal(t, 1, asked)
	require.Empty(t, w.ran)
}

// TestTheWorkersApprovalsAfterAnUpdateThatNobodyCouldResolve hold in the next run, where the update has taken the session's own
// away.
func TestTheWorkersApprovalsAfterAnUpdateThatNobodyCouldResolve(t *testing.T) {
	t.Parallel()
	w := &world{tools: pays(), tool: saw, model: plays(says("one"), says("", pay("7")), says("done"))}
	w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
		switch {
		case len(w.listed) == 2:
			return contract.Resolved{}, refused(domain.Invalidf("no such tool"))
		case r.Definition.Approvals != nil:
			return contract.Resolved{Tools: pays(), MinOutputTokens: 1}, nil
		}
		return contract.Resolved{Tools: pays(), MinOutputTokens: 1, Approvals: domain.ApprovalsOf("deny")}, nil
	}
	env := w.environment(t)
	in := input(t, "ann")
	in.Definition.Approvals = domain.ApprovalsOf("allow")
	redefines(env, time.Minute, "update", contract.UpdateRequest{Fields: []string{"approvals"}})
	prompts(env, 2*time.Minute, "more")
	env.RegisterDelayedCallback(func() {
		env.SetContinueAsNewSuggested(true)
		env.SignalWorkflow("nothing", nil)
	}, 3*time.Minute)
	execute(env, in)
	next := nextRun(t, env)
	env = w.environment(t)
	sends(env, time.Minute, "pay", contract.SendRequest{Prompt: "pay"})
	asked := 0
	sees(t, env, time.Hour, func(waiting []domain.Wait) { asked = len(waiting) })
	closes(env, 2*time.Hour)
	execute(env, next)
	completes(t, env)
	require.Zero(t, asked)
	require.Empty(t, w.ran)
}
