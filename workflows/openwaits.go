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
	o.all, o.unpublished = append(o.all, one), true
	slices.SortStableFunc(o.all, func(x, y *openWait) int { return x.position - y.position })
}

// remove takes a call off the list, whatever has ended its wait.
func (o *openWaits) remove(one *openWait) {
	o.all = slices.DeleteFunc(o.all, func(other *openWait) bool { return other == one })
	o.unpublished = true
}

// changed notes that the agent's calls of unknown outcome are others.
func (o *openWaits) changed() { o.unpublished = true }

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

func (a *agent) emitWaitClosed(call domain.EventCall, w domain.Wait) {
	a.emit(domain.EventWaitClosed, domain.WaitClosed{
		EventCall: call, Kind: w.Kind, Digest: w.Digest,
		Verdict: w.Answer.Verdict, By: w.Answer.By, Standing: w.Answer.Always, Edited: w.Answer.Edited,
	})
}

// inStep are the calls of the step in progress about which nobody has said anything yet.
func (o *openWaits) inStep() (waits []domain.Wait) {
	for _, w := range o.open() {
		waits = append(waits, w.Wait)
	}
	return waits
}

// forPeople are all calls of the agent that wait for a person: those of the step in progress, then those of unknown outcome.
func (o *openWaits) forPeople() []domain.Wait {
	return append(o.inStep(), o.agent.state.UnresolvedOutcomes()...)
}

// publish tells those who list agents what waits, where that has changed, and reports whether it has.
func (o *openWaits) publish() bool {
	if !o.unpublished {
		return false
	}
	o.unpublished = false
	upsertMemo(o.root, map[string]any{contract.MemoWaiting: contract.WaitingFor(o.forPeople())})
	return true
}

// shown are they as they fit into a page.
func (o *openWaits) shown() []domain.Wait {
	waits := o.forPeople()
	for i, w := range waits {
		waits[i] = w.Cut(min(32<<10, domain.MaxPage/2/len(waits)))
	}
	return waits
}

// note says in a few words which calls wait for people; empty: none does.
func (o *openWaits) note() string {
	switch waits := o.inStep(); len(waits) {
	case 0:
		return ""
	case 1:
		return domain.Shorten(waits[0].Tool, 64) + " waits for " + domain.WaitsFor(waits)
	default:
		return fmt.Sprintf("%d calls wait for %s", len(waits), domain.WaitsFor(waits))
	}
}

// pressed is why a command that can wait is not taken late in a run.
func pressed(name string) error {
	return domain.Deniedf("%s: this run of the workflow has taken as many updates as it may; the next one begins after the step in progress: send it again then", name)
}
