package workflows_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// act has somebody look at the agent and do something about what there is.
func (s *simulation) act(a act) {
	head := s.head()
	idle := head.Newest != nil && head.Newest.Ended != nil
	s.views = append(s.views, view{s.now(), s.next(), head, idle})
	if a.of != nil {
		s.say(a, a.of.agent, a.of.request)
		return
	}
	root, id := s.input.WorkflowID(), s.next()
	switch a.what {
	case "send", "steer", "queue":
		s.say(a, root, contract.SendRequest{
			Prompt: fmt.Sprintf("message %d.", id), IfBusy: map[string]contract.Delivery{"send": "", "steer": contract.SteerIfBusy, "queue": contract.QueueIfBusy}[a.what],
		})
	case "unsend":
		if len(head.Unread) > 0 {
			s.say(a, root, contract.UnsendRequest{MessageID: head.Unread[a.pick%len(head.Unread)].ID.String()})
		}
	case "approve", "deny", "edit", "always", "answer", "resolve":
		s.answer(a)
	case "revoke":
		if all := head.AlwaysAllowed; len(all) > 0 {
			s.say(a, root, contract.RevokeRequest{ID: all[a.pick%len(all)].ID.String()})
		}
	case "pause":
		s.say(a, root, contract.PauseRequest{})
	case "resume":
		for _, agent := range append([]string{root}, s.children...) {
			s.say(a, agent, contract.PauseRequest{})
		}
	case "suspend":
		s.say(a, root, contract.SuspendRequest{Reason: "an audit"})
	case "unsuspend":
		s.say(a, root, contract.UnsuspendRequest{})
	case "clear":
		s.say(a, root, contract.ClearRequest{})
	case "close":
		s.say(a, root, contract.CloseRequest{})
	case "stop":
		s.stop(a, head)
	case "cancel":
		s.cancel(a, head)
	case "rubbish":
		s.rubbish(a, head)
	case "extend":
		s.say(a, root, contract.ExtendRequest{Budget: more(head.Ledger.Own().Limit, int64(a.n))})
	case "extend session":
		if head.Ledger.Session != nil {
			s.say(a, root, contract.ExtendSessionRequest{Budget: more(head.Ledger.Session.Limit, int64(a.n))})
		}
	case "update":
		s.say(a, root, contract.UpdateRequest{Definition: domain.Definition{SystemPrompt: fmt.Sprint("prompt ", id)}, Fields: []string{"system_prompt"}})
	case "rewind":
		s.rewind(a, head)
	}
}

// more are higher totals of the limits that there are.
func more(b domain.ExecutionBudget, n int64) domain.ExecutionBudget {
	raise := func(limit *int64, by int64) *int64 {
		if limit == nil {
			return nil
		}
		return new(*limit + n*by)
	}
	return domain.ExecutionBudget{
		MaxSteps: raise(b.MaxSteps, 1), MaxToolCalls: raise(b.MaxToolCalls, 1), MaxTokens: raise(b.MaxTokens, 300), MaxCostNanoUSD: raise(b.MaxCostNanoUSD, 300_000),
	}
}

// say asks something of an agent, once more after a time where the act says so.
func (s *simulation) say(a act, agent string, request any) {
	w := &personRequest{at: s.now(), seq: s.next(), what: a.what, agent: agent, request: request, again: a.of}
	w.id = fmt.Sprint("request ", w.seq)
	w.executionID, w.step = s.inProgress()
	if a.of != nil {
		w.id, w.what = a.of.id, a.of.what+" once more"
	}
	if answer, ok := request.(contract.AnswerRequest); ok && a.of == nil {
		w.shown = s.shown(agent, answer.Call)
	} else if ok {
		w.shown = a.of.shown
	}
	s.requests = append(s.requests, w)
	name := map[string]string{
		"send": string(contract.UpdateSend), "steer": string(contract.UpdateSend), "queue": string(contract.UpdateSend), "unsend": string(contract.UpdateUnsend),
		"revoke": string(contract.UpdateRevoke), "pause": string(contract.UpdatePause), "resume": string(contract.UpdateResume), "suspend": string(contract.UpdateSuspend),
		"unsuspend": string(contract.UpdateUnsuspend), "clear": string(contract.UpdateClear), "close": string(contract.UpdateClose), "extend": string(contract.UpdateExtend),
		"extend session": string(contract.UpdateExtendSession), "update": string(contract.UpdateDefinition), "rewind": string(contract.UpdateRewind),
	}[a.what]
	if name == "" {
		name = string(contract.UpdateAnswer)
	}
	heard := &requestCallbacks{personRequest: w, sim: s}
	if agent == s.input.WorkflowID() {
		s.env.UpdateWorkflow(name, w.id, heard, request)
	} else if err := s.env.UpdateWorkflowByID(agent, name, w.id, heard, request); err != nil {
		heard.Reject(err)
	}
	if a.again > 0 && a.of == nil && !s.resting {
		a.at, a.of = s.now()+a.again, w
		s.acts = append(slices.Clip(s.acts), a)
		s.env.RegisterDelayedCallback(func() { s.perform(a) }, a.again)
	}
}

// perform does an act of the plan, unless it is done.
func (s *simulation) perform(a act) {
	if at := slices.Index(s.acts, a); at >= 0 {
		s.acts = slices.Delete(slices.Clone(s.acts), at, at+1)
		s.act(a)
	}
}

// requestCallbacks tell the story of how a request was taken.
type requestCallbacks struct {
	*personRequest
	sim *simulation
}

func (h *requestCallbacks) Accept() { h.personRequest.Accept() }
func (h *requestCallbacks) Reject(err error) {
	h.personRequest.Reject(err)
	if !h.sim.resting {
		h.sim.tell("person", "%s (%s) of %s: refused: %s", h.what, h.id, h.sim.who(h.agent), err)
	}
}

func (h *requestCallbacks) Complete(value any, err error) {
	h.personRequest.Complete(value, err)
	h.sim.tell("person", "%s (%s) of %s: %s", h.what, h.id, h.sim.who(h.agent), briefly(h.request, err))
}

func briefly(request any, err error) string {
	text := fmt.Sprintf("%+v", request)
	switch r := request.(type) {
	case contract.AnswerRequest:
		text = fmt.Sprintf("%s of %s %s", r.Verdict, r.Call, r.Arguments)
	case contract.SendRequest:
		text = r.Prompt
	case contract.RewindRequest:
		text = fmt.Sprintf("to step %d of execution %d, %q", r.Origin.Step, r.Number, r.Prompt)
	case contract.ExtendRequest, contract.ExtendSessionRequest, contract.UpdateRequest:
		text = ""
	}
	if err != nil {
		return text + ": failed: " + err.Error()
	}
	return text
}

// waits are those of a kind that wait, with whom.
func (s *simulation) waits(kind domain.WaitKind) (waits []domain.Wait, agents []string) {
	for _, agent := range append([]string{s.input.WorkflowID()}, s.children...) {
		told, err := s.account(agent, account.HeadOf)
		if err != nil {
			continue
		}
		for _, w := range told.Head.Waits {
			if w.Kind == kind && w.Open() {
				waits, agents = append(waits, w), append(agents, agent)
			}
		}
	}
	return waits, agents
}

func (s *simulation) shown(agent string, call domain.ToolExecutionID) domain.Wait {
	told, err := s.account(agent, account.HeadOf)
	if err != nil {
		return domain.Wait{}
	}
	for _, w := range told.Head.Waits {
		if w.ToolExecutionID == call {
			return w
		}
	}
	return domain.Wait{}
}

// answer has somebody say something about a call that waits, now and then with the digest of another call.
func (s *simulation) answer(a act) {
	kind := map[string]domain.WaitKind{"answer": domain.WaitQuestion, "resolve": domain.WaitOutcome}[a.what]
	if kind == "" {
		kind = domain.WaitApproval
	}
	waits, agents := s.waits(kind)
	if len(waits) == 0 {
		return
	}
	at := a.pick % len(waits)
	r := contract.AnswerRequest{Call: waits[at].ToolExecutionID, By: fmt.Sprint("person ", s.next()), Reason: "so it is"}
	if r.Digest = waits[at].Digest; a.n >= 9 {
		r.Digest = domain.CallDigest("pay", "{}")
	}
	switch a.what {
	case "approve":
		r.Verdict = domain.Approved
	case "always":
		r.Verdict, r.Always = domain.Approved, true
	case "edit":
		r.Verdict = domain.Approved
		r.Arguments = []string{`{"order":  5}`, rewritten, `{"order": "five"}`, `{"order": 1 }`}[a.n%4]
	case "deny":
		r.Verdict = domain.WasDenied
	case "answer":
		r.Verdict, r.Text = domain.AnsweredByPerson, fmt.Sprint("answer ", s.counted)
	case "resolve":
		r.Verdict = []domain.Verdict{domain.VerdictNotDone, domain.VerdictDone}[a.n%2]
	}
	s.say(a, agents[at], r)
}

func (s *simulation) stop(a act, head account.Head) {
	modes := enum.Known[contract.StopMode]()
	request := contract.StopRequest{Mode: modes[a.n%len(modes)], Within: contract.Span([]time.Duration{0, 0, 0, time.Second}[a.n%4]), Reason: "enough"}
	if s.resting {
		request.Mode = contract.StopNow
	}
	if head.Newest != nil && a.n%2 == 0 && !s.resting {
		request.ExecutionID = head.Newest.ExecutionID
	}
	s.stops(request)
	s.tell("person", "stops: %s", request.Mode)
	signalStop(s.env, request)
}

func (s *simulation) stops(request contract.StopRequest) {
	w := &personRequest{at: s.now(), seq: s.next(), what: "stop", agent: s.input.WorkflowID(), request: request}
	w.executionID, w.step = s.inProgress()
	s.requests = append(s.requests, w)
}

// cancel has the server cancel the workflow of the agent, or terminate that of a sub-agent, as the environment does to one that is
// cancelled.
func (s *simulation) cancel(a act, head account.Head) {
	if len(head.Children) > 0 && a.pick > 0 {
		child := domain.WorkflowID(head.Children[a.pick%len(head.Children)].AgentID.String())
		s.terminated = append(s.terminated, child)
		s.tell("server", "terminates %s", s.who(child))
		s.env.CancelWorkflowByID(child, "")
		return
	}
	s.stops(contract.ServerStop())
	s.tell("server", "cancels the agent")
	s.env.CancelWorkflow()
}

// rubbish sends the agent, or a sub-agent, a signal of its own protocol that nobody means.
func (s *simulation) rubbish(a act, head account.Head) {
	agents := append([]string{s.input.WorkflowID()}, s.children...)
	agent := agents[a.pick%len(agents)]
	signal := []string{string(contract.SignalReport), string(contract.SignalGrant), "nobody's"}[a.n%3]
	var payload any = "rubbish"
	if a.n >= 6 && len(head.Children) > 0 {
		grant := domain.ExecutionBudget{MaxSteps: number(1000), MaxTokens: number(1 << 40)}
		payload = map[string]any{
			"id": head.Children[0].ToolExecutionID, "seq": a.n - 5, "waits": a.pick%2 == 0, "grant": grant, "ask": domain.Ask{Limit: domain.LimitTokens, Need: int64(a.n-8) << 30},
		}
	}
	told, _ := json.Marshal(payload)
	s.tell("nobody", "signals %s to %s: %s", signal, s.who(agent), told)
	if agent == s.input.WorkflowID() {
		s.env.SignalWorkflow(signal, payload)
	} else if err := s.env.SignalWorkflowByID(agent, signal, payload); err != nil {
		s.tell("server", "%s", err)
	}
}

// rewind has somebody lead the session back to a step of its past, as far as the run holds it.
func (s *simulation) rewind(a act, head account.Head) {
	told, err := s.account(s.input.WorkflowID(), account.Executions, account.Steps)
	entries := s.messages(s.input.WorkflowID(), nil)
	if err != nil || len(told.Executions) == 0 || len(entries) < head.Position.Length {
		return
	}
	e := told.Executions[a.pick%len(told.Executions)]
	var steps []domain.StepExecution
	for _, step := range told.Steps {
		if step.Execution == e.Number && len(steps) < a.n%4 {
			steps = append(steps, step.StepExecution)
		}
	}
	if len(steps) > 0 && steps[len(steps)-1].Step.Number != len(steps) {
		return // an earlier run has it
	}
	r, err := rewindOf(head.AgentID, head.Newest.Number, e, steps, entries)
	if err != nil {
		return
	}
	if a.n%3 == 1 {
		r.Prompt = fmt.Sprintf("message %d.", s.next())
	}
	s.say(a, s.input.WorkflowID(), r)
}
