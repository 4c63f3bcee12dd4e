package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// Checked returns a reply with what the hook left out of it, and without ids and times. It fails where its trigger cannot do
// what is asked for, or nobody could read or keep it. It changes nothing that the hook holds.
func Checked(trigger domain.Trigger, reply contract.HookReply) (contract.HookReply, error) {
	for _, field := range []struct {
		name  string
		set   bool
		where domain.Trigger
	}{
		{"block", reply.Block != "", domain.TriggerBeforeToolUse},
		{"call", reply.Call != nil, domain.TriggerBeforeToolUse},
		{"content", reply.Content != nil, domain.TriggerAfterToolUse},
		{"failure", reply.Failure != nil, domain.TriggerAfterToolUse},
		{"answer", reply.Answer != nil, domain.TriggerAfterInference},
		{"without_tools", reply.WithoutTools != nil, domain.TriggerBeforeInference},
		{"max_output_tokens", reply.MaxOutputTokens != nil, domain.TriggerBeforeInference},
	} {
		if field.set && trigger != field.where {
			return reply, nonsense("%s: is set at %s; it means something at %s only", field.name, trigger, field.where)
		}
	}
	reply = domain.Clone(reply)
	call, failure := reply.Call, reply.Failure
	switch {
	case reply.Error != nil:
		return reply, nonsense("error: is set; return the error beside the reply")
	case call != nil && reply.Block != "":
		return reply, nonsense("block, call: both are set; forbid the call or replace it")
	case call != nil && call.Name == "":
		return reply, nonsense("call.name: is empty; give the name of a tool")
	case failure != nil && reply.Content != nil:
		return reply, nonsense("content, failure: both are set; a result is a text or an error")
	}
	if call != nil {
		call.ID = ""
	}
	if failure != nil {
		failure.Message = domain.Shorten(failure.Message, domain.MaxReason)
	}
	for _, check := range []func(contract.HookReply) error{checkAnswer, checkStops, checkSaid, checkNotes, checkState, checkReadable} {
		if err := check(reply); err != nil {
			return reply, err
		}
	}
	return reply, nil
}

func nonsense(format string, args ...any) error {
	return domain.Invalidf("its reply makes no sense: "+format, args...)
}

func tooLarge(what string, size, limit int) error {
	return domain.TooLargef("its %s takes %d bytes; at most %d are allowed", what, size, limit)
}

func checkAnswer(reply contract.HookReply) error {
	answer := reply.Answer
	if answer == nil {
		return nil
	}
	answer.Role, answer.ID, answer.CreatedAt = cmp.Or(answer.Role, domain.RoleAssistant), domain.MessageID{}, time.Time{}
	switch {
	case answer.Role != domain.RoleAssistant:
		return nonsense("answer.role: is %s; an answer is the assistant's", answer.Role)
	case answer.ToolResult != nil:
		return nonsense("answer.tool_result: is set; an answer holds none")
	case len(answer.ToolCalls) > domain.MaxRequestedCalls:
		return nonsense("answer.tool_calls: there are %d; at most %d are allowed", len(answer.ToolCalls), domain.MaxRequestedCalls)
	case answer.Size() > domain.MaxMessage:
		return tooLarge("answer", answer.Size(), domain.MaxMessage)
	}
	for i, call := range answer.ToolCalls {
		if call.Name == "" {
			return nonsense("answer.tool_calls[%d].name: is empty; give the name of a tool", i)
		}
	}
	return nil
}

func checkStops(reply contract.HookReply) error {
	for i := range reply.Stops {
		stop := &reply.Stops[i]
		stop.Reason, stop.Source = cmp.Or(stop.Reason, domain.StopRequested), ""
		if err := new(domain.StopReason).UnmarshalText([]byte(stop.Reason)); err != nil {
			return nonsense("stops[%d].reason: %s", i, err)
		}
		stop.Message = domain.Shorten(stop.Message, domain.MaxReason)
		if err := fits("stop signal", stop, 16<<10); err != nil {
			return err
		}
	}
	return nil
}

// checkSaid takes no calls and no results, which would stand without one another.
func checkSaid(reply contract.HookReply) error {
	count := len(reply.Say)
	for _, messages := range reply.Aside { //workflowcheck:ignore a sum has no order
		count += len(messages)
	}
	if count > maxSaid {
		return nonsense("say, aside: there are %d messages; at most %d are allowed", count, maxSaid)
	}
	err := checkMessages("say", reply.Say)
	for _, section := range slices.Sorted(maps.Keys(reply.Aside)) {
		err = cmp.Or(err, checkMessages("aside."+domain.Shorten(section, 64), reply.Aside[section]))
	}
	return err
}

func checkMessages(field string, messages []domain.Message) error {
	for i := range messages {
		m := &messages[i]
		m.Role, m.ID, m.CreatedAt = cmp.Or(m.Role, domain.RoleUser), domain.MessageID{}, time.Time{}
		switch {
		case m.Role == domain.RoleTool || m.ToolResult != nil || len(m.ToolCalls) > 0:
			return nonsense("%s[%d]: is a tool's call or result; a hook adds texts", field, i)
		case len(m.Parts) == 0:
			return nonsense("%s[%d].parts: is empty; give it a text", field, i)
		case m.Size() > domain.MaxMessage:
			return tooLarge("message", m.Size(), domain.MaxMessage)
		}
	}
	return nil
}

func checkNotes(reply contract.HookReply) error {
	for _, key := range slices.Sorted(maps.Keys(reply.Note)) {
		switch value := reply.Note[key]; {
		case key == "":
			return nonsense("note: a key is empty; give it a name")
		case !json.Valid(value):
			return nonsense("note.%s: is no JSON; encode the value, or give null to take the key away", domain.Shorten(key, 64))
		}
	}
	return nil
}

func checkState(reply contract.HookReply) error {
	if prompt := reply.SystemPrompt; prompt != nil && len(*prompt) > domain.MaxSystemPrompt {
		return tooLarge("system prompt", len(*prompt), domain.MaxSystemPrompt)
	}
	budget := cmp.Or(reply.Budget, &domain.ExecutionBudget{})
	return cmp.Or(budget.Check(), fits("model", reply.Model, 64<<10), fits("response format", reply.Format, domain.MaxSystemPrompt))
}

// checkReadable refuses what the workflow cannot read: its task would fail again and again.
func checkReadable(reply contract.HookReply) error {
	if err := fits("reply", reply, MaxReply); err != nil {
		return err
	}
	encoded, _ := json.Marshal(reply) // it was encoded just now
	if err := json.Unmarshal(encoded, new(contract.HookReply)); err != nil {
		return nonsense("%s", err)
	}
	return nil
}

func fits(what string, value any, limit int) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nonsense("its %s cannot be encoded: %s", what, err)
	}
	if len(encoded) > limit {
		return tooLarge(what, len(encoded), limit)
	}
	return nil
}

// Changed returns a state as a reply wants it, but for messages and signals, which are the loop's to add. It fails where the
// state could not be kept.
func Changed(state domain.AgentState, reply contract.HookReply, now time.Time) (_ domain.AgentState, err error) {
	for _, key := range slices.Sorted(maps.Keys(reply.Note)) {
		value := reply.Note[key]
		if string(bytes.TrimSpace(value)) == "null" {
			value = nil
		}
		if state, err = state.WithMetadata(key, value, now); err != nil {
			return state, err
		}
	}
	if len(reply.Note) > 0 {
		if err := fits("metadata", state.Metadata, domain.MaxMetadata); err != nil {
			return state, err
		}
	}
	if reply.SystemPrompt != nil {
		state = state.WithSystemPrompt(*reply.SystemPrompt, now)
	}
	if reply.Model != nil {
		state = state.WithLLMConfig(*reply.Model, now)
	}
	if reply.Format != nil {
		if state, err = state.WithResponseFormat(*reply.Format, now); err != nil {
			return state, err
		}
	}
	if reply.Model != nil || reply.Format != nil {
		if err := (domain.Definition{Model: state.LLMConfig, Format: state.ResponseFormat}).Check(); err != nil {
			return state, err
		}
	}
	if reply.Budget != nil {
		if state, err = state.WithBudget(*reply.Budget, now); err != nil {
			return state, err
		}
	}
	return state, nil
}
