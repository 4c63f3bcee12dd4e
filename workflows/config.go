package workflows

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// A configuration is what the agent is by now and from its next execution on. It alone changes that.
type configuration struct {
	agent *agent
	// parent is whose sub-agent the agent is; nil: nobody's.
	parent *contract.Parent
	contract.CarriedConfig
	// outdated says how much of what a worker has resolved it has to say again.
	outdated outdated
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

// newConfiguration is that of a run: what the run before has handed on, or what an agent begins with.
func newConfiguration(in *contract.SessionInput, agent *agent) *configuration {
	carried := contract.CarriedConfig{}
	switch {
	case in.Carry != nil:
		carried = in.Carry.Config
	case in.Parent != nil:
		carried.Constraints = in.Parent.Constraints
	}
	carried.Definition = in.Definition
	return &configuration{agent: agent, parent: in.Parent, CarriedConfig: carried}
}

// beginExecution is for another execution: what has waited for it is in force, as far as nobody has to resolve it, workers are
// followed as they are by now, and handoffs are counted anew.
func (c *configuration) beginExecution() {
	c.Handoffs, c.outdated = 0, allOutdated
	if c.Next != nil {
		c.Config, c.Next = c.Updated(*c.Next), nil
	}
}

// take puts a configuration in force as a worker has resolved it, and returns what differs from the one before: at the begin of
// an execution, as another agent takes the conversation over, or where a hook or a fallback gives another model.
//
// Two things stay as the session was given them: tools of MCP servers, by their pins, and the worker's approvals. These are
// another worker's only where there were none and the definition is another: a session does not become freer or stricter with
// another worker or model.
func (c *configuration) take(next contract.Config, resolved contract.Resolved) contract.Change {
	before := c.Config
	resolved = resolved.Pinned(before.Resolved, c.Pins)
	replaced := len(next.Updates) > 0 || !next.Definition.Equal(before.Definition)
	if was := before.Resolved; was != nil && (was.Approvals != nil || !replaced) {
		resolved.Approvals = was.Approvals
	}
	next.Resolved = &resolved
	change := contract.Diff(before, next)
	next.UpdateNotes = contract.UpdateNotes{}
	c.Config, c.outdated, c.Pins = next, upToDate, contract.JoinedPins(c.Pins, resolved.Tools)
	return change
}

// handTo has another agent go on with the conversation. What waits for the next execution is of that one then.
func (c *configuration) handTo(agent string, definition domain.Definition, resolved contract.Resolved) contract.Change {
	change := c.take(c.HandedTo(agent, definition), resolved)
	c.Handoffs++
	if c.Next != nil {
		c.Next = new(c.Next.Over(definition))
	}
	return change
}

// wait has a configuration wait for the next execution.
func (c *configuration) wait(next contract.Config) { c.Next = &next }

// list adds a change to the newest, where something differs.
func (c *configuration) list(change contract.Change) {
	if !change.IsZero() {
		c.Changes = append(slices.Clip(c.Changes[max(len(c.Changes)-contract.MaxChanges+1, 0):]), change)
	}
}

// outdateLimits has a worker say again which limits hold.
func (c *configuration) outdateLimits() { c.outdated = max(c.outdated, limitsOutdated) }

// takeLimits takes over what may be another at any time.
func (c *configuration) takeLimits(resolved *contract.Resolved) {
	now := *c.Resolved
	now.RateLimit, now.ToolLimits, now.Timing = resolved.RateLimit, resolved.ToolLimits, resolved.Timing
	c.take(c.Config, now)
}

// upcoming is what the next execution begins with.
func (c *configuration) upcoming() contract.Config { return *cmp.Or(c.Next, &c.Config) }

// usePrompt puts another system prompt in force.
func (c *configuration) usePrompt(prompt string) {
	changed := *c.Resolved
	changed.Definition.SystemPrompt = prompt
	changed.Digest = chained(changed.Digest, prompt)
	c.Resolved = &changed
}

// priced reports whether somebody knows what the model in force costs, and stores whether workers have storage.
func (c *configuration) priced() bool { return c.Resolved != nil && c.Resolved.Price != nil }
func (c *configuration) stores() bool { return c.Resolved != nil && c.Resolved.Storage }

// guards are those in force.
func (c *configuration) guards() domain.Guards { return *cmp.Or(c.Resolved.Guards, &domain.Guards{}) }

// toolList are the names of all tools, as far as they fit.
func (c *configuration) toolList() string {
	const most = 1000
	if len(c.Resolved.Tools) == 0 {
		return "none"
	}
	names := make([]string, len(c.Resolved.Tools))
	for i, tool := range c.Resolved.Tools {
		names[i] = tool.Name
	}
	list := strings.Join(names, ", ")
	if len(list) > most {
		return domain.Shorten(list, most) + "…"
	}
	return list
}

// resolve asks a worker what the definition means, as each execution begins and
// again where its model changes or a rate limit may have. Every execution's budget is
// looked at, resolved or not.
func (s *session) resolve(admission mailbox.Admission) {
	if s.config.stale() {
		s.refresh(admission)
	}
	if s.config.stale() { // no worker could say
		return
	}
	if s.config.Resolved.Unpriced(s.agent.state.Ledger(s.agent.now()).Totals()) {
		s.agent.fail(domain.Invalidf("max_cost: nobody knows what %s costs, so money cannot be limited; "+
			"give its price in the definition, with --price or in the worker's price file, or leave the limit out", s.agent.state.LLMConfig))
	}
}

// resolveAgain has a worker say again what the definition means, and reports
// whether that went well.
func (s *session) resolveAgain(admission mailbox.Admission) bool {
	s.config.outdateLimits()
	signals := len(s.agent.state.StopSignals())
	s.resolve(admission)
	return s.config.outdated == upToDate && len(s.agent.state.StopSignals()) == signals
}

// stale reports whether what a worker said may be no longer true, and changed
// whether it is of another model or response format, or was never asked for.
func (c *configuration) stale() bool { return c.outdated != upToDate || c.changed() }
func (c *configuration) changed() bool {
	return c.Resolved == nil || !c.Resolved.Definition.Model.Equal(c.agent.state.LLMConfig) ||
		!c.Resolved.Definition.Format.Equal(c.agent.state.ResponseFormat)
}

// prompt is the system prompt as the model gets it. Hooks see the state's, in which no
// trusted value stands.
func (c *configuration) prompt() string {
	return c.Definition.Shown(c.agent.state.SystemPrompt, c.agent.state.Trusted())
}

// refresh puts in force what a worker makes of the definition by now, and lists what differs from the execution before.
func (s *session) refresh(admission mailbox.Admission) {
	definition, begins := s.config.asked(), s.config.outdated == allOutdated
	request := contract.ResolveRequest{Definition: definition}
	if r := s.config.Resolved; r != nil && begins && definition.Equal(r.Definition) {
		// What was in force before enters history once: a worker fetches it from this run, as the conversation.
		request = contract.ResolveRequest{Known: r.Digest, Log: s.conversation.Log().Ref(), Listed: r.Listed}
	}
	s.agent.note("asking a worker for its tools")
	answer, err := retry(admission, s.policy.briefOptions(listTimeout, ownAttempts, "resolve"), contract.ListTools, &request, func(failed int, err error) bool {
		return s.policy.askAnother(errorOf(err), failed, true, s.mail.BackOffUnlessStopped) && !s.mail.Stopped()
	})
	if err != nil {
		if !s.mail.Stopped() {
			s.agent.fail(errorOf(err))
		}
		return
	}
	if answer.Unchanged || !begins && !s.config.changed() {
		// Only the limits may be others: tools and all else stay as they were.
		s.config.takeLimits(answer)
		return
	}
	resolved, err := s.config.offered(s.config.Definition, definition, *answer)
	if err != nil {
		s.agent.fail(domain.AsError(err))
		return
	}
	if s.config.Resolved == nil || !s.config.Resolved.Definition.Model.Equal(definition.Model) {
		s.conversation.forget()
	}
	change := s.config.take(s.config.Config, resolved)
	if begins {
		change.Number, change.At = s.agent.state.ExecutionCount, s.agent.now()
		s.config.list(change)
	}
}

// asked is the definition as a worker is asked to resolve it: with the model, the prompt and the format that hold now.
func (c *configuration) asked() domain.Definition {
	definition := c.Definition
	definition.Model, definition.SystemPrompt, definition.Format = c.agent.state.LLMConfig, c.prompt(), c.agent.state.ResponseFormat
	return definition
}

// offered is what a worker has resolved of an agent's own definition, as it was asked, with what starts sub-agents and hands the
// conversation over, and without what the agents above deny it.
func (c *configuration) offered(own, asked domain.Definition, resolved contract.Resolved) (contract.Resolved, error) {
	above, hands := c.Constraints, own.HandoffTools()
	denied := func(tool domain.ToolSpec) bool { return !above.Permits(tool) }
	resolved.Definition, resolved.Listed = asked, resolved.Digest
	if len(own.Subagents)+len(hands)+len(above.Policies) > 0 {
		tools := slices.DeleteFunc(slices.Clone(resolved.Tools), func(tool domain.ToolSpec) bool {
			return own.Starts(tool.Name) || slices.ContainsFunc(hands, func(hand domain.ToolSpec) bool { return hand.Name == tool.Name })
		})
		if depth, most := c.parent.Below(own.SubagentPolicy); len(own.Subagents) > 0 && depth <= most {
			tools = append(tools, own.SpawnTools()...)
		}
		resolved.Tools = slices.DeleteFunc(append(tools, hands...), denied)
		resolved.Digest = chained(resolved.Digest, string(must(json.Marshal(resolved.Tools))))
	}
	return resolved, domain.CheckFits("tools", resolved, domain.MaxResolved)
}

// ruling is what the approvals in force say about a call.
func (c *configuration) ruling(call domain.ToolCall) domain.Ruling {
	tool, _ := c.Resolved.Tool(call.Name)
	trusted := c.agent.state.Trusted()
	ruling := c.Resolved.ApprovalsOf(c.Definition).RuleOn(tool, call.Arguments, trusted)
	for _, above := range slices.Concat(c.Constraints.Handed, c.Constraints.Approvals) {
		ruling = ruling.OrStricter(above.RuleOn(tool, call.Arguments, trusted))
	}
	return ruling.Final()
}

func (c *configuration) standingContext(tool string) domain.Digest {
	spec, _ := c.Resolved.Tool(tool)
	return domain.StandingContext(spec, c.agent.state.Trusted())
}

// upcomingDefinition is what the next execution begins with, by the model that a message may have given the session.
func (c *configuration) upcomingDefinition() domain.Definition {
	d := c.upcoming().Definition
	if c.Next == nil || !c.Next.Asks("model") {
		d.Model = c.agent.state.LLMConfig
	}
	return d
}

// upcomingChange is how what waits for the next execution differs from what is in force. The model in use and the session's
// budget may be others than the definition's: they differ where an update has asked for them.
func (c *configuration) upcomingChange(next contract.Config) contract.Change {
	now := c.Config
	session, _ := c.agent.state.Session()
	now.Definition.Model, now.Definition.SessionBudget = c.agent.state.LLMConfig, session.Budget
	if !next.Asks("model") {
		now.Definition.Model = next.Definition.Model
	}
	if !next.Asks(contract.FieldSessionBudget) {
		now.Definition.SessionBudget = next.Definition.SessionBudget
	}
	change := contract.Diff(now, next)
	change.Number = c.agent.state.ExecutionCount + 1
	return change
}
