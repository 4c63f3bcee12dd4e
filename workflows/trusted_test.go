package workflows_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

func trusts(name, value string) *domain.StartOptions {
	return &domain.StartOptions{Trusted: domain.Trusted{name: json.RawMessage(value)}}
}

// TestASessionsTrustedValuesAreFixed: an execution may bring more, for itself alone, and none that is another.
func TestASessionsTrustedValuesAreFixed(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(says("", look()), says("one"), says("", look()), says("two"), says("", look()), says("three")), tools: reads()}
	var called []domain.Trusted
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		called = append(called, r.Trusted)
		return saw(r)
	}
	env := w.environment(t)
	other := sends(env, time.Minute, "u1", contract.SendRequest{Prompt: "more", Options: trusts("customer", "4712")})
	odd := sends(env, 2*time.Minute, "u2", contract.SendRequest{Prompt: "more", Options: trusts("Customer", "4711")})
	sends(env, 3*time.Minute, "u3", contract.SendRequest{Prompt: "more", Options: trusts("order", `"A-1"`)})
	prompts(env, 4*time.Minute, "more")
	closes(env, time.Hour)
	execute(env, input(t, "ann", func(in *contract.SessionInput) { in.Options = trusts("customer", "4711") }))
	endsWith(t, env, 3)
	other.refused(t, "trusted.customer: has another value already, which stays as it is")
	odd.refused(t, `trusted: "Customer" is no name`)
	session := trusts("customer", "4711").Trusted
	require.Equal(t, []domain.Trusted{session, {"customer": session["customer"], "order": json.RawMessage(`"A-1"`)}, session}, called)
}

func TestAnExecutionThatLacksWhatItShowsDoesNotBegin(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(says("one"))}
	env := w.executed(t, input(t, "", func(in *contract.SessionInput) { in.Definition.ShowTrusted = []string{"order"} }))
	require.ErrorContains(t, env.GetWorkflowError(), `show_trusted: "order" is not given`)
}
