package workflows

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// waitingCalls is the version from which a call that asks for it waits until a time. It must
// never change.
const waitingCalls = "waiting-calls"

// mostWaits bounds how often a call waits: each time takes some of the history.
const mostWaits = 500

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
