package activities

import (
	"cmp"
	"encoding/json"
	"unicode/utf8"

	"everstep/domain"
	"everstep/domain/contract"
)

const maxSaid = 100

// checkReply fills in what a hook left out of its reply, and refuses what its
// trigger cannot do or nobody could read.
func checkReply(request contract.HookRequest, reply *contract.HookReply) error {
	trigger := request.Hook.Trigger
	for _, field := range []struct {
		name  string
		set   bool
		where domain.Trigger
	}{
		{"block", reply.Block != "", domain.TriggerBeforeToolUse},
		{"call", reply.Call != nil, domain.TriggerBeforeToolUse},
		{"content", reply.Content != nil, domain.TriggerAfterToolUse},
		{"answer", reply.Answer != nil, domain.TriggerAfterInference},
	} {
		if field.set && trigger != field.where {
			return nonsense("%s: is set at %s; it means something at %s only", field.name, trigger, field.where)
		}
	}
	for _, check := range []func(contract.HookRequest, *contract.HookReply) error{checkCall, checkContent, checkAnswer, checkStop, checkSaid, checkNotes, checkReadable} {
		if err := check(request, reply); err != nil {
			return err
		}
	}
	return nil
}

func nonsense(format string, args ...any) error {
	return domain.Errorf(domain.Invalid, "its reply makes no sense: "+format, args...)
}

func checkCall(request contract.HookRequest, reply *contract.HookReply) error {
	if reply.Call == nil {
		return nil
	}
	call, asked := reply.Call, cmp.Or(request.Call, &domain.ToolCall{})
	call.ID = cmp.Or(call.ID, asked.ID)
	switch {
	case reply.Block != "":
		return nonsense("block, call: both are set; forbid the call or replace it")
	case call.Name == "":
		return nonsense("call.name: is empty; give the name of a tool")
	case call.ID != asked.ID:
		return nonsense("call.id: is not that of the model's call; leave it out")
	}
	return nil
}

func checkContent(_ contract.HookRequest, reply *contract.HookReply) error {
	switch {
	case reply.Content == nil:
		return nil
	case len(*reply.Content) > domain.MaxToolResult:
		return nonsense("content: has %d bytes, more than the %d of a tool's result; shorten it", len(*reply.Content), domain.MaxToolResult)
	case !utf8.ValidString(*reply.Content):
		return nonsense("content: is not UTF-8")
	}
	return nil
}

func checkAnswer(_ contract.HookRequest, reply *contract.HookReply) error {
	if reply.Answer == nil {
		return nil
	}
	answer := reply.Answer
	answer.Role = cmp.Or(answer.Role, domain.RoleAssistant)
	switch {
	case answer.Role != domain.RoleAssistant:
		return nonsense("answer.role: is %s; an answer is the assistant's", answer.Role)
	case answer.ToolResult != nil:
		return nonsense("answer.tool_result: is set; an answer holds none")
	case len(answer.ToolCalls) > domain.MaxRequestedCalls:
		return nonsense("answer.tool_calls: there are %d; at most %d are allowed", len(answer.ToolCalls), domain.MaxRequestedCalls)
	case answer.Size() > domain.MaxMessage:
		return nonsense("answer: takes about %d bytes; at most %d are allowed", answer.Size(), domain.MaxMessage)
	}
	for i, call := range answer.ToolCalls {
		if call.Name == "" {
			return nonsense("answer.tool_calls[%d].name: is empty; give the name of a tool", i)
		}
	}
	return nil
}

func checkStop(_ contract.HookRequest, reply *contract.HookReply) error {
	if reply.Stop == nil {
		return nil
	}
	stop := reply.Stop
	stop.Reason = cmp.Or(stop.Reason, domain.StopRequested)
	if err := new(domain.StopReason).UnmarshalText([]byte(stop.Reason)); err != nil {
		return nonsense("stop.reason: %s", err)
	}
	stop.Message = domain.Shorten(stop.Message, domain.MaxReason)
	return nil
}

// checkSaid takes no answers and no results, which would stand without their calls.
func checkSaid(_ contract.HookRequest, reply *contract.HookReply) error {
	if len(reply.Say) > maxSaid {
		return nonsense("say: there are %d messages; at most %d are allowed", len(reply.Say), maxSaid)
	}
	for i := range reply.Say {
		m := &reply.Say[i]
		m.Role = cmp.Or(m.Role, domain.RoleUser)
		switch {
		case m.Role == domain.RoleTool || m.ToolResult != nil || len(m.ToolCalls) > 0:
			return nonsense("say[%d]: is a tool's call or result; a hook adds texts", i)
		case len(m.Parts) == 0:
			return nonsense("say[%d].parts: is empty; give it a text", i)
		case m.Size() > domain.MaxMessage:
			return nonsense("say[%d]: takes about %d bytes; at most %d are allowed", i, m.Size(), domain.MaxMessage)
		}
	}
	return nil
}

func checkNotes(_ contract.HookRequest, reply *contract.HookReply) error {
	for key, value := range reply.Note {
		switch {
		case key == "":
			return nonsense("note: a key is empty; give it a name")
		case !json.Valid(value):
			return nonsense("note.%s: is no JSON; encode the value, or give null to take the key away", domain.Shorten(key, 64))
		}
	}
	return nil
}

// checkReadable refuses what the workflow cannot read: its task would fail again and again.
func checkReadable(_ contract.HookRequest, reply *contract.HookReply) error {
	encoded, err := json.Marshal(reply)
	if err != nil {
		return nonsense("it cannot be encoded: %s", err)
	}
	if len(encoded) > domain.MaxPayload {
		return domain.Errorf(domain.TooLarge, "its reply takes %d bytes; at most %d are allowed", len(encoded), domain.MaxPayload)
	}
	if err := json.Unmarshal(encoded, new(contract.HookReply)); err != nil {
		return nonsense("%s", err)
	}
	return nil
}
