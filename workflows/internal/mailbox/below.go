package mailbox

import (
	"encoding/json"
	"slices"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// below is what sub-agents under way say of their waits for people, and what this agent says of its own to the one that
// has started it.
type below struct {
	// heard is the newest word of each that may say so. listens says that it is taken.
	heard   []contract.ChildWaits
	listens bool
	// tell says above that this agent waits for people, or goes on; nil: nobody listens. told counts what was said in this
	// run, and waits is the newest.
	tell  func(contract.ChildWaits)
	told  int
	waits bool
}

// receive has take told each signal of a kind, for the life of the run. What cannot be read is for nobody.
func receive[Told any](root workflow.Context, signal contract.Signal[Told], take func(Told)) {
	channel := workflow.GetSignalChannel(root, string(signal))
	workflow.GoNamed(root, string(signal), func(ctx workflow.Context) {
		for {
			var raw converter.RawValue
			channel.Receive(ctx, &raw)
			var told Told
			if json.Unmarshal(raw.Payload().GetData(), &told) == nil {
				take(told)
			}
		}
	})
}

// hears has a sub-agent say that it waits, from the first one on for the life of the run. What is of none that is under way
// is for nobody, and of two words the later one counts, in whatever order they come.
func (b *below) hears(root workflow.Context, call domain.ToolExecutionID) {
	b.heard = append(b.heard, contract.ChildWaits{ToolExecutionID: call})
	if !b.listens {
		b.listens = true
		receive(root, contract.SignalChildWaits, b.take)
	}
}

func (b *below) take(word contract.ChildWaits) {
	if at := b.at(word.ToolExecutionID); at >= 0 && word.Number > b.heard[at].Number {
		b.heard[at] = word
	}
}

func (b *below) over(call domain.ToolExecutionID) {
	b.heard = slices.DeleteFunc(b.heard, func(one contract.ChildWaits) bool { return one.ToolExecutionID == call })
}

func (b *below) at(call domain.ToolExecutionID) int {
	return slices.IndexFunc(b.heard, func(one contract.ChildWaits) bool { return one.ToolExecutionID == call })
}

// waitsBelow reports whether the sub-agent of a call waits for people, or for what it has asked of this agent.
func (m *Mailbox) waitsBelow(call domain.ToolExecutionID) bool {
	at := m.below.at(call)
	return at >= 0 && (m.below.heard[at].Waits || slices.ContainsFunc(m.lending.requests, func(r Request) bool { return r.ToolExecutionID == call }))
}

// TellWaits has the agent that has started this one know when this one waits for people, for the life of the run.
func (m *Mailbox) TellWaits(tell func(contract.ChildWaits)) { m.below.tell = tell }

// tellAbove says that the agent waits for people, or goes on, where that is another thing than was said. A request of its
// own that is under way says that it waits, so that only what outlasts it is said.
func (m *Mailbox) tellAbove() {
	b, on := &m.below, m.asking || !m.waiting.IsZero()
	if b.tell == nil || on == b.waits || on && m.lending.asking {
		return
	}
	b.waits, b.told = on, b.told+1
	b.tell(contract.ChildWaits{Number: m.numbered(b.told), Waits: on})
}

// numbered is a number that is higher than those before, over the runs of an execution.
func (m *Mailbox) numbered(inRun int) int { return m.agent.State().StepCount()*1000 + inRun }

// WaitForGrant says that the agent waits for an answer from above, and nothing else is under way, or that this is over. The
// time between counts as waited.
func (m *Mailbox) WaitForGrant(on bool) {
	m.borrowing = on
	m.countWaiting()
}
