package workflows

import (
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// waitingCalls is the version from which a call that asks for it waits until a time. It must
// never change.
const waitingCalls = "waiting-calls"

// mostWaits bounds how often a call waits: each time takes some of the history.
const mostWaits = 500

// boundedWaits is the version from which calls that wait, or that are asked about, leave room in their run for its
// end. It must never change.
const boundedWaits = "bounded-waits"

// cramped reports whether the run has no room to wait on: a step goes on in it, however often its calls wait.
func (b *toolBatch) cramped() bool {
	return b.nearBounds() && workflow.GetVersion(b.root, boundedWaits, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// waitedTooOften is why a call that only waited is not made again.
func waitedTooOften() *domain.Error {
	return domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun,
		"not run: the calls of this step have waited so often that its run has no room for more; call again in another step, and wait longer at a time")
}

// waits reports whether a reply only asks for the call to be made again later.
func (b *toolBatch) waits(reply contract.ToolReply, before int) bool {
	return reply.NotStarted && !reply.WaitUntil.IsZero() && before < mostWaits &&
		workflow.GetVersion(b.root, waitingCalls, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// reroutedCalls is the version from which a call goes at once where the limit of its tool holds. It must
// never change.
const reroutedCalls = "rerouted-calls"

// reroutes reports whether a reply only says where the call is to be made. An older worker backed off as from any
// call that did not begin, and recorded that it spreads such waits.
func (b *toolBatch) reroutes(reply contract.ToolReply) bool {
	return reply.NotStarted && reply.TaskQueue != "" &&
		(workflow.GetVersion(b.root, reroutedCalls, workflow.DefaultVersion, 1) != workflow.DefaultVersion ||
			workflow.GetVersion(b.root, spread, workflow.DefaultVersion, 1) == workflow.DefaultVersion)
}

// noteFor is what the session keeps for a tool.
func (b *toolBatch) noteFor(tool domain.ToolSpec) json.RawMessage {
	if tool.Note == "" {
		return nil
	}
	return b.state.Metadata()[tool.Note]
}

// takeNote has the session keep what a call has given it.
func (b *toolBatch) takeNote(name string, note json.RawMessage) {
	tool, _ := b.resolved.Tool(name)
	if tool.Note == "" || len(note) == 0 {
		return
	}
	b.remember(tool.Note, note)
}

// tellWaiting says what waits for people where that has changed.
func (b *toolBatch) tellWaiting() {
	if b.unpublished {
		b.publishWaiting()
		b.noteRunning()
	}
}

func (b *toolBatch) noteRunning() {
	if waiting := b.waitingNote(); waiting != "" {
		b.note(waiting)
		return
	}
	b.note(fmt.Sprintf("step %d: running %s", b.content.Number, b.toolNames()))
}
