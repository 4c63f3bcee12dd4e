package workflows

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// commands are what people ask of an agent: for each a check, which only refuses, and what does it.
type commands struct {
	session      *session
	agent        *agent
	config       *configuration
	mail         *mailbox.Mailbox
	conversation *transcript
	budget       *budget
	run          *run
}

func (s *session) commands() *commands {
	return &commands{s, s.agent, s.config, s.mail, s.conversation, s.budget, s.run}
}

// checkAnswer refuses what somebody says about a call that does not wait for it, and what does not fit the wait.
func (c *commands) checkAnswer(request contract.AnswerRequest) error {
	w, err := c.waitFor(request)
	if err != nil {
		return err
	}
	if schema, _ := c.schemaOf(w, request); schema != nil {
		err = c.checkTries(w, request)
	}
	if err = cmp.Or(err, waitKindOf(w.Kind).check(c, w, request)); err != nil {
		return err
	}
	// Where no worker was up as the time went by, an answer is looked at before the end of the wait.
	if !w.Expires.IsZero() && !c.agent.now().Before(w.Expires) {
		return timeOver(request.Does(), w.ToolExecutionID, w.Expires)
	}
	return nil
}

// mostAnswerChecks bounds how often a worker is asked whether an answer to one wait fits: each time takes some of the history.
const mostAnswerChecks = 50

// checkTries refuses an answer that a worker would have to check, where there is no room for that.
func (c *commands) checkTries(w *openWait, request contract.AnswerRequest) error {
	does, instead := request.Does(), "stop the execution, and extend it, or wait until the question expires"
	if request.Arguments != "" {
		instead = "approve or deny it as it is"
	}
	switch {
	case w.tries >= mostAnswerChecks:
		return domain.Deniedf("%s: somebody has tried %d times to %s call %s, which is as often as may be; %s", does, w.tries, does, w.ToolExecutionID, instead)
	case c.run.nearBounds() || c.mail.Updates.Full():
		return domain.Deniedf("%s: the run has no room for a worker to check it; %s", does, instead)
	}
	return nil
}

// answer writes down what somebody says about a call that waits, once a worker says that it fits where there is a schema.
// Meanwhile somebody else may answer. The call takes it from there.
func (c *commands) answer(ctx workflow.Context, request contract.AnswerRequest) (reply contract.AnswerReply, _ error) {
	w, err := c.waitFor(request)
	if err != nil {
		return reply, err
	}
	request.Call = w.ToolExecutionID
	if schema, text := c.schemaOf(w, request); schema != nil {
		w.tried()
		if err = c.checkFits(ctx, w.Tool, request, schema, text); err == nil {
			_, err = c.waitFor(request)
		}
		if err != nil && !w.Open() { // what came of that answer may have cut the check off
			err = c.notWaiting(request)
		}
	}
	if err != nil {
		return reply, err
	}
	reply.Standing = waitKindOf(w.Kind).apply(c, w, request)
	reply.Number, reply.Wait, reply.UnknownOutcomes = c.agent.state.ExecutionCount, w.Wait, len(c.agent.state.UnresolvedOutcomes())
	if !w.Kind.Rule().Outlasts {
		reply.Wait = w.Recorded()
		reply.Wait.ToolExecutionID, reply.Wait.ExecutionID, reply.Wait.Step, reply.Wait.Tool = w.ToolExecutionID, w.ExecutionID, w.Step, w.Tool
	}
	return reply, nil
}

// waitFor is the wait that somebody answers, or why there is none. Without an id it is the only one of its kind. A digest has to
// be that of what the person was shown.
func (c *commands) waitFor(request contract.AnswerRequest) (*openWait, error) {
	id := request.Call
	open := append(c.session.openWaits.open(), &openWait{Wait: c.agent.state.UnknownOutcome(id)})
	open = slices.DeleteFunc(open, func(w *openWait) bool { return !request.Fits(w.Kind) })
	at := slices.IndexFunc(open, func(w *openWait) bool { return w.ToolExecutionID == id })
	switch {
	case id.IsZero() && len(open) > 1:
		return nil, domain.Deniedf("%s: %d calls wait for that; name one of them: %s", request.Does(), len(open), named(open))
	case id.IsZero() && len(open) == 1:
		at = 0
	case at < 0:
		return nil, c.notWaiting(request)
	}
	if found := open[at]; request.Digest.IsZero() || request.Digest == found.Digest {
		return found, nil
	}
	return nil, domain.Deniedf("%s: call %s waits with something else than you have seen; look at it again", request.Does(), open[at].ToolExecutionID)
}

func named(waits []*openWait) string {
	const most = 5
	var names []string
	for _, w := range waits[:min(len(waits), most)] {
		names = append(names, w.ToolExecutionID.String()+" ("+domain.Shorten(w.Tool, 64)+")")
	}
	if len(waits) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// notWaiting says why a call does not wait for what somebody says about it.
func (c *commands) notWaiting(request contract.AnswerRequest) error {
	does, kind, id := request.Does(), request.Verdict.Kind(), request.Call
	rule := kind.Rule()
	switch {
	case rule.Outlasts:
		return domain.Invalidf("call: %s is no call of unknown outcome of this agent", id)
	case id.IsZero():
		return domain.Deniedf("%s: no call of this agent waits for %s", does, rule.For)
	}
	was := c.session.openWaits.answered(kind, id)
	if call, ok := c.agent.toolExecution(id); was.IsZero() && ok {
		was = call.Wait(kind)
	}
	switch {
	case was.IsZero():
		return domain.Deniedf("%s: call %s does not wait for %s", does, id, rule.For)
	case was.Answer == nil:
		return domain.Deniedf("%s: the execution was stopped while call %s waited for %s", does, id, rule.For)
	case was.Verdict().Kind() == "": // nobody has said it
		return timeOver(does, id, was.Answer.At)
	}
	by := ""
	if was.Answer.By != "" {
		by = " by " + was.Answer.By
	}
	return domain.Deniedf("%s: call %s was %s already, at %s%s", does, id, was.Verdict(), was.Answer.At.Format(time.RFC3339), by)
}

func timeOver(does string, id domain.ToolExecutionID, at time.Time) error {
	return domain.Deniedf("%s: the time for call %s was over at %s", does, id, at.UTC().Format(time.RFC3339))
}

// toolExecution finds a call of the execution, to say why an answer to it is refused. Calls of steps that were folded away are
// not found.
func (a *agent) toolExecution(id domain.ToolExecutionID) (domain.ToolExecution, bool) {
	steps := a.state.Steps()
	if step, ok := a.state.CurrentStep(); ok {
		steps = append(steps, step)
	}
	for _, step := range slices.Backward(steps) {
		for _, call := range step.ToolExecutions {
			if call.ID == id {
				return call, true
			}
		}
	}
	return domain.ToolExecution{}, false
}
