package guards_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// TestAHookThatNotes: what it writes down is kept, and others read it.
func TestAHookThatNotes(t *testing.T) {
	t.Parallel()
	do := func(c hook.Point) (hook.Point, error) { return c.Note("k", "v") }
	io := replies(contract.HookReply{Note: domain.Metadata{"k": []byte(`"v"`)}})
	everywhere(t, do, io, func(t *testing.T, trigger domain.Trigger, h hook.Hook) {
		m := meets(t, trigger, nil, h)
		require.True(t, m.known)
		require.JSONEq(t, `"v"`, string(m.last.Metadata["k"]))
	})
}

// TestAHookThatSays something, once: it stands where it parts no call from its
// result, tagged as trace, and the model reads it from then on.
func TestAHookThatSays(t *testing.T) {
	t.Parallel()
	do := func(c hook.Point) (hook.Point, error) {
		if c.State.Metadata["said"] != nil {
			return c, nil
		}
		return c.Say(domain.RoleUser, "psst").Note("said", true)
	}
	io := func(_ context.Context, r contract.HookRequest) (contract.HookReply, error) {
		if r.Metadata["said"] != nil {
			return contract.HookReply{}, nil
		}
		return contract.HookReply{
			Say:  []domain.Message{domain.UserMessage("psst")},
			Note: domain.Metadata{"said": []byte("true")},
		}, nil
	}
	everywhere(t, do, io, func(t *testing.T, trigger domain.Trigger, h hook.Hook) {
		m := meets(t, trigger, nil, h)
		stands := map[domain.Trigger]int{
			domain.TriggerBeforeExecution: 1, domain.TriggerBeforeStep: 1, domain.TriggerBeforeInference: 1,
			domain.TriggerAfterInference: 4, domain.TriggerBeforeToolUse: 4, domain.TriggerAfterToolUse: 4, domain.TriggerAfterStep: 4,
			domain.TriggerOnError: 1, domain.TriggerOnStop: 5, domain.TriggerAfterExecution: 5,
		}[trigger]
		require.Equal(t, 1, strings.Count(m.Transcript(), "user: psst"), "%s", m.Transcript())
		require.Greater(t, len(m.Messages), stands)
		said := m.Messages[stands]
		require.Equal(t, "psst", said.Text(), "%s", m.Transcript())
		require.False(t, said.ID.IsZero())
		tag := domain.TagOf(said)
		require.True(t, tag.Trace)
		require.Equal(t, m.Outcome.ExecutionID, tag.ExecutionID)
		inStep := reached(trigger).steps == 1 && trigger != domain.TriggerOnError
		require.Equal(t, inStep, !tag.StepID.IsZero())
		if inLoop(trigger) {
			last := m.Asked[len(m.Asked)-1].Messages
			require.Len(t, last, 5)
			require.Equal(t, "psst", last[stands].Text())
		}
	})
}

// TestAHookThatContinues: a request is used up by the next evaluation.
func TestAHookThatContinues(t *testing.T) {
	t.Parallel()
	do := func(c hook.Point) (hook.Point, error) { return c.Continue(), nil }
	io := replies(contract.HookReply{Continue: true})
	everywhere(t, do, io, func(t *testing.T, trigger domain.Trigger, h hook.Hook) {
		m := meets(t, trigger, func(c *testsuite.Config) { c.Budget.MaxSteps = new(int64(3)) }, h)
		switch trigger {
		case domain.TriggerOnError:
			require.Equal(t, domain.StatusFailed, m.Outcome.Status)
		case domain.TriggerBeforeInference, domain.TriggerAfterInference, domain.TriggerAfterStep:
			require.Equal(t, domain.StepsLimitReached, m.Outcome.StopReason, "a limit is not overridden")
			require.Equal(t, 3, m.Outcome.Steps)
		default:
			require.Equal(t, domain.Completed, m.Outcome.StopReason)
			require.Equal(t, 2, m.Outcome.Steps)
		}
	})
}

// firstAsked is the first inference that what a hook does in the first step can
// change: the first one that is still to come, or only those of later steps.
func firstAsked(trigger domain.Trigger, inStep bool) int {
	if trigger == domain.TriggerBeforeExecution || trigger == domain.TriggerBeforeStep || inStep && trigger == domain.TriggerBeforeInference {
		return 0
	}
	return 1
}

// TestAHookThatInstructs: the system prompt is the new one from the next
// inference on.
func TestAHookThatInstructs(t *testing.T) {
	t.Parallel()
	do := func(c hook.Point) (hook.Point, error) {
		c.State = c.State.WithSystemPrompt("You are terse.", c.Now)
		return c, nil
	}
	everywhere(t, do, nil, func(t *testing.T, trigger domain.Trigger, h hook.Hook) {
		m := meets(t, trigger, func(c *testsuite.Config) { c.Definition.SystemPrompt = "You are kind." }, h)
		require.Equal(t, "You are terse.", m.last.SystemPrompt)
		for i, call := range m.Asked {
			want := "You are kind."
			if inLoop(trigger) && i >= firstAsked(trigger, true) {
				want = "You are terse."
			}
			require.Equal(t, want, call.System, "inference %d", i)
		}
	})
}

// TestAHookThatChangesTheModel: another model is resolved, and asked, from the
// next step on.
func TestAHookThatChangesTheModel(t *testing.T) {
	t.Parallel()
	do := func(c hook.Point) (hook.Point, error) {
		model := c.State.LLMConfig
		model.Temperature = new(0.5)
		c.State = c.State.WithLLMConfig(model, c.Now)
		return c, nil
	}
	everywhere(t, do, nil, func(t *testing.T, trigger domain.Trigger, h hook.Hook) {
		m := meets(t, trigger, nil, h)
		require.NotNil(t, m.last.LLMConfig.Temperature)
		for i, call := range m.Asked {
			changed := inLoop(trigger) && i >= firstAsked(trigger, false)
			require.Equal(t, changed, call.Config.Temperature != nil, "inference %d", i)
		}
	})
}

// TestAHookThatNamesNoModel: a model that nobody has ends the execution.
func TestAHookThatNamesNoModel(t *testing.T) {
	t.Parallel()
	m := meets(t, domain.TriggerAfterStep, nil, hook.AfterStep("doer", func(c hook.Point) (hook.Point, error) {
		c.State = c.State.WithLLMConfig(domain.LLMConfig{Provider: "nobody", Model: "none"}, c.Now)
		return c, nil
	}))
	require.Equal(t, domain.StatusFailed, m.Outcome.Status)
	require.Equal(t, reached(domain.TriggerAfterStep), m.reach())
	require.Contains(t, m.Error.Message, "nobody")
	require.True(t, m.known, "the hooks at the end run")
}

// TestAHookThatAsksForAnotherFormat: answers are held against it from the next
// inference on, and the model is told as if the definition had said so.
func TestAHookThatAsksForAnotherFormat(t *testing.T) {
	t.Parallel()
	do := func(c hook.Point) (hook.Point, error) {
		var err error
		c.State, err = c.State.WithResponseFormat(domain.ResponseFormat{Type: domain.FormatJSON}, c.Now)
		return c, err
	}
	defined := meets(t, domain.TriggerOnStop, func(c *testsuite.Config) { c.Definition.Format.Type = domain.FormatJSON })
	require.Len(t, defined.Asked, 3)
	everywhere(t, do, nil, func(t *testing.T, trigger domain.Trigger, h hook.Hook) {
		m := meets(t, trigger, nil, h)
		require.Equal(t, domain.FormatJSON, m.last.ResponseFormat.Type)
		if !inLoop(trigger) {
			return
		}
		require.Equal(t, `{"ok":true}`, m.Answer)
		require.Equal(t, 3, m.Outcome.Steps)
		require.Equal(t, domain.CodeInvalidOutput, m.Steps[1].Step.Errors[0].Code)
		require.Equal(t, defined.Asked[1].OutputMode, m.Asked[1].OutputMode)
		require.Equal(t, defined.Asked[1].System, m.Asked[1].System)
	})
}

// TestAHookThatSetsABudget: it is the one in force from then on.
func TestAHookThatSetsABudget(t *testing.T) {
	t.Parallel()
	do := func(c hook.Point) (hook.Point, error) {
		var err error
		c.State, err = c.State.WithBudget(domain.ExecutionBudget{MaxSteps: new(int64(1))}, c.Now)
		return c, err
	}
	everywhere(t, do, nil, func(t *testing.T, trigger domain.Trigger, h hook.Hook) {
		m := meets(t, trigger, nil, h)
		budget, _ := m.last.Budget()
		require.Equal(t, int64(1), *budget.MaxSteps)
		if inLoop(trigger) {
			require.Equal(t, domain.StepsLimitReached, m.Outcome.StopReason)
			require.Equal(t, 1, m.Outcome.Steps)
		}
	})
}
