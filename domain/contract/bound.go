package contract

import (
	"everstep/domain"
	"fmt"
	"strings"
	"time"
)

// A Bound is an agent's own session with a stateful MCP server: one worker has it, and nobody else can go on with it.
type Bound struct {
	Server string `json:"server"`
	// ID names the session to its worker. Empty: there is none.
	ID string `json:"id,omitzero"`
	// TaskQueue is the worker's own, Worker how it calls itself, and Since when the session was opened.
	TaskQueue string    `json:"task_queue,omitzero"`
	Worker    string    `json:"worker,omitzero"`
	Since     time.Time `json:"since,omitzero"`
	// Lost is why the session before this one is gone, until the model has been told.
	Lost string `json:"lost,omitzero"`
	// For names the trusted values for which the agent acted when it was opened: it may be logged in for them.
	For domain.Digest `json:"for,omitzero"`
}

// Notice tells the model, beside the first result of a session, that the one before is gone. Empty: it knows.
func (b Bound) Notice() string {
	if b.ID == "" || b.Lost == "" {
		return ""
	}
	return fmt.Sprintf("[The session of this agent with MCP server %s was lost: %s. This call was made in a new one. What earlier calls had set up "+
		"there, such as open pages, logins or values, is gone; set it up again where you need it.]", b.Server, b.Lost)
}

// SessionGone tells the model why a call was not made that may rely on what its session held.
func SessionGone(why string) string {
	return "the session in which it was to be made is lost: " + why + ". What earlier calls had set up there, such as open pages, logins or " +
		"values, is gone; set it up again where you need it, then make this call"
}

// Lose returns what remains where the session is gone: why.
func (b Bound) Lose(why string) Bound {
	return Bound{Server: b.Server, Lost: domain.Shorten(why, 300)}
}

// A BindRequest asks for a session for the agent that asks.
type BindRequest struct {
	Server string `json:"server"`
	// For is what the session's will be.
	For domain.Digest `json:"for,omitzero"`
}

// An UnbindRequest ends a session.
type UnbindRequest struct {
	Bound Bound `json:"bound"`
}

// An UnbindReply confirms it. Where the session was not there, that is well too.
type UnbindReply struct{}

// OwnQueue is the task queue on which one worker of a queue serves the sessions that it has. It begins as the queues of
// other workers' do, and is recorded.
func OwnQueue(queue, worker string) string { return queue + ownQueues + worker }

// IsOwnQueue reports whether a task queue is that of one worker of another one.
func IsOwnQueue(own, queue string) bool { return strings.HasPrefix(own, queue+ownQueues) }

const ownQueues = "/mcp/"
