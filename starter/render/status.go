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
	x := newDetails(t, now, id, v.Number, v.Status, status)
	for _, r := range statusRows(t, id, v, now) {
		for _, fact := range r.facts {
			x.fact(r.title, strings.Split(fact, "\n")...)
		}
	}
	return x.String()
}

// Status is a status for programs: an object with all keys. What is absent is null, or a list without items.
func Status(v account.Status) any { return object(statusRows(noTheme(), "", v, time.Time{})) }

// StatusKeys are the keys of a status, as help lists them in Markdown.
func StatusKeys() string {
	text := "| key | what it is |\n|---|---|\n"
	for _, r := range statusRows(noTheme(), "", account.Status{}, time.Time{}) {
		text += "| `" + r.key + "` | " + r.about + " |\n"
	}
	return text
}

// statusRows are all facts of a status, in the order in which people read them. The id is the one to enter in commands.
func statusRows(t Theme, id string, v account.Status, now time.Time) []row {
	enter := func(taken bool, command, what string) string {
		return where(taken, t.Faint(command+" "+OneLine(id)+" "+what))
	}
	c := v.Configuration
	own, cleared := v.Ledger.Own(), v.Position.Edits.CountCleared()
	var session, sessionLeft *domain.ExecutionBudget
	if all := v.Ledger.Session; all != nil {
		session, sessionLeft = &all.Limit, &all.Left
	}
	origin, parent := value(v.Origin), value(v.Parent)
	branch, originNumber := origin.Branch(), v.OriginNumber(v.Execution)
	var prior *priorJSON
	if v.Prior != (domain.Spent{}) {
		prior = &priorJSON{v.Prior, domain.KnownCost(v.Prior.CostNanoUSD, v.Prior.Tokens, v.Priced)}
	}
	return []row{
		forPrograms("agent_id", "the agent's id", v.AgentID),
		forPrograms("name", "its name, where it has one", present(v.Name)),
		forPrograms("execution_id", "the newest execution's id", present(v.ExecutionID)),
		forPrograms("execution_number", "its number, from 1", v.Number),
		forPrograms("status", "`pending`, `in_progress`, `completed`, `stopped` or `failed`", v.Status),
		forPrograms("open", "the session takes messages, or will", v.Open),
		forPrograms("paused", "nothing new starts until it is resumed", v.Paused),
		{"doing", "what is going on, in words", v.Doing, "doing", fact(doingText(v, now))},
		forPrograms("since", "since when", present(v.Since)),
		{"progress", "what tool calls under way tell of themselves: each `tool`, `text`", listed(v.Progress),
			"progress", facts(v.Progress, func(p contract.Progress) string { return OneLine(p.Tool) + ": " + OneLine(p.Text) })},
		forPrograms("lacking", "which worker lacks what, while another one is waited for", present(v.Lacking)),
		{"suspended", "`since` when, `by` whom and for what `reason` the session accepts nothing", v.Suspended,
			"suspended", fact(suspendedText(v.Suspended))},
		{"rewound_to", "from where the session's next execution goes on, where a rewind has left it so: as `branched_from`", v.Position.From,
			"stands", fact(rewoundText(v))},
		forPrograms("rewound_to_number", "the number of that execution; 0: it is not the session's", v.RewoundToNumber()),
		{"messages_cleared", "how many of the first messages `clear` has dropped", cleared,
			"cleared", fact(Within("", Some(cleared, "message"), " from before the clear, of which the model sees none"))},
		{"stop_reason", "why it ended: `starter help stops`", present(v.StopReason), "why",
			fact(cmp.Or(OneLine(value(v.Failure()).Message), where(v.Status == domain.StatusStopped, endedBy("", v.StopReason, v.SessionLimit))))},
		forPrograms("session_limit", "a limit of the session ended it", v.SessionLimit),
		forPrograms("error", "why it failed: `kind`, `code`, `message`", v.Failure()),
		{"step_count", "the steps that have ended", v.Steps, "steps", fact(grouped(v.Steps))},
		{"agent", "who has the conversation, where it was handed over", present(c.Agent),
			"agent", fact(Within("", OneLine(c.Agent), ", to which the conversation was handed over"))},
		{"model", "the model in use", present(c.Model), "model", fact(ModelName(c.Model))},
		forPrograms("rate_limit", "of the model's inferences", c.RateLimit),
		forPrograms("tool_limits", "by the names of the tools that have one", c.ToolLimits),
		forPrograms("rate_limited", "an inference or a call waits for its turn", v.RateLimited),
		{"usage", "what the execution has used: tokens", v.Usage, "usage", fact(usageText(v.Usage))},
		{"cost_nano_usd", "what that has cost", v.Cost(), "cost", fact(paidWords(v.Cost(), v.Usage))},
		{"budget", "its limits; `max_steps_from` is `default` where nobody has given `max_steps`, and `none` where there is to be none", own.Limit,
			"budget", fact(budgetFact(own.Limit, own.Left))},
		forPrograms("budget_left", "what is left of them", own.Left),
		{"session_budget", "the limits over all executions of the session, where it has such", session,
			"session", fact(SessionBudget(v.Ledger))},
		forPrograms("session_budget_left", "what is left of those", sessionLeft),
		{"branched_from", "the step from which it was forked or rewound: `execution_id`, `step`, `agent_id`", branch,
			"branched", fact(branchText(branch, v.AgentID, originNumber))},
		{"origin", "the id of the execution that it goes on from", present(origin.ExecutionID), "goes on",
			fact(where(v.Origin != nil && branch == nil, "from execution "+executionWords(originNumber, origin.ExecutionID)+spentText(v.Prior)))},
		forPrograms("origin_number", "the number of that execution; 0: it is not the session's", originNumber),
		forPrograms("prior", "what had been used by then", prior),
		{"trusted", "what whoever has started it says: `starter help trusted`", v.Trusted, "trusted", fact(trustedText(v.Trusted))},
		{"definition_changes", "the newest changes of what is in force: each `execution_number`, `at`, `agent` and `step` (where the conversation was handed over), `tools_added`, `tools_removed`, `tools_changed`, `more_tools`, `fields`, `updates` (who has given the agent another definition: each `by`, `at`, `reason`, `asked`, what of it was given), `more_updates`", listed(c.Changes),
			"changed", facts(c.Changes, Change)},
		{"next_definition", "how a definition that waits for the next execution differs from the one in force, in the form of `definition_changes`", c.Next,
			"next", fact(where(c.Next != nil, "another definition "+Change(value(c.Next))))},
		{"mcp_sessions", "with stateful MCP servers: each `server`, `worker`, `since`", listed(v.MCPSessions),
			"session", facts(v.MCPSessions, func(b contract.Bound) string { return OneLine(sessionWords(b.Server, b.Worker, b.Since)) })},
		{"parent_agent_id", "whose sub-agent it is, where it is one", present(parent.AgentID),
			"started by", fact(where(v.Parent != nil, fmt.Sprintf("agent %s, as its sub-agent %s", parent.AgentID, OneLine(parent.Subagent))))},
		forPrograms("subagent", "its name there", present(parent.Subagent)),
		{"subagents", "those under way: each `agent_id`, `subagent`, `tool_execution_id`, `since`, `grant`, `waiting` (for a person)", listed(v.Children),
			"sub-agent", facts(v.Children, func(sub contract.SubagentView) string {
				return OneLine(sub.Subagent) + " " + sub.AgentID.String() + lasting(sub.Since, now) + where(sub.Waiting, ", waits for a person: `approvals "+sub.AgentID.String()+"`")
			})},
		{"todo", "what tool `todo` keeps: each `text`, `status`", listed(v.Todo), "to do", fact(todoLines(v.Todo)...)},
		{"context_tokens", "about how many the next inference reads; null: nobody knows", present(v.Context),
			"context", fact(contextText(v.Context, v.Window))},
		forPrograms("context_window", "how many the model can read; null: nobody knows", present(v.Window)),
		{"stop_signals", "requests to stop: each `reason`, `source`, `message`", listed(v.Signals),
			"signal", facts(v.Signals, func(s domain.StopSignal) string { return OneLine(string(s.Reason) + " " + s.Message) })},
		{"more_stops", "how many of users came beyond the 100 that are kept", v.MoreSignals, "", fact(where(v.MoreSignals > 0, more(v.MoreSignals, "signal")))},
		{"waits", "calls that wait for a person, each with its `kind`, `approval`, `question` or `outcome`: `domain.Wait`", listed(v.Waits),
			"waits", facts(v.Waits, func(w domain.Wait) string {
				var ways []string
				for _, command := range w.Kind.Rule().Commands() {
					ways = append(ways, enter(v.TakesCommands() || v.Resolves(w), command, ShortCall(w.ToolExecutionID)+w.AnswerForm()))
				}
				return Joined("\n", pendingWords(w), Joined(t.Faint(" · "), ways...))
			})},
		{"standing_approvals", "calls that always run, those too that were revoked: `domain.StandingApproval`", listed(v.AlwaysAllowed),
			"always", facts(v.AlwaysAllowed, func(a domain.StandingApproval) string {
				if a.Revocation != nil {
					return ""
				}
				return Joined("\n", StandingApproval(a), enter(v.TakesCommands(), "revoke", ShortCall(a.ID)))
			})},
		{"waiting_messages", "those that were not read yet: each `message_id`, `place`, `sent_at`, `if_busy`, `bytes`, `text`, `cut`, `sent_by`", listed(v.Unread),
			"message", facts(v.Unread, func(w contract.WaitingView) string {
				if v.Status.Terminal() && !v.Open {
					return MessageText(w) + " was never read: the execution ended before"
				}
				return Joined("\n", MessageText(w)+waitsFor(w), enter(v.TakesCommands(), "unsend", w.ID.String()[:8]))
			})},
		{"history", "of the newest run: `events`, `bytes`, `runs`, `unstored` (why the storage does not take what a new run would need), `unrecorded` (what is not among the records, and why)", v.History,
			"history", fact(historyLines(v.History)...)},
		{"workflow_id", "of its workflow", v.Run.WorkflowID, "workflow", fact(Joined(" ", OneLine(v.Run.WorkflowID), t.Faint(OneLine(v.Run.ID))))},
		forPrograms("run_id", "of that one's newest run", v.Run.ID),
		{"build", "the build that has begun that run; empty: none has yet", v.Server.Builds.Begun,
			"build", fact(OneLine(client.OtherBuild(v.Server.Builds, v.ServedBy)))},
		forPrograms("carried_by", "the build that has carried it on last, where that is another", present(v.Server.Builds.Last)),
		forPrograms("served_by", "the builds of the workers, where all are of others", present(v.ServedBy)),
		{"source", "who tells: `workflow`, `history`, `raw_history`, `server` or `records`", v.Server.Source, "told by", fact(source(v))},
	}
}

// doingText is such as "waiting for the model, for 3 s", or of a record "ended, for 1 min; only its records are left".
func doingText(v account.Status, now time.Time) string {
	if v.Doing == "" {
		return ""
	}
	what, left, _ := strings.Cut(v.Doing, "; ")
	if v.Server.Source != contract.FromRecords { // of a record the time is that of the end
		what, left = v.Doing, ""
	}
	return OneLine(what) + lasting(v.Since, now) + Within("; ", OneLine(left))
}

func suspendedText(s *contract.Suspension) string {
	if s == nil {
		return ""
	}
	return OneLine("since " + moment(s.Since) + Within(" by ", s.By) + Within(": ", s.Reason))
}

func rewoundText(v account.Status) string {
	from := v.Position.From
	if from == nil {
		return ""
	}
	return fmt.Sprintf("after step %d of execution %s, to which it was rewound", from.Step, executionWords(v.RewoundToNumber(), from.ExecutionID)) +
		where(v.TakesCommands(), ": the next message goes on from there")
}

func usageText(u domain.Usage) string {
	return where(u.TotalTokens() > 0, fmt.Sprintf("%s (%s in, %s out)", Counted(u.TotalTokens(), "token"), grouped(u.InputTokens),
		grouped(u.OutputTokens))+where(u.Estimated, ", in part estimated"))
}

// historyLines say how long the history is, and what storage and records do not take; empty lines are left out by who shows them.
func historyLines(h contract.HistoryView) []string {
	if h.Events == 0 {
		return nil
	}
	return []string{
		Joined(", ", Counted(h.Events, "event"), size(h.Bytes), where(h.Runs > 1, "run "+grouped(h.Runs))),
		unstoredText(h.Unstored), Within("not among the records: ", OneLine(h.Unrecorded)),
	}
}

// endedBy is why an execution ended: the code of its error, else the reason; empty where it completed.
func endedBy(code domain.Code, reason domain.StopReason, session bool) string {
	why := cmp.Or(string(code), string(reason))
	if why == string(domain.Completed) {
		return ""
	}
	return OneLine(why) + where(session, " of the session")
}

// Change says from when on another configuration is in force, how it differs from the one before, and who has given it.
func Change(c contract.Change) string {
	from := fmt.Sprintf("from execution %d on", c.Number)
	if c.Agent != "" {
		from = fmt.Sprintf("execution %d, handed over from step %d on: %s", c.Number, c.Step, c.Agent)
	}
	said := Within(": ", c.String()) + where(c.MoreUpdates > 0, "; "+more(c.MoreUpdates, "update"))
	for _, one := range c.Updates {
		said += "; updated" + Within(" by ", one.By) + " at " + moment(one.At) + Within(": ", one.Reason)
	}
	return OneLine(from + said)
}

// unstoredText says why a run that is long goes on; empty where it need not.
func unstoredText(why string) string {
	return Within("no new run, as the storage fails, which is tried again after some steps: ", OneLine(why))
}

// ModelName is a model for people. That of a script is named with a slash before its path, which may begin with one.
func ModelName(model string) string {
	if path, ok := strings.CutPrefix(model, "scripted//"); ok {
		model = "scripted /" + path
	}
	return OneLine(model)
}

func spentText(s domain.Spent) string {
	var used []string
	for _, rule := range domain.LimitRules() {
		if amount := rule.Used(s, time.Time{}); amount.Int() > 0 && rule.Unit != domain.UnitMilliseconds {
			used = append(used, limitText(rule, amount))
		}
	}
	return Within(", which has used ", strings.Join(used, ", "))
}

// trustedText names each value, cut where it is long: JSON has it whole.
func trustedText(values domain.Trusted) string {
	var parts []string
	for _, name := range values.Names() {
		parts = append(parts, OneLine(name+"="+shortened(string(values[name]), 60)))
	}
	return strings.Join(parts, ", ")
}

// sessionWords names a session with a stateful MCP server.
func sessionWords(server, worker string, since time.Time) string {
	return "with MCP server " + server + " on worker " + worker + Within(" since ", moment(since))
}

// todoLines are what the model means to do.
func todoLines(items []domain.TodoItem) []string {
	return facts(items, func(item domain.TodoItem) string { return OneLine(item.String()) })
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
		if b.ByDefault(rule.Limit) {
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
	session := value(l.Session)
	return Within("in all ", Budget(session.Limit, session.Left))
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
		return "the history, replayed as far as event " + grouped(v.AtEvent)
	}
	words := map[contract.StatusSource]string{
		contract.FromWorkflow:   "the workflow",
		contract.FromHistory:    "the history; no worker answers",
		contract.FromRawHistory: "the history as it stands; no worker answers, and this build cannot replay it",
		contract.FromServer:     "the server, which ended it",
		contract.FromRecords:    "the record of the execution; no workflow of it is here",
	}
	return words[v.Server.Source]
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
	return grouped(number) + " (" + id.String()[:8] + ")"
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

// A row is one fact: for programs under its key, for people under its title. Help lists the keys.
type row struct {
	// key is its name in JSON, about says in help what stands there, and value is that. Without a key only people get it.
	key, about string
	value      any
	// title is its name in text, and facts are what is said under it, each in one line or several. Without facts only
	// programs get it.
	title string
	facts []string
}

// forPrograms is a row that people do not get.
func forPrograms(key, about string, value any) row { return row{key: key, about: about, value: value} }

// fact is one fact, of lines of which some may be empty.
func fact(lines ...string) []string { return []string{Joined("\n", lines...)} }

// facts are one for each item.
func facts[T any](items []T, of func(T) string) []string {
	var all []string
	for _, item := range items {
		all = append(all, of(item))
	}
	return all
}

// An object is rows as an object of JSON.
type object []row

// MarshalJSON keeps the order of the rows.
func (o object) MarshalJSON() ([]byte, error) {
	text := "{"
	for i, r := range o {
		value, err := domain.Encode(r.value)
		if err != nil {
			return nil, err
		}
		text += fmt.Sprintf("%s%q:%s", where(i > 0, ","), r.key, value)
	}
	return []byte(text + "}"), nil
}
