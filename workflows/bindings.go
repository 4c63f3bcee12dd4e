package workflows

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

const (
	// bindTimeout has room for a server that a package manager has to fetch first.
	bindTimeout = 150 * time.Second
	// leastTaken is for how long at least a call waits for the worker that has its session. Longer means that the worker
	// is gone: it asks for its calls all the time, since it has room for all that its sessions can be asked for.
	leastTaken = 10 * time.Second
	// unbindTimeout bounds the end of a session, and unbindQueued the wait for its worker.
	unbindTimeout = 10 * time.Second
	unbindQueued  = 5 * time.Second
)

// bindings are the agent's sessions with stateful servers, one with each. They outlive its executions.
type bindings struct {
	agent        *agent
	conversation *transcript
	all          []*binding
}

// A binding is the session with one server, if there is one now.
type binding struct {
	contract.Bound
	// opening says that a call opens it, for which the others wait; failed is why the newest try came to nothing.
	opening bool
	failed  *domain.Error
	// freshIn is the newest step in which a call tells the model that the session before is gone, and why. A session
	// outlives executions, whose steps count from 1 each: the id names one step of one execution.
	freshIn domain.StepID
	why     string
}

func newBindings(agent *agent, conversation *transcript, handed []contract.Bound) *bindings {
	var all []*binding
	for _, bound := range handed {
		all = append(all, &binding{Bound: bound})
	}
	return &bindings{agent, conversation, all}
}

// handOver is what the next run needs: also of a session that is gone, whether the model knows of that or not.
func (b *bindings) handOver() (all []contract.Bound) {
	for _, own := range b.all {
		all = append(all, own.Bound)
	}
	return all
}

// open are the sessions that there are.
func (b *bindings) open() []contract.Bound {
	return slices.DeleteFunc(b.handOver(), func(own contract.Bound) bool { return own.ID == "" })
}

// lose drops a session that is gone, unless another one has taken its place.
func (b *binding) lose(id, why string) {
	if b.ID == id {
		b.Bound = b.Lose(why)
	}
}

// modelUnaware reports whether a call with an effect would rely on what the session before held: when the model asked for it, or a
// person allowed it, nobody knew that it is gone. The model is told so.
func (b *binding) modelUnaware(step domain.StepID) bool {
	if b.Lost != "" {
		b.inform(step, b.Lost)
	}
	return b.freshIn == step
}

// inform notes that a call tells the model in a step that the session before is gone.
func (b *binding) inform(step domain.StepID, why string) { b.freshIn, b.why, b.Lost = step, why, "" }

// askInSession has the worker make the call that has the agent's session with the tool's server. Where that one or the session
// is gone, the reply says so, and the call may be made again: in a new session, if it only reads. Another one is not made before
// the model knows.
func (a *callAttempts) askInSession(ctx workflow.Context) (*contract.ToolReply, error) {
	b, step := a.batch, a.call.step.content.ID
	own, ok := a.bind(ctx)
	a.call.markCutOff(false)
	switch {
	case own.ID == "":
		return new(contract.NotMade(a.request, own.failed.Kind, fmt.Sprintf("not run: no session with MCP server %s could be opened: %s", own.Server, own.failed.Message))), nil
	case !ok:
		a.call.markCutOff(b.mail.CutOff())
		return new(contract.NotMade(a.request, domain.Denied, "not run: the execution was stopped")), nil
	case a.tool.Effect != domain.ReadOnly && own.modelUnaware(step):
		return new(contract.NotMade(a.request, domain.Unavailable, "not run: "+contract.SessionGone(own.why))), nil
	}
	bound, request, options := own.Bound, a.request, a.options
	request.Bound, options.TaskQueue = &bound, bound.TaskQueue
	options.ScheduleToStartTimeout = max(a.policy.heartbeat(), leastTaken)
	reply, err := a.send(ctx, &options, &request)
	if err != nil {
		loss := lossOf(err)
		if !loss.Unbinds(request) {
			return reply, err
		}
		*reply = loss.ToolReply(request)
	}
	switch {
	case reply.SessionLost != "":
		b.session.bindings.lose(own, bound.ID, reply.SessionLost)
		if a.tool.Effect != domain.ReadOnly {
			own.inform(step, reply.SessionLost)
			reply.NotStarted = false // it is not made again
		}
	case !reply.NotStarted && own.ID == bound.ID && own.Lost != "": // the other calls of the step were asked for before
		own.inform(step, own.Lost)
	}
	return reply, nil
}

// send has a worker make the call, and notes whether a stop has cut it off.
func (a *callAttempts) send(ctx workflow.Context, options *workflow.ActivityOptions, request *contract.ToolRequest) (*contract.ToolReply, error) {
	reply, cutOff, err := mailbox.Call(ctx, a.call.admission, *options, contract.CallTool, *request)
	a.call.markCutOff(cutOff)
	return reply, err
}

// bind is the agent's session with the server of the call's tool. Where there is none it is opened, once
// for all calls that want it; without an id it could not be. That may take minutes: ok says that the call may go on after it.
func (a *callAttempts) bind(ctx workflow.Context) (own *binding, ok bool) {
	own = a.batch.session.bindings.of(a.tool)
	if own.ID != "" && !own.opening {
		return own, true
	}
	triedBefore := own.opening // by another call
	_ = workflow.Await(ctx, func() bool { return !own.opening })
	if own.ID == "" && (!triedBefore || own.failed == nil) {
		own.open(ctx, a)
	}
	return own, a.call.renew(a.batch.mail.AdmitDecided(ctx, a.call.stepStopped))
}

// open has a worker open the session, for a call. What was lost before is still to be told.
func (b *binding) open(ctx workflow.Context, a *callAttempts) {
	b.opening, b.failed = true, nil
	agent := a.batch.agent
	options := a.policy.briefOptions(bindTimeout, unstarted, a.call.step.summary("bind "+b.Server))
	options.DisableEagerExecution = b.Lost != "" // any other worker may have room, and a server that works
	bound, _, err := mailbox.Call(ctx, a.call.admission, options, contract.Bind, contract.BindRequest{Server: b.Server, For: actsFor(agent.state.Trusted())})
	if b.opening = false; err != nil {
		b.failed = errorOf(err)
		return
	}
	bound.Server, bound.Lost = b.Server, b.Lost
	b.Bound = *bound
	agent.emit(domain.EventMCPSessionOpened, domain.MCPSessionEvent{Server: b.Server, Worker: domain.Shorten(b.Worker, maxEventText)})
}

// of is the binding to the server of a tool, without a session that the call may not use: the conversation speaks of an
// earlier one, or it was opened with other trusted values.
func (b *bindings) of(tool domain.ToolSpec) *binding {
	server, _ := domain.ServerOf(tool.Name)
	at := slices.IndexFunc(b.all, func(own *binding) bool { return own.Server == server })
	if at < 0 {
		at, b.all = len(b.all), append(b.all, &binding{Bound: contract.Bound{Server: server}})
		if b.hasCalled(server) {
			b.all[at].lose("", "it was of another execution, or of another agent")
		}
	}
	own := b.all[at]
	if own.ID != "" && own.For != actsFor(b.agent.state.Trusted()) {
		b.lose(own, own.ID, "it was of an execution that acted for others: with other trusted values")
	}
	return own
}

// actsFor names the trusted values for which the agent acts, if there are any.
func actsFor(trusted domain.Trusted) domain.Digest {
	if len(trusted) == 0 {
		return domain.Digest{}
	}
	values, _ := json.Marshal(trusted) // of values that were decoded, it cannot fail
	return domain.DigestOf(values)
}

// lose drops the session of an id that is gone, unless another one has taken its place.
func (b *bindings) lose(own *binding, id, why string) {
	if id != "" && own.ID == id {
		b.agent.emit(domain.EventMCPSessionLost, domain.MCPSessionEvent{
			Server: own.Server, Worker: domain.Shorten(own.Worker, maxEventText), Since: own.Since, Why: domain.Shorten(why, maxEventText),
		})
	}
	own.lose(id, why)
}

// hasCalled reports whether the conversation has results of a server: the model takes what they say for granted.
func (b *bindings) hasCalled(server string) bool {
	return slices.ContainsFunc(b.conversation.Log().Entries(), func(e domain.Entry) bool {
		result := e.Message.ToolResult
		return result != nil && !result.IsError && strings.HasPrefix(result.Name, server+domain.ServerSeparator)
	})
}

// unbind ends the agent's sessions with MCP servers, since the agent is over. It waits no longer than a worker that is up needs for
// that: a worker that is gone has taken its sessions along.
func (s *session) unbind() {
	open := s.bindings.open()
	if len(open) == 0 {
		return
	}
	s.mail.Close()
	s.agent.note("ending its sessions with MCP servers")
	all := workflow.NewWaitGroup(s.root)
	for _, bound := range open {
		all.Add(1)
		workflow.GoNamed(s.root, "unbind", func(ctx workflow.Context) {
			defer all.Done()
			options := s.policy.briefOptions(unbindTimeout, 1, "unbind "+bound.Server)
			options.TaskQueue, options.ScheduleToStartTimeout = bound.TaskQueue, unbindQueued
			if _, _, err := mailbox.Call(ctx, s.mail.LastAdmission(), options, contract.Unbind, contract.UnbindRequest{Bound: bound}); err != nil {
				workflow.GetLogger(s.root).Warn("a session with an MCP server is left to its worker", "server", bound.Server, "worker", bound.Worker, "error", err)
			}
		})
	}
	all.Wait(s.root)
	for _, own := range s.bindings.all {
		if own.ID != "" {
			own.lose(own.ID, "it ended with the execution before")
		}
	}
}
