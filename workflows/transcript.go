package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/conversation"
	"everstep/workflows/internal/mailbox"
)

type transcript struct {
	conversation.Conversation
	config  *configuration
	forcing forcing
	// from is the index of the newest execution's first message, and before are the edits with which it began.
	from   int
	before domain.Edits
	// gathered are its messages as hooks see them.
	gathered struct {
		ref   domain.LogRef
		store domain.MessageStore
	}
}

// A forcing says whether the conversation has to become shorter, to be carried
// to the next run, whatever the model's window holds. A run tries it once.
type forcing int

const (
	unforced forcing = iota
	forced
	tried
)

func (t *transcript) resume(carry contract.CarriedConversation, compiler domain.Compiler, chain []domain.ExecutionID) (err error) {
	t.from, t.before = carry.From, carry.EditsBefore
	t.Conversation, err = conversation.FromCarry(carry, compiler, chain)
	return err
}

// handOver is what the next run needs, of the messages those from an index on.
func (t *transcript) handOver(from int) contract.CarriedConversation {
	carry := t.Carry(from, t.config.Resolved)
	carry.From, carry.EditsBefore = t.from, t.before
	return carry
}

// rebase puts other messages before those that are given, all that it holds.
func (t *transcript) rebase(before domain.LogRef, entries []domain.Entry) (err error) {
	t.Conversation, err = t.WithBase(before, entries)
	return err
}

// begin takes the first message of the execution that has just begun.
func (t *transcript) begin(state domain.AgentState, next mailbox.NextExecution) {
	id, now := state.Execution.ID, state.Execution.StartedAt
	t.from, t.before = t.Len(), t.Edits()
	t.Conversation = t.WithExecution(state.Chain(), state.Execution.Origin != nil, t.config.Resolved)
	if next.GoesOn {
		t.Conversation = t.WithGoOn(id, now)
	} else {
		t.Conversation = t.WithGiven(id, next.Options, now).WithPrompt(id, next.Prompt, now)
	}
}

// hear joins a message that has waited for the execution in progress.
func (t *transcript) hear(id domain.ExecutionID, w contract.WaitingMessage, now time.Time) {
	t.Conversation = t.WithMessage(id, w.ID, w.Request.Prompt, now)
}

// move puts a rewound or cleared conversation in the place of this one.
func (t *transcript) move(moved conversation.Conversation) {
	t.Conversation = moved
	t.gathered.ref = domain.LogRef{}
}

// add joins a message to a section, tagged. The empty section is the default one.
func (t *transcript) add(section string, m domain.Message, digest domain.Digest, tag domain.Tag, now time.Time) domain.Message {
	m.CreatedAt = now
	tagged := tag.Apply(m)
	t.Conversation = t.Append(section, tagged, digest)
	return tagged
}

// answered corrects the estimates by what a provider has counted, and forget is
// for another model, of which that says nothing.
func (t *transcript) answered(usage domain.Usage) {
	t.Conversation = t.WithInference(usage, t.config.Resolved)
}
func (t *transcript) forget() { t.Conversation = t.WithOtherModel() }

// force has the conversation made shorter before the next inference, and unforce
// ends that. It answers false where that was tried.
func (t *transcript) force() bool {
	if t.forcing != unforced {
		return false
	}
	t.forcing = forced
	return true
}

func (t *transcript) unforce() {
	if t.forcing == forced {
		t.forcing = tried
	}
}

// input is how many tokens the next inference reads.
func (t *transcript) input() int64 { return t.Input(t.config.Resolved) }

// clear has old tool results shown by a note, and reports whether that is enough.
func (t *transcript) clear() bool {
	t.Conversation = t.WithResultsCleared(t.config.Resolved)
	return t.Roomy(t.config.Resolved)
}

func (t *transcript) refused(window int64) {
	t.Conversation = t.WithRefused(t.config.Resolved, window)
}

func (t *transcript) summed(plan conversation.SummaryPlan) {
	t.Conversation = t.WithSummary(plan, t.config.Resolved)
}

// store returns the messages in memory, gathered once for as long as they stay
// the same.
func (t *transcript) store() domain.MessageStore {
	if ref := t.Log().Ref(); t.gathered.ref != ref || ref.Length == 0 {
		t.gathered.ref, t.gathered.store = ref, domain.StoreOf(t.Edits().OnPath(t.Log().Entries()))
	}
	return t.gathered.store
}

type sourceKey struct{}

// A source is what activities refer to: the session in whose contexts they are scheduled.
type source struct{ session *session }

func (s *source) reads(one *session) { s.session = one }

// Transcript returns what an activity scheduled with ctx refers to: the
// transcript and the definition in force. It is for the worker's interceptor,
// which feeds a cache with it; nothing flows back.
func Transcript(ctx workflow.Context) (domain.Log, contract.Resolved, bool) {
	of, ok := ctx.Value(sourceKey{}).(*source)
	if !ok || of.session.config.Resolved == nil {
		return domain.Log{}, contract.Resolved{}, false
	}
	return of.session.conversation.Log(), *of.session.config.Resolved, true
}

// Account answers, as the query of that name does, what the run of ctx holds. It is for the worker's interceptor as
// [Transcript] is.
func Account(ctx workflow.Context, request account.Request) (account.Page, bool) {
	of, ok := ctx.Value(sourceKey{}).(*source)
	if !ok {
		return account.Page{}, false
	}
	page, err := of.session.accountPage(request)
	return page, err == nil
}
