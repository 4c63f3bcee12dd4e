package chat

import (
	"cmp"
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/uuid"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/process"
	"everstep/starter/render"
	"everstep/worker/host/startid"
)

// A performer does what the conversation wants, with the client.
type performer struct {
	ctx context.Context
	cfg Config
	// opening is what the first message begins with; nil: it was sent, or there is none.
	opening *client.Start
	// news tells the feed that there is something to read.
	news chan<- struct{}
}

// do does one thing, and returns what came of it.
func (p *performer) do(w want) tea.Msg {
	agents, id := p.cfg.Agents, p.cfg.ID
	switch w := w.(type) {
	case wantSend:
		return p.send(w)
	case wantUnsend:
		_, err := agents.Unsend(p.ctx, id, w.id.String())
		return unsent{w.id, err}
	case wantFork:
		return p.fork(w)
	case wantRewind:
		done, err := agents.Rewind(p.ctx, w.to, client.RewindOptions{RequestID: uuid.NewString()})
		return rewound{done, err}
	case wantStop:
		_, err := agents.Stop(p.ctx, id, client.StopOptions{Mode: w.mode, Reason: "in the conversation"})
		return did{err: err}
	case wantExtend:
		if w.session {
			extended, err := agents.ExtendSession(p.ctx, id, w.options)
			return did{what: "the session may use " + cmp.Or(render.Budget(extended.Budget, extended.Left), "all that it wants"), err: err}
		}
		extended, err := agents.Extend(p.ctx, id, w.options)
		if err == nil && extended.Began {
			p.tell()
			return did{what: fmt.Sprintf("turn %d goes on from the one before", extended.Number)}
		}
		return did{what: "this turn may use " + cmp.Or(render.Budget(extended.Budget, domain.ExecutionBudget{}), "all that it wants"), err: err}
	case wantPause:
		return p.pause(w.on)
	case wantAnswer:
		_, err := agents.Answer(p.ctx, cmp.Or(w.of, id), w.word)
		return replied{w, err}
	case wantLook:
		of := id
		if !w.of.IsZero() {
			of = w.of.String()
		}
		view, err := agents.Status(p.ctx, of)
		return looked{view, err, w.of}
	case wantTell:
		return p.retell(w)
	case wantLeave:
		return tea.Quit()
	case wantSuspend:
		return tea.Suspend()
	}
	return nil
}

// fork begins another session with a name of its own.
func (p *performer) fork(w wantFork) tea.Msg {
	key := uuid.NewString()
	name := p.cfg.ID[:min(len(p.cfg.ID), domain.MaxAgentName-9)] + "-" + key[:8]
	_, err := p.reached(func() (client.Execution, error) {
		return p.cfg.Agents.Fork(p.ctx, w.from, client.ForkOptions{ID: name, Prompt: w.text, Budget: p.cfg.Budget, RequestID: key})
	})
	return did{what: name + " has begun, a fork of this conversation, which stays as it was; " + p.cfg.shell("chat", name) + " opens it", err: err}
}

func (p *performer) pause(on bool) tea.Msg {
	change, already := p.cfg.Agents.Resume, "it was not paused"
	if on {
		change, already = p.cfg.Agents.Pause, "it was paused already"
	}
	changed, err := change(p.ctx, p.cfg.ID)
	if changed.Changed {
		already = ""
	}
	return did{already, err}
}

// again is between two tries to reach a server that is away.
const again = time.Second

// reached begins something, and tries again for as long as the server is away.
func (p *performer) reached(begin func() (client.Execution, error)) (client.Execution, error) {
	for {
		x, err := begin()
		if !client.Is(err, client.Unreachable) || process.Pause(p.ctx, again) != nil {
			return x, err
		}
	}
}

func (p *performer) send(w wantSend) tea.Msg {
	execution, err := p.reached(func() (client.Execution, error) { return p.begin(w) })
	if err == nil {
		if !w.delivery.Waits() {
			p.opening = nil
		}
		p.tell()
	}
	return sent{execution, w.delivery, err}
}

// begin begins an execution with a message, once for each key.
func (p *performer) begin(w wantSend) (client.Execution, error) {
	if p.opening == nil || w.delivery.Waits() { // what waits begins no session
		o := client.SendOptions{Prompt: w.text, Model: w.model, Budget: p.cfg.Budget, IfBusy: w.delivery, ExecutionID: w.execution, RequestID: w.key}
		if w.delivery == contract.SteerIfBusy { // the turn has its limits
			o.Budget = domain.ExecutionBudget{}
		}
		return p.cfg.Agents.Send(p.ctx, p.cfg.ID, o)
	}
	start := *p.opening
	start.Prompt, start.Budget = w.text, p.cfg.Budget
	if w.model != nil {
		start.Definition.Model = *w.model
		if start.Explicit != nil {
			given := *start.Explicit
			given.Model, start.Explicit = *w.model, &given
		}
	}
	return p.cfg.Agents.Start(startid.With(p.ctx, "chat/"+w.key), start)
}

func (p *performer) tell() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// A want is something that the conversation wants done. It is done beside it; what came of it comes back as a message.
type want any

type (
	// wantSend gives the agent a message. Under one key it is taken once, however often it is sent.
	wantSend struct {
		key, text string
		model     *domain.LLMConfig
		queued    bool
		// delivery says what becomes of it while a turn is in progress, and execution for which one it is, where it is
		// for one.
		delivery  contract.Delivery
		execution domain.ExecutionID
	}
	// wantUnsend takes a message back that waits.
	wantUnsend struct{ id domain.MessageID }
	// wantFork begins another agent from a step, with a message.
	wantFork struct {
		from client.Point
		text string
	}
	// wantRewind has the session go on from a step of its past.
	wantRewind struct{ to client.Point }
	// wantStop asks the turn in progress to stop.
	wantStop struct{ mode contract.StopMode }
	// wantExtend raises limits, or goes on with them; session: those of the session.
	wantExtend struct {
		options client.ExtendOptions
		session bool
	}
	// wantPause pauses the turn, or ends the pause.
	wantPause struct{ on bool }
	// wantAnswer answers what waits; typed is how the answer to a question was written.
	wantAnswer struct {
		word  client.Word
		typed string
		// of is the sub-agent whose call it is; empty: it is the agent's own.
		of string
	}
	// wantLook asks what the agent says of itself, or a sub-agent.
	wantLook struct{ of domain.AgentID }
	// wantTell asks what sub-agents did in executions that are over.
	wantTell struct{ executions []domain.ExecutionID }
	// wantLeave ends the conversation here, and nothing else.
	wantLeave struct{}
	// wantSuspend gives the terminal back to the shell for a while.
	wantSuspend struct{}
)

// What comes back, and what happens meanwhile.
type (
	// recalled are messages of the session, read back; live is the execution whose answers come as events.
	recalled struct {
		entries []domain.Entry
		live    domain.ExecutionID
		// gone says what can no longer be read, and takenBack counts those that rewinds have taken back.
		gone      string
		takenBack int
	}
	// heard is an event of the execution that is followed.
	heard struct{ client.Event }
	// looked is what the agent says of itself, or a sub-agent.
	looked struct {
		view account.Status
		err  error
		of   domain.AgentID
	}
	// retold are the events of sub-agents in executions that are over, and of the calls that have started them.
	retold struct{ events []pastEvent }
	// lost says that the agent cannot be read at the moment, or for good.
	lost struct{ why string }
	// sent is what came of the first message of the outbox.
	sent struct {
		execution client.Execution
		delivery  contract.Delivery
		err       error
	}
	// unsent is what came of taking a message back.
	unsent struct {
		id  domain.MessageID
		err error
	}
	// rewound is what came of a rewind.
	rewound struct {
		done client.Rewound
		err  error
	}
	// did is what came of anything else.
	did struct {
		what string
		err  error
	}
	// replied is what came of an answer.
	replied struct {
		want wantAnswer
		err  error
	}
	// remark is something to know that comes from elsewhere.
	remark struct {
		text  string
		warns bool
	}
	// broken says that nothing can go on here.
	broken struct{ err error }
	// tick is a second.
	tick struct{}
)

// A letter is a message that the session does not have yet. Its delivery and execution are set as it is sent.
type letter struct {
	wantSend
	underway bool
	// refused counts how often the session did not take it.
	refused int
}
