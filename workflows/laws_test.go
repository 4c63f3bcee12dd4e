package workflows_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// A law holds in every world. What it says of a simulation that breaks it names what has.
type law struct {
	name  string
	holds func(*simulation) error
}

// laws are those that domain/doc.go lists.
func laws() []law {
	return []law{
		{"an execution that should end ends", (*simulation).comesToRest},
		{"an execution's events are whole", (*simulation).eventsAreWhole},
		{"what runs is what was shown", (*simulation).runsWhatWasShown},
		{"each wait has one end", (*simulation).waitsEndOnce},
		{"each call has one result in what the model is sent", (*simulation).callsHaveOneResult},
		{"no message is lost or read twice", (*simulation).messagesAreReadOnce},
		{"messages are read in their order", (*simulation).messagesKeepTheirOrder},
		{"what is asked twice is done once", (*simulation).requestsAreDoneOnce},
		{"nothing begins in a pause or after a stop", (*simulation).nothingBeginsInBetween},
		{"what was spent is counted", (*simulation).spendingIsCounted},
		{"a tree never overdraws its root", (*simulation).treesKeepToLimits},
		{"a session keeps to its totals", (*simulation).sessionsKeepToTotals},
		{"an effect happens at most once", (*simulation).effectsHappenOnce},
		{"marks are the next request", (*simulation).marksAreTheNextRequest},
		{"a request begins with the one before", (*simulation).requestsBeginWithTheOneBefore},
		{"what is accepted is handed on", (*simulation).isHandedOn},
	}
}

func (s *simulation) comesToRest() error {
	if len(s.wrong) > 0 {
		return errors.New(strings.Join(s.wrong, "; "))
	}
	return nil
}

// all are the accounts of the agent and its sub-agents, by the agents' workflow ids.
func (s *simulation) all() map[string]account.Account {
	all := maps.Clone(s.accounts)
	all[s.input.WorkflowID()] = account.Account{Executions: s.executions, Events: s.events, Messages: s.entries}
	return all
}

// eventsAreWhole: each execution's are numbered from 1, what began has ended, and one event ends it.
func (s *simulation) eventsAreWhole() error {
	for agent, told := range s.all() {
		sequence, ends, open := map[domain.ExecutionID]int64{}, map[domain.ExecutionID]int{}, map[string]int{}
		for _, e := range told.Events {
			if sequence[e.ExecutionID]++; e.Sequence != sequence[e.ExecutionID] {
				return fmt.Errorf("%s: event %d is %s, number %d", s.who(agent), sequence[e.ExecutionID], e.Type, e.Sequence)
			}
			switch data := e.Data.(type) {
			case domain.InferenceRequestStarted:
				open[fmt.Sprint("an inference of ", e.ExecutionID)]++
			case domain.InferenceResponseReceived:
				open[fmt.Sprint("an inference of ", e.ExecutionID)]--
			case domain.EventCall:
				if e.Type == domain.EventToolCallStarted {
					open[fmt.Sprint("call ", data.ToolExecutionID)]++
				}
			case domain.ToolCallCompleted:
				open[fmt.Sprint("call ", data.ToolExecutionID)]--
			case domain.SubagentSpawning:
				open[fmt.Sprint("sub-agent ", data.ChildID)]++
			case domain.SubagentCompleted:
				open[fmt.Sprint("sub-agent ", data.ChildID)]--
			}
			switch e.Type {
			case domain.EventStepStarted:
				open[fmt.Sprint("step of ", e.ExecutionID)]++
			case domain.EventStepCompleted:
				open[fmt.Sprint("step of ", e.ExecutionID)]--
			case domain.EventExecutionCompleted, domain.EventExecutionFailed:
				ends[e.ExecutionID]++
			}
		}
		if s.wasTerminated(agent) {
			continue // what was under way has no end
		}
		for what, n := range open {
			if n != 0 {
				return fmt.Errorf("%s: %s began %+d times more than it ended", s.who(agent), what, n)
			}
		}
		for _, e := range told.Executions {
			if ends[e.ExecutionID] != 1 || !e.Status.Terminal() {
				return fmt.Errorf("%s: execution %d has %d ends and is %s", s.who(agent), e.Number, ends[e.ExecutionID], e.Status)
			}
		}
	}
	return nil
}

// wasTerminated reports whether the server has ended an agent in the middle, or one above it, with which it ends.
func (s *simulation) wasTerminated(agent string) bool {
	head := s.accounts[agent].Head
	return slices.Contains(s.terminated, agent) || head != nil && head.Parent != nil && s.wasTerminated(domain.WorkflowID(head.Parent.AgentID.String()))
}

// asks are the calls as the model made them, by their ids.
func (s *simulation) asks() map[domain.ToolExecutionID]domain.ToolCall {
	calls := map[domain.ToolExecutionID]domain.ToolCall{}
	for _, told := range s.all() {
		for _, e := range told.Messages {
			for i, call := range e.Message.ToolCalls {
				calls[domain.TagOf(e.Message).StepID.Tool(i)] = call
			}
		}
	}
	return calls
}

func (s *simulation) hooked(arguments string) string {
	if len(s.plan.hooks) > 0 && arguments == rewritten {
		return rewrittenTo
	}
	return arguments
}

// runsWhatWasShown: what runs is, to the byte, what the model asked for after the hooks' say, and where a person was asked what that
// person saw or gave.
func (s *simulation) runsWhatWasShown() error {
	calls := s.asks()
	for _, one := range s.ran {
		id, call := one.request.ID(), calls[one.request.ID()]
		arguments := one.request.Arguments
		if one.request.Reference != nil {
			arguments = call.Arguments
			if one.request.Reference.Digest != domain.DigestOf([]byte(arguments)) {
				return fmt.Errorf("%s runs with arguments of another digest", id)
			}
		}
		want, allowed := s.hooked(call.Arguments), s.ruled(one.request.Name) == domain.Allow
		for _, w := range s.requests {
			answer, ok := w.request.(contract.AnswerRequest)
			if !ok || w.seq > one.seq || !w.taken() || answer.Verdict != domain.Approved {
				continue
			}
			reply := w.value.(contract.AnswerReply)
			switch {
			case answer.Call == id && answer.Digest != w.shown.Digest:
				return fmt.Errorf("%s was approved with another digest than was shown", id)
			case answer.Call == id && answer.Arguments != "":
				want, allowed = s.hooked(answer.Arguments), allowed || answer.Arguments == s.hooked(answer.Arguments)
			case answer.Call == id:
				want, allowed = w.shown.Arguments, true
			case answer.Always && reply.Standing != nil && reply.Standing.Digest == domain.CallDigest(one.request.Name, arguments):
				allowed = true
			}
		}
		switch {
		case arguments != want:
			return fmt.Errorf("%s of %s runs with %s; %s was shown", id, one.request.Name, arguments, want)
		case !allowed:
			return fmt.Errorf("%s of %s runs with %s, and nobody has allowed it", id, one.request.Name, arguments)
		}
	}
	return nil
}

// ruled is what the agent's rules say of a tool.
func (s *simulation) ruled(tool string) domain.Permission {
	for _, rule := range s.input.Definition.Approvals.Rules {
		if rule.Tool == tool || rule.Tool == "*" {
			return rule.Then
		}
	}
	return domain.AskFirst
}

// waitsEndOnce: by one answer that was taken, or by time, or by a stop, which answers nothing.
func (s *simulation) waitsEndOnce() error {
	type wait struct {
		call domain.ToolExecutionID
		kind domain.WaitKind
	}
	opened, closed, byPerson, answered := map[wait]int{}, map[wait]int{}, map[wait]string{}, map[wait]int{}
	for _, told := range s.all() {
		for _, e := range told.Events {
			switch data := e.Data.(type) {
			case domain.WaitOpened:
				opened[wait{data.ToolExecutionID, data.Kind}]++
			case domain.WaitClosed:
				one := wait{data.ToolExecutionID, data.Kind}
				if data.Kind == domain.WaitOutcome && s.verified[data.ToolExecutionID] != "" || !data.Standing.IsZero() && data.Standing != data.ToolExecutionID {
					continue // it did not wait
				}
				if closed[one]++; closed[one] > opened[one] {
					return fmt.Errorf("the wait of %s for %s has ended %d times, and begun %d", one.call, one.kind, closed[one], opened[one])
				}
				byPerson[one] += string(data.Verdict) + " " + data.By + "; "
			}
		}
	}
	for _, w := range s.requests {
		answer, ok := w.request.(contract.AnswerRequest)
		if !ok || !w.taken() || w.again != nil {
			continue
		}
		one := wait{answer.Call, answer.Verdict.Kind()}
		if answered[one]++; answered[one] > opened[one] && w.value.(contract.AnswerReply).Wait.Answer.By == answer.By {
			return fmt.Errorf("%d answers were taken for the wait of %s for %s", answered[one], one.call, one.kind)
		}
		if told := w.value.(contract.AnswerReply).Wait; told.Verdict() != answer.Verdict {
			return fmt.Errorf("%s said %s of %s, and is told %s", w.id, answer.Verdict, one.call, told.Verdict())
		}
		if !strings.Contains(byPerson[one], string(answer.Verdict)+" "+answer.By+"; ") && !s.leavesWaits(w) {
			return fmt.Errorf("%s said %s of %s, and no event has it: %s", w.id, answer.Verdict, one.call, byPerson[one])
		}
	}
	return nil
}

// leavesWaits reports whether an answer may have no event: its execution was stopped as it came, or none was in progress, so that the
// next one tells.
func (s *simulation) leavesWaits(answer *personRequest) bool {
	return answer.executionID.IsZero() || s.signalled(answer.executionID, answer.at) || slices.ContainsFunc(s.requests, func(w *personRequest) bool {
		return w.what == "stop" && w.executionID == answer.executionID
	})
}

// sent are the messages that an inference was asked with.
func (s *simulation) sent(a asked) []domain.Message {
	entries := s.entries
	if a.agent != s.input.WorkflowID() {
		entries = s.accounts[a.agent].Messages
	}
	if len(entries) < a.request.Log.Length {
		return nil
	}
	return compiled(entries, a.request)
}

// compiled are the messages that an inference was asked with, by the default compiler.
func compiled(entries []domain.Entry, r contract.ModelRequest) []domain.Message {
	chain := append([]domain.ExecutionID{r.ExecutionID}, r.Origins...)
	return domain.CompileEdited("", nil, entries[:r.Log.Length], chain, r.Edits)
}

// callsHaveOneResult: each call is followed by its result, in the order of the calls, and there is no other result.
func (s *simulation) callsHaveOneResult() error {
	for _, a := range s.asked {
		var due []domain.ToolCall
		for i, m := range s.sent(a) {
			switch {
			case m.ToolResult == nil && len(due) > 0, m.ToolResult != nil && len(due) == 0:
				return fmt.Errorf("step %d: message %d of %s comes where %d results are due", a.request.Step, i, m.Role, len(due))
			case m.ToolResult == nil:
				due = m.ToolCalls
			case m.ToolResult.CallID != due[0].ID || m.ToolResult.Name != due[0].Name:
				return fmt.Errorf("step %d: message %d is the result of %s, and that of %s is due", a.request.Step, i, m.ToolResult.Name, due[0].Name)
			default:
				due = due[1:]
			}
		}
		if len(due) > 0 {
			return fmt.Errorf("step %d: the model is asked while the result of %s is due", a.request.Step, due[0].Name)
		}
	}
	return nil
}

// effectsHappenOnce: a call that may have begun is not made again where its tool does not allow it, nor is another one of the same
// effect as long as nobody has said what became of it.
func (s *simulation) effectsHappenOnce() error {
	begun, unknown := map[domain.ToolExecutionID]bool{}, map[string]called{}
	tools := map[string]domain.ToolSpec{}
	for _, tool := range simulatedTools() {
		tools[tool.Name] = tool
	}
	for _, one := range s.ran {
		tool := tools[one.request.Name]
		if tool.Effect.Repeatable() || one.request.Pending != nil {
			continue
		}
		if begun[one.request.ID()] {
			return fmt.Errorf("%s of %s is made again though it may have taken effect", one.request.ID(), tool.Name)
		}
		effect := one.agent + " " + tool.EffectKeyOf(domain.AgentID{}, one.request.Arguments).String()
		if before, is := unknown[effect]; is && !s.settled(before, one.seq) {
			return fmt.Errorf("%s has the effect of %s, of which nobody has said what became of it", one.request.ID(), before.request.ID())
		}
		begun[one.request.ID()] = one.begun
		if one.begun && one.lost {
			unknown[effect] = one
		}
	}
	return nil
}

// settled reports whether somebody, or the tool, had said what became of a call.
func (s *simulation) settled(call called, before int) bool {
	for _, w := range s.requests {
		if answer, ok := w.request.(contract.AnswerRequest); ok && w.seq < before && answer.Call == call.request.ID() && answer.Verdict.Kind() == domain.WaitOutcome && w.taken() {
			return true
		}
	}
	return s.verified[call.request.ID()] != ""
}
