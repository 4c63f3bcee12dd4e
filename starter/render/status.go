package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// StatusText is a status for people, each fact under its title.
func StatusText(t Theme, id string, v account.Status, now time.Time) string {
	status := string(v.Status)
	switch {
	case v.Open && v.Status.Terminal() && v.Suspended == nil:
		status += ", idle"
	case v.Suspended != nil && v.Open:
		status += ", suspended"
	case v.Paused:
		status += ", paused"
	case !v.Status.Terminal() && slices.ContainsFunc(v.Signals, func(s domain.StopSignal) bool { return s.Reason.WasForceStopped() }):
		status += ", stopping"
	}
	x := newSheet(t, now, id, v.Number, v.Status, status)
	for _, r := range statusRows(t, id, v, now) {
		for _, lines := range r.facts {
			x.fact(r.title, lines...)
		}
	}
	return x.String()
}

// Status is a status for programs: an object with all keys. What is absent is null, or a list without items.
func Status(v account.Status) any { return object(statusRows(noTheme(), "", v, time.Time{})) }

// StatusKeys are the keys of a status, as help lists them.
func StatusKeys() string {
	return keyTable(statusRows(noTheme(), "", account.Status{}, time.Time{}))
}

// statusRows are all facts of a status, in the order in which people read them. The id is the one to enter in commands.
func statusRows(t Theme, id string, v account.Status, now time.Time) []row {
	enter := func(command, what string) string { // nothing, where no workflow would take it
		return where(v.Server.Source != contract.FromRecords, t.Faint(command+" "+OneLine(id)+" "+what))
	}
	own, cleared := v.Ledger.Own(), v.Position.Edits.CountCleared()
	var session, sessionLeft *domain.ExecutionBudget
	if all := v.Ledger.Session; all != nil {
		session, sessionLeft = &all.Limit, &all.Left
	}
	var origin domain.Origin
	if v.Origin != nil {
		origin = *v.Origin
	}
	var parent account.Parent
	if v.Parent != nil {
		parent = *v.Parent
	}
	var prior *priorJSON
	if !v.Prior.IsZero() {
		prior = &priorJSON{v.Prior, domain.KnownCost(v.Prior.CostNanoUSD, v.Prior.Tokens, v.Priced)}
	}
	return []row{
		{key: "agent_id", about: "the agent's id", value: v.AgentID},
		{key: "name", about: "its name, where it has one", value: present(v.Name)},
		{key: "execution_id", about: "the newest execution's id", value: present(v.ExecutionID)},
		{key: "execution_number", about: "its number, from 1", value: v.Number},
		{key: "status", about: "`pending`, `in_progress`, `completed`, `stopped` or `failed`", value: v.Status},
		{key: "open", about: "the session takes messages, or will", value: v.Open},
		{key: "paused", about: "nothing new starts until it is resumed", value: v.Paused},
		{key: "doing", about: "what is going on, in words", value: v.Doing, title: "doing", facts: fact(doingText(v, now))},
		{key: "since", about: "since when", value: present(v.Since)},
		{key: "progress", about: "what tool calls under way tell of themselves: each `tool`, `text`", value: listed(v.Progress),
			title: "progress", facts: facts(v.Progress, func(p contract.Progress) []string { return []string{OneLine(p.Tool) + ": " + OneLine(p.Text)} })},
		{key: "lacking", about: "which worker lacks what, while another one is waited for", value: present(v.Lacking)},
		{key: "suspended", about: "`since` when, `by` whom and for what `reason` the session accepts nothing", value: v.Suspended,
			title: "suspended", facts: fact(suspendedText(v.Suspended))},
		{key: "rewound_to", about: "from where the session's next execution goes on, where a rewind has left it so: as `branched_from`", value: v.Position.From,
			title: "stands", facts: fact(rewoundText(v))},
		{key: "rewound_to_number", about: "the number of that execution; 0: it is not the session's", value: v.RewoundToNumber()},
		{key: "messages_cleared", about: "how many of the first messages `clear` has dropped", value: cleared,
			title: "cleared", facts: fact(where(cleared > 0, Counted(int64(cleared), "message")+" from before the clear, of which the model sees none"))},
		{key: "stop_reason", about: "why it ended: `starter help stops`", value: present(v.StopReason), title: "why", facts: fact(whyText(v))},
		{key: "session_limit", about: "a limit of the session ended it", value: v.SessionLimit},
		{key: "error", about: "why it failed: `kind`, `code`, `message`", value: v.Failure()},
		{key: "step_count", about: "the steps that have ended", value: v.Steps, title: "steps", facts: fact(grouped(int64(v.Steps)))},
		{key: "agent", about: "who has the conversation, where it was handed over", value: present(v.Configuration.Agent),
			title: "agent", facts: fact(OneLine(where(v.Configuration.Agent != "", v.Configuration.Agent+", to which the conversation was handed over")))},
		{key: "model", about: "the model in use", value: present(v.Configuration.Model), title: "model", facts: fact(ModelName(v.Configuration.Model))},
		{key: "rate_limit", about: "of the model's inferences", value: v.Configuration.RateLimit},
		{key: "tool_limits", about: "by the names of the tools that have one", value: v.Configuration.ToolLimits},
		{key: "rate_limited", about: "an inference or a call waits for its turn", value: v.RateLimited},
		{key: "usage", about: "what the execution has used: tokens", value: v.Usage.View(), title: "usage", facts: fact(usageText(v.Usage.View()))},
		{key: "cost_nano_usd", about: "what that has cost", value: v.Cost(), title: "cost", facts: fact(paidWords(v.Cost()))},
		{key: "budget", about: "its limits; `max_steps_from` is `default` where nobody has given `max_steps`, and `none` where there is to be none", value: own.Limit,
			title: "budget", facts: fact(budgetFact(own.Limit, own.Left))},
		{key: "budget_left", about: "what is left of them", value: own.Left},
		{key: "session_budget", about: "the limits over all executions of the session, where it has such", value: session,
			title: "session", facts: fact(SessionBudget(v.Ledger))},
		{key: "session_budget_left", about: "what is left of those", value: sessionLeft},
		{key: "branched_from", about: "the step from which it was forked or rewound: `execution_id`, `step`, `agent_id`", value: origin.Branch(),
			title: "branched", facts: fact(branchText(origin.Branch(), v.AgentID, v.OriginNumber(v.Execution)))},
		{key: "origin", about: "the id of the execution that it goes on from", value: present(origin.ExecutionID), title: "goes on", facts: fact(originText(v))},
		{key: "origin_number", about: "the number of that execution; 0: it is not the session's", value: v.OriginNumber(v.Execution)},
		{key: "prior", about: "what had been used by then", value: prior},
		{key: "trusted", about: "what whoever has started it says: `starter help trusted`", value: v.Trusted, title: "trusted", facts: fact(trustedText(v.Trusted))},
		{key: "definition_changes", about: "the newest changes of what is in force: each `execution_number`, `at`, `agent` and `step` (where the conversation was handed over), `tools_added`, `tools_removed`, `tools_changed`, `more_tools`, `fields`, `updates` (who has given the agent another definition: each `by`, `at`, `reason`, `asked`, what of it was given), `more_updates`", value: listed(v.Configuration.Changes),
			title: "changed", facts: facts(v.Configuration.Changes, func(c contract.Change) []string { return []string{Change(c)} })},
		{key: "next_definition", about: "how a definition that waits for the next execution differs from the one in force, in the form of `definition_changes`", value: v.Configuration.Next,
			title: "next", facts: fact(nextText(v.Configuration.Next))},
		{key: "mcp_sessions", about: "with stateful MCP servers: each `server`, `worker`, `since`", value: listed(v.MCPSessions),
			title: "session", facts: facts(v.MCPSessions, func(b contract.Bound) []string { return []string{OneLine(sessionWords(b.Server, b.Worker, b.Since))} })},
		{key: "parent_agent_id", about: "whose sub-agent it is, where it is one", value: present(parent.AgentID),
			title: "started by", facts: fact(where(v.Parent != nil, fmt.Sprintf("agent %s, as its sub-agent %s", parent.AgentID, OneLine(parent.Subagent))))},
		{key: "subagent", about: "its name there", value: present(parent.Subagent)},
		{key: "subagents", about: "those under way: each `agent_id`, `subagent`, `tool_execution_id`, `since`, `grant`, `waiting` (for a person)", value: listed(v.Children),
			title: "sub-agent", facts: facts(v.Children, func(sub contract.SubagentView) []string { return []string{subagentText(sub, now)} })},
		{key: "todo", about: "what tool `todo` keeps: each `text`, `status`", value: listed(v.Todo), title: "to do", facts: fact(todoLines(v.Todo)...)},
		{key: "context_tokens", about: "about how many the next inference reads; null: nobody knows", value: present(v.Context),
			title: "context", facts: fact(contextText(v.Context, v.Window))},
		{key: "context_window", about: "how many the model can read; null: nobody knows", value: present(v.Window)},
		{key: "stop_signals", about: "requests to stop: each `reason`, `source`, `message`", value: listed(v.Signals),
			title: "signal", facts: facts(v.Signals, func(s domain.StopSignal) []string {
				return []string{OneLine(fmt.Sprintf("%s %s", s.Reason, s.Message))}
			})},
		{key: "more_stops", about: "how many of users came beyond the 100 that are kept", value: v.MoreSignals, facts: fact(where(v.MoreSignals > 0, more(v.MoreSignals, "signal")))},
		{key: "waits", about: "calls that wait for a person, each with its `kind`, `approval`, `question` or `outcome`: `domain.Wait`", value: listed(v.Waits),
			title: "waits", facts: facts(v.Waits, func(w domain.Wait) []string {
				call := ShortCall(w.ToolExecutionID)
				switch w.Kind {
				case domain.WaitOutcome:
					return []string{pendingWords(w), enter("resolve", call)}
				case domain.WaitQuestion:
					return []string{pendingWords(w), enter("answer", call+where(len(w.Ask.Schema) > 0, " --value JSON"))}
				case domain.WaitApproval:
				}
				return []string{pendingWords(w), joined(t.Faint(" · "), enter("approve", call), enter("deny", call))}
			})},
		{key: "standing_approvals", about: "calls that always run, those too that were revoked: `domain.StandingApproval`", value: listed(v.AlwaysAllowed),
			title: "always", facts: facts(v.AlwaysAllowed, func(a domain.StandingApproval) []string {
				if a.Revocation != nil {
					return nil
				}
				return []string{StandingApproval(a), enter("revoke", ShortCall(a.ID))}
			})},
		{key: "waiting_messages", about: "those that were not read yet: each `message_id`, `place`, `sent_at`, `if_busy`, `bytes`, `text`, `cut`, `sent_by`", value: listed(v.Unread),
			title: "message", facts: facts(v.Unread, func(w contract.WaitingView) []string {
				return []string{messageWords(w, v), where(v.Open || !v.Status.Terminal(), enter("unsend", w.ID.String()[:8]))}
			})},
		{key: "history", about: "of the newest run: `events`, `bytes`, `runs`, `unstored` (why the storage does not take what a new run would need), `unrecorded` (what is not among the records, and why)", value: v.History,
			title: "history", facts: fact(historyLines(v.History)...)},
		{key: "workflow_id", about: "of its workflow", value: v.Run.WorkflowID, title: "workflow", facts: fact(joined(" ", OneLine(v.Run.WorkflowID), t.Faint(OneLine(v.Run.ID))))},
		{key: "run_id", about: "of that one's newest run", value: v.Run.ID},
		{key: "build", about: "the build that has begun that run; empty: none has yet", value: v.Server.Builds.Begun,
			title: "build", facts: fact(OneLine(client.OtherBuild(v.Server.Builds, v.ServedBy)))},
		{key: "carried_by", about: "the build that has carried it on last, where that is another", value: present(v.Server.Builds.Last)},
		{key: "served_by", about: "the builds of the workers, where all are of others", value: present(v.ServedBy)},
		{key: "source", about: "who tells: `workflow`, `history`, `raw_history`, `server` or `records`", value: v.Server.Source, title: "told by", facts: fact(source(v))},
	}
}

func doingText(v account.Status, now time.Time) string {
	if v.Doing == "" {
		return ""
	}
	what, why, _ := strings.Cut(v.Doing, "; ")
	if v.Server.Source != contract.FromRecords { // of a record the time is that of the end
		what, why = v.Doing, ""
	}
	return OneLine(what) + lasting(v.Since, now) + within("; ", OneLine(why), "")
}

func suspendedText(s *contract.Suspension) string {
	if s == nil {
		return ""
	}
	return OneLine("since " + moment(s.Since) + within(" by ", s.By, "") + within(": ", s.Reason, ""))
}

func rewoundText(v account.Status) string {
	if v.Position.From == nil {
		return ""
	}
	return fmt.Sprintf("after step %d of execution %s, to which it was rewound: the next message goes on from there", v.Position.From.Step, executionWords(v.RewoundToNumber(), v.Position.From.ExecutionID))
}

func whyText(v account.Status) string {
	if v.Failure() != nil {
		return OneLine(v.Failure().Message)
	}
	return where(v.Status == domain.StatusStopped, endedBy("", v.StopReason, v.SessionLimit))
}

// endedBy is why an execution ended: the code of its error, else the reason; empty where it completed.
func endedBy(code domain.Code, reason domain.StopReason, session bool) string {
	why := cmp.Or(string(code), string(reason))
	if why == string(domain.Completed) {
		return ""
	}
	return OneLine(why) + ofSession(session)
}

func originText(v account.Status) string {
	if v.Origin == nil || v.Origin.Branch() != nil {
		return ""
	}
	return "from execution " + executionWords(v.OriginNumber(v.Execution), v.Origin.ExecutionID) + spentText(v.Prior)
}

// Change says from when on another configuration is in force, how it differs from the one before, and who has given it.
func Change(c contract.Change) string {
	from := fmt.Sprintf("from execution %d on", c.Number)
	if c.Agent != "" {
		from = fmt.Sprintf("execution %d, handed over from step %d on: %s", c.Number, c.Step, c.Agent)
	}
	said := within(": ", c.String(), "") + where(c.MoreUpdates > 0, "; "+more(c.MoreUpdates, "update"))
	for _, one := range c.Updates {
		said += "; updated" + within(" by ", one.By, "") + " at " + moment(one.At) + within(": ", one.Reason, "")
	}
	return OneLine(from + said)
}

func nextText(next *contract.Change) string {
	if next == nil {
		return ""
	}
	return "another definition " + Change(*next)
}

func subagentText(sub contract.SubagentView, now time.Time) string {
	return OneLine(sub.Subagent) + " " + sub.AgentID.String() + lasting(sub.Since, now) + where(sub.Waiting, ", waits for a person: `approvals "+sub.AgentID.String()+"`")
}

func historyLines(h contract.HistoryView) []string {
	if h.Events == 0 {
		return nil
	}
	return []string{
		joined(", ", Counted(h.Events, "event"), size(h.Bytes), where(h.Runs > 1, "run "+grouped(int64(h.Runs)))),
		unstoredText(h.Unstored), within("not among the records: ", OneLine(h.Unrecorded), ""),
	}
}

// unstoredText says why a run that is long goes on; empty where it need not.
func unstoredText(why string) string {
	return within("no new run, as the storage fails, which is tried again after some steps: ", OneLine(why), "")
}

// ModelName is a model for people. That of a script is named with a slash before its path, which may begin with one.
func ModelName(model string) string {
	if path, ok := strings.CutPrefix(model, "scripted//"); ok {
		model = "scripted /" + path
	}
	return OneLine(model)
}

// ofSession says whose limit it was, where that was the session's.
func ofSession(session bool) string { return where(session, " of the session") }

func usageText(u domain.UsageView) string {
	return where(u.TotalTokens > 0, fmt.Sprintf("%s (%s in, %s out)", Counted(u.TotalTokens, "token"), grouped(u.InputTokens),
		grouped(u.OutputTokens))+where(u.Estimated, ", in part estimated"))
}

func spentText(s domain.Spent) string {
	var used []string
	for _, rule := range domain.LimitRules() {
		if amount := rule.Used(s, time.Time{}); amount.Int() > 0 && rule.Unit != domain.UnitMilliseconds {
			used = append(used, limitText(rule, amount))
		}
	}
	return within(", which has used ", strings.Join(used, ", "), "")
}

// trustedText names each value, cut where it is long: JSON has it whole.
func trustedText(values domain.Trusted) string {
	var parts []string
	for _, name := range values.Names() {
		value, short := string(values[name]), domain.Shorten(string(values[name]), 60)
		parts = append(parts, OneLine(name+"="+short)+where(short != value, "…"))
	}
	return strings.Join(parts, ", ")
}

// sessionWords names a session with a stateful MCP server.
func sessionWords(server, worker string, since time.Time) string {
	return "with MCP server " + server + " on worker " + worker + within(" since ", moment(since), "")
}

// todoLines are what the model means to do.
func todoLines(items []domain.TodoItem) []string {
	var lines []string
	for _, item := range items {
		lines = append(lines, OneLine(item.String()))
	}
	return lines
}

func contextText(used, window int64) string {
	switch {
	case used == 0:
		return ""
	case window <= 0:
		return "about " + Counted(used, "token")
	}
	return fmt.Sprintf("about %s of %s tokens (%d %%)", grouped(used), grouped(window), used*100/window)
}

// Budget names each limit and what is left of it.
func Budget(b, left domain.ExecutionBudget) string {
	var parts []string
	for _, rule := range domain.LimitRules() {
		total, limited := rule.Total(b)
		if !limited {
			continue
		}
		text := limitText(rule, total)
		if rule.Limit == domain.LimitSteps && b.MaxStepsFrom == domain.StepsDefault {
			text += " by default"
		}
		if rest, known := rule.Total(left); known && rule.Unit != domain.UnitTime {
			text += fmt.Sprintf(" (%s left)", limitNumber(rest))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// budgetFact is Budget, and says of one without any limit that this is meant.
func budgetFact(b, left domain.ExecutionBudget) string {
	return cmp.Or(Budget(b, left), where(b.MaxStepsFrom == domain.StepsNone, "no limit, not even of steps"))
}

// SessionBudget is what the session's executions may use together, where it has a budget.
func SessionBudget(l account.Ledger) string {
	if l.Session == nil {
		return ""
	}
	return strings.TrimSuffix("in all "+Budget(l.Session.Limit, l.Session.Left), "in all ")
}

// UsedUp names the limits of a session of which nothing is left, and above what each has to be; empty: something is left.
func UsedUp(account domain.Holder) string {
	var all []string
	for _, use := range account.UsedUp() {
		all = append(all, fmt.Sprintf("%s, and has to be above %v", use, use.Used))
	}
	return strings.Join(all, "; ")
}

func limitText(rule domain.LimitRule, total domain.Amount) string {
	switch rule.Unit {
	case domain.UnitTime:
		return "until " + limitNumber(total)
	case domain.UnitNanoUSD, domain.UnitMilliseconds:
		return limitNumber(total)
	default:
		return Counted(total.Int(), rule.Noun)
	}
}

func source(v account.Status) string {
	if v.AtEvent > 0 {
		return "the history, replayed as far as event " + grouped(int64(v.AtEvent))
	}
	words := map[contract.StatusSource]string{
		contract.FromWorkflow:   "the workflow",
		contract.FromHistory:    "the history; no worker answers",
		contract.FromRawHistory: "the history as it stands; no worker answers, and this build cannot replay it",
		contract.FromServer:     "the server, which ended it",
		contract.FromRecords:    "the record of the execution; no workflow of it is here",
	}
	return cmp.Or(words[v.Server.Source], string(v.Server.Source))
}

// A priorJSON is what was spent, with a cost that is null where nobody knows it.
type priorJSON struct {
	domain.Spent
	CostNanoUSD *int64 `json:"cost_nano_usd"`
}

// listed is empty in JSON, not null, where nothing is in it.
func listed[T any](values []T) []T { return append([]T{}, values...) }

func present[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

// executionWords name an execution by its number in the session, or by its id where it has none there.
func executionWords(number int, id domain.ExecutionID) string {
	if number == 0 {
		return id.String()
	}
	return grouped(int64(number)) + " (" + id.String()[:8] + ")"
}

// branchText says where an execution of an agent was forked or rewound from; empty where it was not.
func branchText(from *domain.Origin, agent domain.AgentID, number int) string {
	if from == nil {
		return ""
	}
	text := fmt.Sprintf("from execution %s, step %d", executionWords(number, from.ExecutionID), from.Step)
	if from.AgentID != agent {
		return "forked " + text + ", of agent " + from.AgentID.String()
	}
	return "rewound " + text
}
