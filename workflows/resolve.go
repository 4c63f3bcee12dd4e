package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/workflows/internal/mailbox"
)

// A definition is what is in force of the agent's: with the model and the
// response format of its state, and with what a worker has added to it. It alone
// changes what is resolved.
type definition struct {
	// resolved is nil where no worker has said yet what it means.
	resolved *contract.Resolved
	// outdated says that a worker has to say it again.
	outdated bool
	// approvals are those of a definition without any, as they were when a worker first said, and decided that one
	// has: a session does not become freer or stricter with another worker or model.
	approvals *domain.Approvals
	decided   bool
}

// newDefinition is of the run that follows one which has handed this on.
func newDefinition(carry contract.Carry) *definition {
	d := &definition{approvals: carry.Approvals, decided: carry.ApprovalsDecided}
	if carry.Resolved != nil {
		d.take(carry.Resolved)
	}
	return d
}

// handOver writes down what the next run needs. What is resolved has the approvals; where a worker has to resolve it
// anew, they are carried by themselves.
func (d *definition) handOver(to *contract.Carry) {
	if to.Resolved = d.resolved; d.resolved == nil {
		to.Approvals, to.ApprovalsDecided = d.approvals, d.decided
	}
}

// recheckedTools is the version from which limits of tools alone have a worker say again what holds: an older one
// dropped them. It must never change.
const recheckedTools = "rechecked-tool-limits"

// recheckLimit is for another execution: a limit holds for as long as the workers
// have it.
func (d *definition) recheckLimit(root workflow.Context) {
	d.outdated = d.resolved != nil && (d.resolved.RateLimit != nil || len(d.resolved.ToolLimits) > 0 &&
		workflow.GetVersion(root, recheckedTools, workflow.DefaultVersion, 1) != workflow.DefaultVersion)
}

// drop is for another model, expire has a worker say again what the definition
// means, and take puts one in force.
func (d *definition) drop()   { d.resolved = nil }
func (d *definition) expire() { d.outdated = true }
func (d *definition) take(resolved *contract.Resolved) {
	if !d.decided {
		d.approvals, d.decided = resolved.Approvals, true
	}
	kept := *resolved
	kept.Approvals = d.approvals
	d.resolved, d.outdated = &kept, false
}

// prompted puts another system prompt in force.
func (d *definition) prompted(prompt string) {
	changed := *d.resolved
	changed.Definition.SystemPrompt = prompt
	changed.Digest = domain.DigestOf([]byte(changed.Digest.String()), []byte(prompt))
	d.resolved = &changed
}

func (d *definition) price() *domain.Price {
	if d.resolved == nil {
		return nil
	}
	return d.resolved.Price
}

// resolve asks a worker what the definition means, once a session and again
// where its model changes or a rate limit may have. Every execution's budget is
// looked at, resolved or not.
func (s session) resolve(permit mailbox.Permit) {
	if s.stale() {
		s.list(permit)
	}
	if limit := s.budget().MaxCostNanoUSD; limit != nil && *limit > 0 && s.resolved != nil && s.resolved.Price == nil {
		s.fail(domain.Errorf(domain.Invalid, "max_cost: nobody knows what %s costs, so money cannot be limited; "+
			"give its price in the definition, with --price or in the worker's price file, or leave the limit out", s.state.LLMConfig()))
	}
}

// resolveAgain has a worker say again what the definition means, and reports
// whether that went well.
func (s session) resolveAgain(permit mailbox.Permit) bool {
	s.expire()
	signals := len(s.state.StopSignals())
	s.resolve(permit)
	return !s.outdated && len(s.state.StopSignals()) == signals
}

// stale reports whether what a worker said may be no longer true, and changed
// whether it is of another model or response format, or was never asked for.
func (s session) stale() bool { return s.outdated || s.changed() }
func (s session) changed() bool {
	return s.resolved == nil || !s.resolved.Definition.Model.Equal(s.state.LLMConfig()) ||
		!s.resolved.Definition.Format.Equal(s.state.ResponseFormat())
}

// prompt is the system prompt as the model gets it. Hooks see the state's, in which no
// trusted value stands.
func (s session) prompt() string {
	return s.in.Definition.Shown(s.state.SystemPrompt(), s.state.Trusted())
}

// unsaidApprovals is the version from which the default holds where a worker names no approvals, as an older one
// does: before, no call waited then. It must never change.
const unsaidApprovals = "approvals-unsaid"

// leavesUnsaid reports whether nobody says which calls wait.
func (s session) leavesUnsaid(catalog *contract.Catalog) bool {
	return !s.decided && catalog.Approvals == nil && s.in.Definition.Approvals == nil &&
		workflow.GetVersion(s.root, unsaidApprovals, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// list makes the definition the one in force, with what a worker adds to it.
func (s session) list(permit mailbox.Permit) {
	definition := s.in.Definition
	definition.Model = s.state.LLMConfig()
	definition.SystemPrompt, definition.Format = s.prompt(), s.state.ResponseFormat()
	var catalog *contract.Catalog
	var err error
	s.note("resolving the definition")
	for asked, again := 1, true; again; asked++ {
		options := s.briefOptions(listTimeout, ownAttempts, "resolve")
		options.DisableEagerExecution = asked > 1
		catalog, err = mailbox.Await(permit, options, contract.ListTools, contract.CatalogRequest{Definition: definition})
		again = err != nil && s.askAnother(lossOf(err).Err(), asked, s.asFirst()) && !s.mail.Stopped()
	}
	if err != nil {
		if !s.mail.Stopped() {
			s.fail(lossOf(err).Err())
		}
		return
	}
	if !s.changed() {
		// Only the limits may be others: tools and all else stay as they were.
		kept := *s.resolved
		kept.RateLimit, kept.ToolLimits, kept.Timing = catalog.RateLimit, catalog.ToolLimits, catalog.Timing
		s.take(&kept)
		return
	}
	resolved := *catalog
	resolved.Definition = definition
	if s.leavesUnsaid(catalog) {
		resolved.Approvals = domain.DefaultApprovals()
	}
	if err := domain.CheckFits("tools", resolved, domain.MaxResolved); err != nil {
		s.fail(domain.AsError(err))
		return
	}
	if s.resolved == nil || !s.resolved.Definition.Model.Equal(definition.Model) {
		s.talk.forget()
	}
	s.take(&resolved)
	s.requireHooks()
}

// requireHooks fails the workflow task unless the worker has all the hooks of
// the execution, before any of them is due.
func (s session) requireHooks() {
	if s.resolved != nil {
		for _, spec := range s.resolved.Hooks {
			s.hook(spec)
		}
	}
}

// hook finds the hook that the execution recorded. A worker that has another
// one must not go on: the panic fails the workflow task, with a message that
// says what is missing, and a worker that has it goes on.
func (s session) hook(spec contract.HookSpec) hook.Hook {
	h, err := s.options.Hooks.Find(spec)
	if err != nil {
		panic(err)
	}
	return h
}
