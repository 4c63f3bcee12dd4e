package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

const (
	// unstarted bounds how often a call is made after it surely did not begin.
	unstarted = 3
	// mostWaits bounds how often a call waits: each time takes some of the history.
	mostWaits = 500
)

// callAttempts are those that workers make at a call, until something has come of it.
type callAttempts struct {
	call    *call
	batch   *toolBatch
	policy  *policy
	tool    domain.ToolSpec
	request contract.ToolRequest
	options workflow.ActivityOptions
	// size is about how many bytes an attempt sends to the server.
	size int
	// unbegun counts attempts that surely did nothing, waited those that asked for a later one, and stranded those that nobody
	// took where the limit of the tool holds.
	unbegun, waited, stranded int
	// reply is what came of the newest attempt: what comes of the call where no further one is made.
	reply contract.ToolReply
	// delay is how long the next attempt waits, and untilStop says that every stop ends that wait, also one that lets calls under
	// way finish.
	delay     time.Duration
	untilStop bool
}

// make makes a call, in its coroutine, until something has come of it.
func (c *call) make(ctx workflow.Context) *contract.ToolReply {
	b, a := c.batch, newCallAttempts(c)
	for a.attempt(ctx) {
		ended := func() bool { return c.stepStopped() || a.untilStop && b.mail.Asked() }
		if !c.renew(b.mail.BackOffCall(ctx, a.delay, ended, c.heldByPause(forNobody))) {
			c.cutOff = b.mail.CutOff()
			break
		}
		b.noteRunning()
	}
	return &a.reply
}

func newCallAttempts(c *call) *callAttempts {
	b, tool, request := c.batch, c.tool(), c.request()
	policy := b.session.policy
	// What is left unset has room for as many images as one result may have.
	if share := domain.MaxStepImages / min(len(b.calls), domain.MaxStepCalls); share < domain.MaxResultData {
		request.ImageRoom = share
	}
	if tool.Note != "" {
		request.Note = b.agent.state.Metadata[tool.Note]
	}
	if tool.Effect.Repeatable() {
		request.Tries, request.Losses = min(cmp.Or(tool.Attempts, mostTries), policy.tryLimit()), cmp.Or(tool.Losses, domain.DefaultLosses)
	}
	return &callAttempts{
		call: c, batch: b, policy: policy, tool: tool, request: request,
		options: policy.toolOptions(tool, b.step.summary(c.made.Name)),
		size:    1024 + domain.ToolCall{Name: request.Name, Arguments: request.Arguments}.Size() + request.Trusted.Size() + len(request.Note),
	}
}

// request names the call for a worker, and what makes its effect.
func (c *call) request() contract.ToolRequest {
	b, tool := c.batch, c.tool()
	request := contract.ToolRequest{
		ExecutionID: b.step.execution, Step: b.step.content.Number, Position: c.position, Name: c.made.Name, Effect: tool.Effect,
		Arguments: c.made.Arguments, Pin: tool.Pin, Trusted: b.agent.state.Trusted(),
	}
	if c.made.Name == domain.HistoryTool {
		conversation := b.session.conversation
		request.Earlier = &domain.EarlierExecutions{FirstRunID: b.session.info.FirstRunID, Origins: conversation.Origins(), TakenBack: conversation.Edits().TakenBack}
	}
	if len(tool.EffectKey) > 0 {
		request.EffectKey = tool.EffectKeyOf(b.session.in.AgentID, c.made.Arguments)
	}
	// What a hook has changed stands nowhere in the transcript.
	if c.made.Arguments == c.wanted.Arguments && len(c.made.Arguments) > domain.MaxInlineArguments {
		request.Arguments = ""
		request.Reference = &contract.ArgumentsRef{Message: b.step.at, Digest: domain.DigestOf([]byte(c.made.Arguments))}
	}
	return request
}

// attempt has a worker make the call once, and reports whether it is made again.
func (a *callAttempts) attempt(ctx workflow.Context) (again bool) {
	a.delay, a.untilStop = 0, false
	a.batch.load.Add(ctx, a.size)
	a.options.DisableEagerExecution = a.unbegun+a.request.Attempts > 0 // another worker may be able to
	a.options.ScheduleToStartTimeout = a.turnTime()
	var reply *contract.ToolReply
	var err error
	if a.tool.Stateful {
		reply, err = a.askInSession(ctx)
	} else {
		reply, err = a.send(ctx, &a.options, &a.request)
	}
	if err != nil {
		return a.unanswered(ctx, err)
	}
	return a.replied(ctx, reply)
}

// unanswered goes on after an attempt to which no worker replied.
func (a *callAttempts) unanswered(ctx workflow.Context, err error) (again bool) {
	if refused, unasked := errors.AsType[*domain.Error](err); unasked {
		a.reply = contract.Unanswered(refused)
		return false
	}
	loss := lossOf(err)
	if !loss.Strands(a.request) {
		return a.lost(loss)
	}
	// Nobody took it where the limit of its tool holds.
	a.reply = loss.ToolReply(a.request)
	a.stranded++
	a.options.TaskQueue = a.batch.queueNow(ctx, a.tool.Name)
	return true
}

// replied goes on after a worker's reply: that says what came of the call, or why the call was not begun.
func (a *callAttempts) replied(ctx workflow.Context, reply *contract.ToolReply) (again bool) {
	a.reply = *reply
	waits := !reply.WaitUntil.IsZero() && a.waited < mostWaits
	switch {
	case reply.Pending != nil:
		a.reply = a.follow(ctx, reply)
		return false
	case !reply.NotStarted:
		return false
	case reply.Question != nil:
		a.reply = a.call.awaitReply(ctx, *reply)
		return false
	case waits && a.batch.session.run.nearBounds():
		a.reply = contract.Unanswered(domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun,
			"not run: the calls of this step have waited so often that its run has no room for more; call again in another step, and wait longer at a time"))
		return false
	case waits:
		a.waitUntil(reply.WaitUntil)
		return true
	case a.options.TaskQueue == "" && reply.TaskQueue != "": // where the call is to be made
		a.options.TaskQueue = reply.TaskQueue
		return true
	}
	a.unbegun++
	delay := max(a.policy.backoff(a.unbegun), time.Duration(reply.RetryAfterMillis)*time.Millisecond)
	a.delay = a.policy.withJitter(delay, a.unbegun, a.call.position)
	return a.unbegun < unstarted
}

// waitUntil has a call made again at the time that its tool names. It is not made where a stop comes first, which may be for the
// reason that the call is one too many.
func (a *callAttempts) waitUntil(at time.Time) {
	a.waited++
	a.request.WaitUntil = at
	a.note(fmt.Sprintf("waits until %s", at.Format(time.RFC3339)))
	a.batch.agent.emit(domain.EventToolCallWaiting, domain.ToolCallWaiting{EventCall: a.call.event(), Until: at})
	a.delay, a.untilStop = at.Sub(a.batch.agent.now()), true
}

// lost goes on after an attempt that failed or whose worker was lost: with another one where the tool's effect allows it. The
// first loss of a worker says nothing against the call, which is made again at once.
func (a *callAttempts) lost(loss contract.Loss) (again bool) {
	if !loss.MadeAgain(a.request) {
		a.reply = loss.ToolReply(a.request)
		return false
	}
	a.request.Attempts++
	a.delay = a.policy.withJitter(max(loss.RetryAfter, a.policy.backoff(a.request.Attempts)), a.request.Attempts, a.call.position)
	if loss.How == contract.TimedOut {
		if a.request.Lost++; a.request.Lost == 1 {
			a.delay = 0
		} else {
			// It may be why: the inferences that died with it go first, and the calls do not come back together.
			least := a.policy.heartbeat() / 6
			a.delay = max(a.delay, least+least*time.Duration(a.call.id.UUID[15])/512)
		}
	}
	a.reply = contract.NotAgain(a.request)
	a.note(fmt.Sprintf("failed (%s), trying again in %s", loss.Err().Kind, a.delay))
	a.batch.agent.emit(domain.EventToolCallRetried, domain.ToolCallRetried{
		EventCall: a.call.event(), Attempt: a.request.Attempts + 1, Kind: loss.Err().Kind, Code: loss.Err().Code,
	})
	return true
}

// awaitReply waits until somebody has answered the question that the call asks, or its time is over, and returns
// what came of it.
func (c *call) awaitReply(ctx workflow.Context, reply contract.ToolReply) contract.ToolReply {
	if wrong := reply.Question.Check(); wrong != nil { // no worker of ours lets it pass
		return contract.Unanswered(domain.AsError(wrong))
	}
	asked := c.hold(domain.Wait{Kind: domain.WaitQuestion, Ask: reply.Question}, time.Duration(reply.Question.ExpiresIn)*time.Second, false)
	defer c.wait(forNobody)
	c.step.keep()
	c.batch.publishWaits()
	if !c.awaitPerson(ctx, asked) {
		c.cutOff = c.batch.mail.CutOff()
		return reply
	}
	said := asked.Reply()
	return contract.ToolReply{Content: said, Digest: domain.DigestOf([]byte(said))}
}
