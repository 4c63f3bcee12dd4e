package workflows_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
)

func redefines(env *testsuite.TestWorkflowEnvironment, at time.Duration, id string, request contract.UpdateRequest) *verdict {
	return updates(env, at, contract.UpdateDefinition, id, request)
}

// TestAnUpdateHoldsFromTheNextExecutionOn, and is told with who gave it. What it does not name stays.
func TestAnUpdateHoldsFromTheNextExecutionOn(t *testing.T) {
	t.Parallel()
	w := deployed(offers("seek"), offers("find"))
	w.model = repeats(says("done"))
	env := w.environment(t)
	took := redefines(env, time.Minute, "update", contract.UpdateRequest{
		Definition: domain.Definition{SystemPrompt: "be brief", Tools: []string{"find"}, Budget: stepsOf(3)},
		Fields:     []string{"system_prompt", "tools", "budget"}, By: "ann", Reason: "renamed",
	})
	env.RegisterDelayedCallback(func() {
		next := status(t, env).Configuration.Next
		require.Equal(t, []string{"system_prompt", "tools", "budget"}, next.Fields)
	}, 2*time.Minute)
	prompts(env, time.Hour, "more")
	closes(env, 2*time.Hour)
	execute(env, input(t, "ann"))

	completes(t, env)
	require.NoError(t, took.rejected)
	require.Len(t, w.listed, 2)
	asked := w.listed[1].Definition
	require.Equal(t, "be brief", asked.SystemPrompt)
	require.Equal(t, []string{"find"}, asked.Tools)
	require.Equal(t, w.listed[0].Definition.Model, asked.Model)
	status := status(t, env)
	require.Nil(t, status.Configuration.Next)
	require.Equal(t, int64(3), *status.Ledger.Own().Limit.MaxSteps)
	require.Len(t, status.Configuration.Changes, 1)
	require.Equal(t, "tools + find, - seek; budget, system_prompt", status.Configuration.Changes[0].String())
	updates := status.Configuration.Changes[0].Updates
	require.Len(t, updates, 1)
	require.Equal(t, []string{"ann", "renamed"}, []string{updates[0].By, updates[0].Reason})
}

// TestUpdatesBeforeAnExecution are one, which is told with who gave each. The model of the first holds too.
func TestUpdatesBeforeAnExecution(t *testing.T) {
	t.Parallel()
	w := deployed(offers("one"), offers("two"), offers("three"))
	env := w.environment(t)
	in := input(t, "ann")
	sends(env, time.Minute, "second", contract.SendRequest{Prompt: "more", Model: &domain.LLMConfig{Provider: "scripted", Model: "/other"}})
	redefines(env, 2*time.Minute, "u1", contract.UpdateRequest{Definition: domain.Definition{Model: in.Definition.Model}, Fields: []string{"model"}, By: "ann", Reason: "cheaper"})
	redefines(env, 3*time.Minute, "u2", contract.UpdateRequest{Definition: domain.Definition{SystemPrompt: "be brief"}, Fields: []string{"system_prompt"}, By: "bob"})
	env.RegisterDelayedCallback(func() {
		next := status(t, env).Configuration.Next
		require.ElementsMatch(t, []string{"system_prompt", "model"}, next.Fields)
		require.Equal(t, []string{"ann", "cheaper"}, []string{next.Updates[0].By, next.Updates[0].Reason})
	}, 4*time.Minute)
	prompts(env, time.Hour, "more")
	closes(env, 2*time.Hour)
	execute(env, in)
	endsWith(t, env, 3)
	require.Equal(t, in.Definition.Model, w.listed[2].Definition.Model)
	require.Equal(t, "scripted//x", status(t, env).Configuration.Model)
	require.Equal(t, "be brief", w.listed[2].Definition.SystemPrompt)
	changes := status(t, env).Configuration.Changes
	updates := changes[len(changes)-1].Updates
	require.Len(t, updates, 2)
	first, second := updates[0], updates[1]
	require.Equal(t, []any{"bob", []string{"system_prompt"}}, []any{second.By, second.Asked})
	require.Equal(t, []any{"ann", "cheaper", []string{"model"}, true}, []any{first.By, first.Reason, first.Asked, first.At.Before(second.At)})
}

// TestAWordIsToldOfItsOwnChange alone: not of what the workers change later, where the update has changed nothing or where
// nobody could say what was in force before it.
func TestAWordIsToldOfItsOwnChange(t *testing.T) {
	t.Parallel()
	updatedBy := func(by, prompt string) contract.UpdateRequest {
		return contract.UpdateRequest{Definition: domain.Definition{SystemPrompt: prompt}, Fields: []string{"system_prompt"}, By: by}
	}
	for name, test := range map[string]struct {
		fails   int
		updates []contract.UpdateRequest
		told    [][]string
	}{
		"taken back":   {0, []contract.UpdateRequest{updatedBy("ann", "be brief"), updatedBy("bob", "")}, [][]string{nil}},
		"of the first": {1, []contract.UpdateRequest{updatedBy("ann", "be brief")}, [][]string{{"ann"}, nil}},
		"of both":      {2, []contract.UpdateRequest{updatedBy("ann", "be brief"), updatedBy("bob", "be long")}, [][]string{{"ann", "bob"}, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := deployed()
			asked, prompt := 0, ""
			w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
				asked++
				catalog := offers("seek")
				if asked > len(test.updates)+1 {
					catalog = offers("find")
				}
				catalog.MinOutputTokens = 1
				encoded, err := json.Marshal(catalog.Tools)
				if r.Definition.Model.Provider != "" {
					prompt = r.Definition.SystemPrompt
				}
				catalog.Digest = domain.DigestOf(encoded, []byte(prompt))
				switch {
				case asked <= test.fails:
					return catalog, temporal.NewNonRetryableApplicationError("tools: nobody has them", string(domain.Invalid), nil)
				case catalog.Digest == cmp.Or(r.Listed, r.Known):
					catalog = contract.Resolved{Unchanged: true, Digest: r.Known}
				}
				return catalog, err
			}
			env := w.environment(t)
			for i, update := range test.updates {
				at := time.Duration(i+1) * time.Hour
				if test.fails == 0 {
					at = time.Hour
				}
				redefines(env, at, fmt.Sprint("u", i), update)
				sends(env, time.Duration(i+1)*time.Hour+time.Minute, fmt.Sprint("s", i), contract.SendRequest{Prompt: "more"})
			}
			prompts(env, 10*time.Hour, "more")
			closes(env, 11*time.Hour)
			execute(env, input(t, "ann"))
			completes(t, env)
			var told [][]string
			for _, change := range status(t, env).Configuration.Changes {
				var by []string
				for _, update := range change.Updates {
					by = append(by, update.By)
				}
				told = append(told, by)
			}
			require.Equal(t, test.told, told)
		})
	}
}

// TestAnUpdateThatTakesRulesAway leaves no call without any: the workers' hold then.
func TestAnUpdateThatTakesRulesAway(t *testing.T) {
	t.Parallel()
	w := paysEachTime(domain.DefaultApprovals())
	env := w.environment(t)
	in := input(t, "ann")
	in.Definition.Approvals = domain.ApprovalsOf("allow")
	redefines(env, time.Minute, "update", contract.UpdateRequest{Fields: []string{"approvals"}})
	prompts(env, time.Hour, "more")
	asked := approvesAll(t, env, 2*time.Hour)
	closes(env, 3*time.Hour)
	execute(env, in)
	endsWith(t, env, 2)
	require.Equal(t, 1, *asked)
}

// TestRulesThatWereTakenAwayAreNotLost: the next run is told so, as the memo still says that the session began with some.
func TestRulesThatWereTakenAwayAreNotLost(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string][]string{"taken away": {"approvals"}, "kept": {"idle_timeout"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: plays(says("one"), says("two"))}
			env := w.environment(t)
			outgrows(env, 2)
			in := input(t, "ann")
			in.Definition.Approvals = domain.ApprovalsOf("allow")
			redefines(env, time.Minute, "update", contract.UpdateRequest{Fields: fields})
			prompts(env, time.Hour, "more")
			execute(env, in)
			next := nextRun(t, env)
			require.Equal(t, name == "kept", next.Definition.Approvals != nil)
		})
	}
}

func TestWhatAnUpdateRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request contract.UpdateRequest
		says    string
	}{
		"no such field":      {contract.UpdateRequest{Fields: []string{"colour"}}, `a definition has no "colour"`},
		"no model":           {contract.UpdateRequest{}, "model: has no provider"},
		"another compiler":   {contract.UpdateRequest{Definition: domain.Definition{Compiler: domain.WholeConversation}, Fields: []string{"compiler"}}, "compiler: stays as it is"},
		"a tool that is not": {contract.UpdateRequest{Definition: domain.Definition{Tools: []string{" "}}, Fields: []string{"tools"}}, "tool: is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := deployed(offers("look"))
			env := w.environment(t)
			w.model = repeats(says("done"))
			refused := redefines(env, 0, "update", test.request)
			closes(env, time.Hour)
			execute(env, input(t, "ann"))
			refused.refused(t, test.says)
		})
	}
}
