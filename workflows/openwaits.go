package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// An openWait is a call of the step in progress that waits for a person.
type openWait struct {
	domain.Wait
	// position counts the step's calls from 0.
	position int
	// stops says that the execution stops where nobody answers in time.
	stops bool
	// edited are the arguments that the person who approved the call gave in place of those asked about; empty: none.
	edited string
	// tries counts how often a worker was asked whether an answer fits a schema.
	tries int
}

func (w *openWait) take(answer domain.Answer) { w.Wait = w.Answered(answer) }

// edit has a person's own arguments run.
func (w *openWait) edit(arguments string) { w.edited = arguments }

func (w *openWait) lapse(at time.Time) { w.Wait = w.Lapsed(at) }

func (w *openWait) tried() { w.tries++ }

// openWaits are the calls of the step in progress that wait for people, in call order. It alone holds what people have said,
// until the calls take it.
type openWaits struct {
	root  workflow.Context
	agent *agent
	all   []*openWait
	// unpublished says that the memo has others, or does not have the agent's calls of unknown outcome as they are.
	unpublished bool
}

func (o *openWaits) add(one *openWait) {
	after := slices.IndexFunc(o.all, func(other *openWait) bool { return other.position > one.position })
	if after < 0 {
		after = len(o.all)
	}
	o.all = slices.Insert(o.all, after, one)
	o.unpublished = true
}

// remove takes a call off the list, whatever has ended its wait.
func (o *openWaits) remove(one *openWait) {
	o.all = slices.DeleteFunc(o.all, func(other *openWait) bool { return other == one })
	o.unpublished = true
}

// changed notes that the agent's calls of unknown outcome are others.
func (o *openWaits) changed() { o.unpublished = true }

// publishes reports whether the memo is to be written now.
func (o *openWaits) publishes() bool {
	changed := o.unpublished
	o.unpublished = false
	return changed
}

// open are those about which nobody has said anything yet.
func (o *openWaits) open() []*openWait {
	return slices.DeleteFunc(slices.Clone(o.all), func(w *openWait) bool { return !w.Open() })
}

// answered is the wait of a call that a person has answered and that has not gone on yet; zero: there is none.
func (o *openWaits) answered(kind domain.WaitKind, id domain.ToolExecutionID) domain.Wait {
	for _, w := range o.all {
		if w.Kind == kind && w.ToolExecutionID == id && !w.Open() {
			return w.Wait
		}
	}
	return domain.Wait{}
}

func (a *agent) emitWaitClosed(w domain.Wait) {
	a.emit(domain.EventWaitClosed, domain.WaitClosed{
		EventCall: eventCall(w.ToolExecutionID, w.Tool), Kind: w.Kind, Digest: w.Digest,
		Verdict: w.Answer.Verdict, By: w.Answer.By, Standing: w.Answer.Always, Edited: w.Answer.Edited,
	})
}

// waitsForPeople are all calls of the agent that wait for a person: those of the step in progress, then those of unknown outcome.
func (o *openWaits) waitsForPeople() []domain.Wait {
	waits := []domain.Wait{}
	for _, w := range o.open() {
		waits = append(waits, w.Wait)
	}
	return append(waits, o.agent.state.UnresolvedOutcomes()...)
}

// publishWaits tells those who list agents what waits, where that has changed, and reports whether it has.
func (o *openWaits) publishWaits() bool {
	if !o.publishes() {
		return false
	}
	if err := workflow.UpsertMemo(o.root, map[string]any{contract.MemoWaiting: contract.WaitingFor(o.waitsForPeople())}); err != nil {
		workflow.GetLogger(o.root).Error("upsert memo", "error", err)
	}
	return true
}

// hold has a call of the step wait for a person; without a time it expires never.
func (b *toolBatch) hold(position int, call domain.ToolCall, asked domain.Wait, expiresAfter time.Duration, stops bool) *openWait {
	asked.ToolExecutionID, asked.ExecutionID, asked.Step, asked.Tool = b.step.content.ID.Tool(position), b.step.execution, b.step.content.Number, call.Name
	asked.Digest, asked.Since = domain.CallDigest(call.Name, call.Arguments), b.agent.now()
	if expiresAfter > 0 {
		asked.Expires = asked.Since.Add(expiresAfter)
	}
	w := &openWait{Wait: asked, position: position, stops: stops}
	b.session.openWaits.add(w)
	b.step.waitChanged(position, asked)
	b.agent.emit(domain.EventWaitOpened, domain.WaitOpened{EventCall: eventCall(asked.ToolExecutionID, asked.Tool), Kind: asked.Kind, Digest: asked.Digest, ExpiresAt: asked.Expires})
	b.held++
	b.reckon()
	return w
}

// release ends the wait of one call.
func (b *toolBatch) release() {
	b.held--
	b.reckon()
}

// awaitPerson waits in the coroutine of a call until somebody has answered, or the time for that is over. Nothing of the call is
// under way meanwhile. It reports false where a stop has ended the wait.
func (b *toolBatch) awaitPerson(ctx workflow.Context, w *openWait) bool {
	answered := b.mail.AwaitWord(ctx, w.Expires, func() bool { return !w.Open() }, func() bool { return b.step.halted })
	if b.session.openWaits.remove(w); !answered {
		return false
	}
	if w.Open() {
		w.lapse(b.agent.now())
	}
	b.step.waitChanged(w.position, w.Wait)
	b.agent.emitWaitClosed(w.Wait)
	return true
}

// shownWaits are they as they fit into a page.
func (o *openWaits) shownWaits() []domain.Wait {
	waits := o.waitsForPeople()
	for i, w := range waits {
		waits[i] = w.Cut(min(32<<10, domain.MaxPage/2/len(waits)))
	}
	return waits
}

// waitingNote says in one line which calls of the step wait for people; empty: none does.
func (b *toolBatch) waitingNote() string {
	open := b.session.openWaits.open()
	questions := slices.DeleteFunc(slices.Clone(open), func(w *openWait) bool { return w.Kind != domain.WaitQuestion })
	switch {
	case len(open) == 0:
		return ""
	case len(open) == 1 && len(questions) == 1:
		return fmt.Sprintf("step %d: %s waits for an answer", b.step.content.Number, domain.Shorten(open[0].Tool, 64))
	case len(open) == 1:
		return fmt.Sprintf("step %d: %s waits for approval", b.step.content.Number, domain.Shorten(open[0].Tool, 64))
	case len(questions) == 0:
		return fmt.Sprintf("step %d: %d calls wait for approval", b.step.content.Number, len(open))
	case len(questions) == len(open):
		return fmt.Sprintf("step %d: %d calls wait for answers", b.step.content.Number, len(open))
	}
	return fmt.Sprintf("step %d: %d calls wait for people", b.step.content.Number, len(open))
}

// pressed is why a command that can wait is not taken late in a run.
func pressed[In, Out any](name contract.Update[In, Out]) error {
	return domain.Errorf(domain.Denied, "%s: this run of the workflow has taken as many updates as it may; the next one begins after the step in progress: send it again then", name)
}
