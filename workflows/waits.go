package workflows

import (
	"encoding/json"
	"fmt"

	"everstep/domain"
	"everstep/domain/contract"
)

// mostWaits bounds how often a call waits: each time takes some of the history.
const mostWaits = 500

// waitedTooOften is why a call that only waited is not made again.
func waitedTooOften() *domain.Error {
	return domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun,
		"not run: the calls of this step have waited so often that its run has no room for more; call again in another step, and wait longer at a time")
}

// waits reports whether a reply only asks for the call to be made again later.
func (b *toolBatch) waits(reply contract.ToolReply, before int) bool {
	return reply.NotStarted && !reply.WaitUntil.IsZero() && before < mostWaits
}

// reroutes reports whether a reply only says where the call is to be made.
func (b *toolBatch) reroutes(reply contract.ToolReply) bool {
	return reply.NotStarted && reply.TaskQueue != ""
}

// noteFor is what the session keeps for a tool.
func (b *toolBatch) noteFor(tool domain.ToolSpec) json.RawMessage {
	if tool.Note == "" {
		return nil
	}
	return b.agent.state.Metadata[tool.Note]
}

// takeNote has the session keep what a call has given it.
func (b *toolBatch) takeNote(name string, note json.RawMessage) {
	tool, _ := b.config.Resolved.Tool(name)
	if tool.Note == "" || len(note) == 0 {
		return
	}
	b.agent.remember(tool.Note, note)
}

// tellWaiting says what waits for people where that has changed.
func (b *toolBatch) tellWaiting() {
	if b.session.openWaits.publishWaits() {
		b.noteRunning()
	}
}

// runningNote is in the note of calls that run.
const runningNote = ": running "

// noteRunning notes what the step waits for, or else which of its calls run.
func (b *toolBatch) noteRunning() {
	if waiting := b.waitingNote(); waiting != "" {
		b.agent.note(waiting)
		return
	}
	var running []domain.ToolCall
	for i, call := range b.step.calls {
		if b.step.content.ToolExecutions[i].CompletedAt.IsZero() {
			running = append(running, call)
		}
	}
	if len(running) > 0 {
		b.agent.note(fmt.Sprintf("step %d%s%s", b.step.content.Number, runningNote, toolNames(running)))
	}
}
