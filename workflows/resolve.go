package workflows

import (
	"cmp"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// A configuration is the agent's definition in force: with the model and the
// response format of its state, and with what a worker has added to it. It alone
// changes what is resolved.
type configuration struct {
	// resolved is nil where no worker has said yet what it means.
	resolved *contract.Resolved
	// outdated says how much of it a worker has to say again.
	outdated outdated
	// changes are the newest of what was in force for executions.
	changes []contract.DefinitionChange
	// own is the session's definition, as whoever started it or updated it has given it, and next the one that waits for
	// the next execution. untold is the note of whoever gave the own one, until a worker has said what that means.
	own    domain.Definition
	next   *contract.Redefinition
	untold *contract.UpdateNote
	// approvals are those of a definition without any, as they were when a worker first said, and decided that one
	// has: a session does not become freer or stricter with another worker or model.
	approvals *domain.Approvals
	decided   bool
	// pins are of the tools of MCP servers that the session was given.
	pins []contract.ToolPin
	// handoffs tell how the conversation was handed over from agent to agent.
	handoffs contract.Handed
}

// An outdated says how much of what a worker has said may be no longer true.
type outdated int

const (
	upToDate outdated = iota
	// limitsOutdated: the limits and the timing alone are asked for.
	limitsOutdated
	// allOutdated: an execution begins, which follows the workers as they are by now.
	allOutdated
)

// newConfiguration is of the run that follows one which has handed this on.
func newConfiguration(own domain.Definition, carry contract.CarriedDefinition) *configuration {
	d := &configuration{
		own: own, next: carry.Next, approvals: carry.Approvals, decided: carry.ApprovalsDecided, changes: carry.Changes,
		handoffs: *cmp.Or(carry.Handed, &contract.Handed{}), pins: carry.Pins,
	}
	d.resume(carry)
	return d
}

// resume puts in force what the run before had in force. The note on an update stays untold, where no worker has resolved it.
func (d *configuration) resume(carry contract.CarriedDefinition) {
	if carry.Resolved != nil {
		d.take(carry.Resolved)
	}
	d.untold = carry.Untold
}

// noteChange lists a change of what is in force.
func (d *configuration) noteChange(change contract.DefinitionChange) {
	d.changes = contract.KeptChanges(d.changes, change)
}

// handOver is what the next run needs. What is resolved has the approvals; where a worker has to resolve it
// anew, they are carried by themselves.
func (d *configuration) handOver() contract.CarriedDefinition {
	carry := contract.CarriedDefinition{Resolved: d.resolved, Changes: d.changes, Next: d.next, Untold: d.untold, Pins: d.pins}
	if !d.handoffs.IsZero() {
		carry.Handed = new(d.handoffs)
	}
	if d.resolved == nil {
		carry.Approvals, carry.ApprovalsDecided = d.approvals, d.decided
	}
	return carry
}

// beginExecution is for another execution: it follows the workers as they are by now, and counts its handoffs anew.
func (d *configuration) beginExecution() {
	d.handoffs.Times, d.outdated = 0, upToDate
	if d.resolved != nil {
		d.outdated = allOutdated
	}
}

// outdateLimits has a worker say again which limits hold.
func (d *configuration) outdateLimits() { d.outdated = max(d.outdated, limitsOutdated) }

// take puts a definition in force.
func (d *configuration) take(resolved *contract.Resolved) {
	if !d.decided {
		d.approvals, d.decided = resolved.Approvals, true
	}
	kept := *resolved
	kept.Approvals = d.approvals
	d.resolved, d.outdated, d.untold = &kept, upToDate, nil
	d.pins = contract.JoinedPins(d.pins, kept.Tools)
}

// takeLimits takes over what may be another at any time.
func (d *configuration) takeLimits(catalog *contract.Catalog) {
	kept := *d.resolved
	kept.RateLimit, kept.ToolLimits, kept.Timing = catalog.RateLimit, catalog.ToolLimits, catalog.Timing
	d.take(&kept)
}

// follow puts in force what holds from an execution on, and remembers what is another. The worker's approvals stay
// as they were decided, and tools of MCP servers as they were given.
func (d *configuration) follow(resolved *contract.Resolved, number int, now time.Time) {
	before, word := *d.resolved, d.untold
	d.take(new(resolved.Pinned(before, d.pins)))
	change := contract.ChangeOf(before, *d.resolved)
	change.Number, change.At, change.Word = number, now, word
	d.changes = contract.KeptChanges(d.changes, change)
}

// upcoming is the definition that the next execution begins with.
func (d *configuration) upcoming() domain.Definition {
	if d.next != nil {
		return d.next.Definition
	}
	return d.own
}

// asItIs is the definition that the next execution begins with, by the model that a message may have given the session.
func (s session) asItIs() domain.Definition {
	d := s.config.upcoming()
	if s.config.next == nil || !slices.Contains(s.config.next.Word.Fields, "model") {
		d.Model = s.state.LLMConfig
	}
	return d
}

// waitingNote is the note on a definition that waits for the next execution.
func (d *configuration) waitingNote() *contract.UpdateNote {
	if d.next == nil {
		return nil
	}
	return &d.next.Word
}

// redefine has another definition wait for the next execution.
func (d *configuration) redefine(next contract.Redefinition) { d.next = &next }

// adoptNext puts the definition in force that waited for the next execution, and reports whether one did. A worker has to
// resolve it: until then the note on it waits, with that of one before which no worker has resolved. What a hand-off had put in
// force ends where the person has replaced it. Where neither it nor the session has approvals, the worker's are decided anew
// when it is resolved, so that none are missing.
func (d *configuration) adoptNext() (contract.Redefinition, bool) {
	if d.next == nil {
		return contract.Redefinition{}, false
	}
	adopted := *d.next
	d.own, d.untold, d.next = adopted.Definition, adopted.Word.AfterUntold(d.untold), nil
	d.handoffs = d.handoffs.Redefined(adopted)
	if d.resolved != nil {
		d.outdated = allOutdated
	}
	if d.own.Approvals == nil && d.approvals == nil {
		d.decided = false
	}
	return adopted, true
}

// handTo puts another agent in force. What waits for the next execution is of that one then.
func (d *configuration) handTo(own domain.Definition, resolved contract.Resolved, change contract.DefinitionChange) {
	d.handoffs = d.handoffs.To(change.Agent, *d.resolved, d.own)
	d.decided = d.decided && (own.Approvals != nil || d.approvals != nil)
	d.own = own
	if d.next != nil {
		d.next = new(d.next.Over(own))
	}
	d.take(&resolved)
	d.changes = contract.KeptChanges(d.changes, change)
}

// usePrompt puts another system prompt in force.
func (d *configuration) usePrompt(prompt string) {
	changed := *d.resolved
	changed.Definition.SystemPrompt = prompt
	changed.Digest = domain.DigestOf([]byte(changed.Digest.String()), []byte(prompt))
	d.resolved = &changed
}

func (d *configuration) price() *domain.Price {
	if d.resolved == nil {
		return nil
	}
	return d.resolved.Price
}

// resolve asks a worker what the definition means, as each execution begins and
// again where its model changes or a rate limit may have. Every execution's budget is
// looked at, resolved or not.
func (s session) resolve(permit mailbox.Permit) {
	if s.stale() {
		s.list(permit)
	}
	if s.stale() { // no worker could say
		return
	}
	if limit := s.state.Ledger(s.now()).Totals().MaxCostNanoUSD; limit != nil && *limit > 0 && s.config.resolved != nil && s.config.resolved.Price == nil {
		s.fail(domain.Errorf(domain.Invalid, "max_cost: nobody knows what %s costs, so money cannot be limited; "+
			"give its price in the definition, with --price or in the worker's price file, or leave the limit out", s.state.LLMConfig))
	}
}

// resolveAgain has a worker say again what the definition means, and reports
// whether that went well.
func (s session) resolveAgain(permit mailbox.Permit) bool {
	s.config.outdateLimits()
	signals := len(s.state.StopSignals())
	s.resolve(permit)
	return s.config.outdated == upToDate && len(s.state.StopSignals()) == signals
}

// stale reports whether what a worker said may be no longer true, and changed
// whether it is of another model or response format, or was never asked for.
func (s session) stale() bool { return s.config.outdated != upToDate || s.changed() }
func (s session) changed() bool {
	return s.config.resolved == nil || !s.config.resolved.Definition.Model.Equal(s.state.LLMConfig) ||
		!s.config.resolved.Definition.Format.Equal(s.state.ResponseFormat)
}

// prompt is the system prompt as the model gets it. Hooks see the state's, in which no
// trusted value stands.
func (s session) prompt() string {
	return s.config.own.Shown(s.state.SystemPrompt, s.state.Trusted())
}

// list makes the definition the one in force, with what a worker adds to it.
func (s session) list(permit mailbox.Permit) {
	definition := s.asked()
	request := contract.CatalogRequest{Definition: definition}
	if s.config.outdated == allOutdated {
		request = s.following(definition)
	}
	var catalog *contract.Catalog
	var err error
	s.note("resolving the definition")
	for asked, again := 1, true; again; asked++ {
		options := s.briefOptions(listTimeout, ownAttempts, "resolve")
		options.DisableEagerExecution = asked > 1
		catalog, err = mailbox.Await(permit, options, contract.ListTools, request)
		again = err != nil && s.askAnother(lossOf(err).Err(), asked, s.asFirst()) && !s.mail.Stopped()
	}
	if err != nil {
		if !s.mail.Stopped() {
			s.fail(lossOf(err).Err())
		}
		return
	}
	if catalog.Unchanged || s.config.outdated != allOutdated && !s.changed() {
		// Only the limits may be others: tools and all else stay as they were.
		s.config.takeLimits(catalog)
		return
	}
	resolved := s.offered(s.config.own, *catalog)
	resolved.Definition = definition
	if err := domain.CheckFits("tools", resolved, domain.MaxResolved); err != nil {
		s.fail(domain.AsError(err))
		return
	}
	if s.config.resolved == nil || !s.config.resolved.Definition.Model.Equal(definition.Model) {
		s.talk.forget()
	}
	if s.config.outdated == allOutdated {
		s.config.follow(&resolved, s.state.ExecutionCount, s.now())
	} else {
		if s.config.resolved != nil { // another model, within an execution
			resolved = resolved.Pinned(*s.config.resolved, s.config.pins)
		}
		change := contract.FirstChange(s.state.ExecutionCount, s.now(), s.config.untold)
		s.config.take(&resolved)
		s.config.noteChange(change)
	}
}

// asked is the definition as a worker is asked what it means.
func (s session) asked() domain.Definition {
	definition := s.config.own
	definition.Model = s.state.LLMConfig
	definition.SystemPrompt, definition.Format = s.prompt(), s.state.ResponseFormat
	return definition
}

// following asks what is another by now. A definition that was in force before is named by its digest and fetched from
// this run, as the conversation is: it enters history once.
func (s session) following(definition domain.Definition) contract.CatalogRequest {
	request := contract.CatalogRequest{Known: s.config.resolved.Digest, Log: s.talk.Log().Ref(), Listed: s.config.resolved.Listed}
	if !definition.Equal(s.config.resolved.Definition) {
		request.Definition, request.Log, request.Listed = definition, domain.LogRef{}, domain.Digest{}
	}
	return request
}
