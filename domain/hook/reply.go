package hook

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

const (
	// MaxReply bounds one reply when encoded.
	MaxReply = 1 << 20

	maxSaid = 100
)

// Ask runs a hook that is not an activity, and returns what it wants done: what differs between the context that it was given
// and the one that it has made. It fails where the hook does, and where that changed what no hook may change.
func Ask[At any](h Hook, given Context[At]) (contract.HookReply, error) {
	own := given
	own.State, own.At = given.State.Clone(), domain.Clone(given.At)
	made, err := Run(h, own)
	if err != nil {
		return contract.HookReply{}, err
	}
	reply, changed := replyOf(given, made)
	if changed != "" {
		return contract.HookReply{}, domain.Invalidf("it changed %s, which no hook may change; return the context that was given, changed by its methods", changed)
	}
	return Checked(h.trigger, reply)
}

// replyOf is what a hook has made of a context, or what it has changed of it that no hook may change.
func replyOf[At any](given, made Context[At]) (reply contract.HookReply, forbidden string) {
	is, was := made.State, given.State
	if made.Trigger != given.Trigger || !made.Now.Equal(given.Now) {
		return reply, "trigger or now"
	}
	if forbidden = fieldOf("state", is.ForbiddenChange(was)); forbidden != "" {
		return reply, forbidden
	}
	reply = contract.HookReply{
		Stops:    slices.Concat(is.StopSignals()[len(was.StopSignals()):], made.stops),
		Continue: made.goOn || is.Continuation().Requested && !was.Continuation().Requested,
		Note:     changedNotes(was.Metadata, is.Metadata),
	}
	for _, e := range is.AddedSince(was) {
		if e.Section == domain.SectionMessages {
			reply.Say = append(reply.Say, e.Message)
			continue
		}
		if reply.Aside == nil {
			reply.Aside = map[string][]domain.Message{}
		}
		reply.Aside[e.Section] = append(reply.Aside[e.Section], e.Message)
	}
	if prompt := is.SystemPrompt; prompt != was.SystemPrompt {
		reply.SystemPrompt = &prompt
	}
	if model := is.LLMConfig; !model.Equal(was.LLMConfig) {
		reply.Model = &model
	}
	if format := is.ResponseFormat; !format.Equal(was.ResponseFormat) {
		reply.Format = &format
	}
	before, _ := was.Budget()
	if budget, _ := is.Budget(); !reflect.DeepEqual(budget, before) {
		reply.Budget = &budget
	}
	forbidden = replyAt(&reply, given.At, made.At)
	return reply, forbidden
}

// replyAt adds to a reply what a hook has made of what is at hand, or names what it has changed of that and no hook may change.
func replyAt[At any](reply *contract.HookReply, given, made At) (forbidden string) {
	switch is := any(made).(type) {
	case Request:
		was, _ := any(given).(Request)
		if is.WithoutTools != was.WithoutTools {
			reply.WithoutTools = &is.WithoutTools
		}
		if is.MaxOutputTokens != was.MaxOutputTokens {
			reply.MaxOutputTokens = &is.MaxOutputTokens
		}
	case Answer:
		was, _ := any(given).(Answer)
		if !is.Message.Equal(was.Message) {
			reply.Answer = &is.Message
		}
		return fieldOf("response", domain.DifferentField(is.Response, was.Response))
	case Call:
		was, _ := any(given).(Call)
		if is.forbid {
			reply.Block = cmp.Or(is.blocked, "a hook does not allow this call")
		}
		if is.Call.ID = was.Call.ID; is.Call != was.Call {
			reply.Call = &is.Call
		}
		if is.Position != was.Position {
			return "position"
		}
	case Result:
		was, _ := any(given).(Result)
		switch made := is.Execution; {
		case made.SameOutcome(was.Execution):
		case made.Error != nil:
			reply.Failure = made.Error
		default:
			reply.Content = &made.Value
		}
		if is.Position != was.Position {
			return "position"
		}
		is.Execution.Value, is.Execution.Error = was.Execution.Value, was.Execution.Error
		return fieldOf("execution", domain.DifferentField(is.Execution, was.Execution))
	case Failure:
		was, _ := any(given).(Failure)
		return fieldOf("error", domain.DifferentField(is.Error, was.Error))
	}
	return ""
}

// fieldOf names a field within what holds it; empty: none.
func fieldOf(what, field string) string {
	if field == "" {
		return ""
	}
	return what + "." + field
}

// changedNotes are those that differ; null stands for one that is gone.
func changedNotes(was, is domain.Metadata) domain.Metadata {
	changed := domain.Metadata{}
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if before, had := was[key]; !had || string(before) != string(is[key]) {
			changed[key] = is[key]
		}
	}
	for _, key := range slices.Sorted(maps.Keys(was)) {
		if _, has := is[key]; !has {
			changed[key] = json.RawMessage("null")
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return changed
}

// Replaced returns what is at hand with what a reply puts in its place.
func Replaced[At any](at At, reply contract.HookReply) At {
	switch at := any(&at).(type) {
	case *Request:
		if reply.WithoutTools != nil {
			at.WithoutTools = *reply.WithoutTools
		}
		if reply.MaxOutputTokens != nil {
			at.MaxOutputTokens = *reply.MaxOutputTokens
		}
	case *Answer:
		if reply.Answer != nil {
			id, created := at.Message.ID, at.Message.CreatedAt
			at.Message = *reply.Answer
			at.Message.ID, at.Message.CreatedAt = id, created
		}
	case *Call:
		if reply.Call != nil {
			at.Call = domain.ToolCall{ID: at.Call.ID, Name: reply.Call.Name, Arguments: reply.Call.Arguments}
		}
		if reply.Block != "" {
			*at = at.Block(reply.Block)
		}
	case *Result:
		if reply.Content != nil {
			at.Execution.Value, at.Execution.Error = *reply.Content, nil
		}
		if reply.Failure != nil {
			at.Execution.Error = reply.Failure
		}
	}
	return at
}
