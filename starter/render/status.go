package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
	"everstep/starter/client"
)

// StatusText is a status for people, each fact under its name.
func StatusText(t Theme, id string, v contract.StatusView, now time.Time) string {
	status := string(v.Status)
	switch {
	case v.Open && v.Status.Terminal() && v.Suspended == nil:
		status += ", idle"
	case v.Suspended != nil && v.Open:
		status += ", suspended"
	case v.Paused:
		status += ", paused"
	case !v.Status.Terminal() && slices.ContainsFunc(v.StopSignals, func(s domain.StopSignal) bool { return s.Reason.WasForceStopped() }):
		status += ", stopping"
	}
	x := newSheet(t, now, id, v.Number, v.Status, status)
	if what, why, _ := strings.Cut(v.Doing, "; "); v.Source == contract.FromRecords { // the time is that of the end
		x.fact("doing", OneLine(what)+lasting(v.Since, now)+within("; ", OneLine(why), ""))
	} else if v.Doing != "" {
		x.fact("doing", OneLine(v.Doing)+lasting(v.Since, now))
	}
	for _, p := range v.Progress {
		x.fact("progress", OneLine(p.Tool)+": "+OneLine(p.Text))
	}
	if v.Suspended != nil {
		x.fact("suspended", OneLine("since "+moment(v.Suspended.Since)+within(" by ", v.Suspended.By, "")+within(": ", v.Suspended.Reason, "")))
	}
	if to := v.RewoundTo; to != nil {
		x.fact("stands", fmt.Sprintf("after step %d of execution %s, to which it was rewound: the next message goes on from there", to.Step, executionWords(v.RewoundToNumber, to.ExecutionID)))
	}
	x.fact("cleared", where(v.Cleared > 0, Counted(int64(v.Cleared), "message")+" from before the clear, of which the model sees none"))
	x.fact("why", why(v))
	x.fact("steps", grouped(int64(v.StepCount)))
	x.fact("agent", OneLine(where(v.Agent != "", v.Agent+", to which the conversation was handed over")))
	x.fact("model", ModelName(v.Model))
	x.fact("usage", usageText(v.Usage))
	x.fact("cost", costFact(costOfStatus(v), v.Usage.TotalTokens))
	x.fact("budget", budgetFact(v.Budget, v.BudgetLeft))
	x.fact("session", SessionBudget(v))
	if branch := v.BranchedFrom; branch != nil {
		x.fact(branchWords(*branch, v.AgentID, v.OriginNumber))
	} else if !v.Origin.IsZero() {
		x.fact("goes on", strings.TrimSpace("from execution "+executionWords(v.OriginNumber, v.Origin)+spentText(v.Prior)))
	}
	x.fact("trusted", trustedText(v.Trusted))
	for _, change := range v.Changes {
		if change.Agent != "" {
			x.fact("handed over", fmt.Sprintf("execution %d, %s", change.Number, handoverText(change)))
			continue
		}
		x.fact("changed", fmt.Sprintf("from execution %d on: %s", change.Number, OneLine(change.String()+wordText(change.Word))))
	}
	if v.Next != nil {
		x.fact("next", "another definition from the next execution on: "+OneLine(strings.Join(v.Next.Fields, ", ")+wordText(v.Next)))
	}
	for _, s := range v.Bound {
		x.fact("session", OneLine(sessionWords(s.Server, s.Worker, s.Since)))
	}
	if !v.ParentAgentID.IsZero() {
		x.fact("started by", fmt.Sprintf("agent %s, as its sub-agent %s", v.ParentAgentID, OneLine(v.Subagent)))
	}
	for _, sub := range v.Subagents {
		x.fact("sub-agent", fmt.Sprintf("%s %s%s%s", OneLine(sub.Subagent), sub.AgentID, lasting(sub.Since, now), where(sub.Waiting, ", waits for a person: `approvals "+sub.AgentID.String()+"`")))
	}
	x.todo(v.Todo)
	x.fact("context", contextText(v.Context, v.Window))
	for _, signal := range v.StopSignals {
		x.fact("signal", OneLine(fmt.Sprintf("%s %s", signal.Reason, signal.Message)))
	}
	x.fact("", where(v.MoreStops > 0, more(v.MoreStops, "signal")))
	for _, call := range v.OutcomeUnknown {
		x.fact("unknown", OneLine(UnknownCall(call)))
	}
	for _, approval := range v.PendingApprovals {
		x.fact("approval", pendingWords(approval), t.Faint("approve "+OneLine(id)+" "+ShortCall(approval.ToolExecutionID)+" · deny "+OneLine(id)+" "+ShortCall(approval.ToolExecutionID)))
	}
	for _, standing := range v.StandingApprovals {
		x.fact("always", where(standing.Revocation == nil, StandingApproval(standing)), t.Faint("revoke "+OneLine(id)+" "+ShortCall(standing.ID)))
	}
	for _, w := range v.WaitingMessages {
		x.fact("message", messageWords(w, v), where(v.Open || !v.Status.Terminal(), t.Faint("unsend "+OneLine(id)+" "+w.ID.String()[:8])))
	}
	for _, question := range v.PendingQuestions {
		x.fact("question", pendingQuestionWords(question), t.Faint("answer "+OneLine(id)+" "+ShortCall(question.ToolExecutionID)+where(len(question.Schema) > 0, " --value JSON")))
	}
	if v.History.Events > 0 {
		x.fact("history", joined(", ", Counted(v.History.Events, "event"), size(v.History.Bytes),
			where(v.History.Runs > 1, "run "+grouped(int64(v.History.Runs)))))
		x.fact("", where(v.History.Unstored != "", "no new run, as the storage fails, which is tried again after some steps: "+OneLine(v.History.Unstored)))
		x.fact("", where(v.History.Unrecorded != "", "not among the records: "+OneLine(v.History.Unrecorded)))
	}
	x.fact("workflow", OneLine(v.WorkflowID)+" "+t.Faint(OneLine(v.RunID)))
	x.fact("build", OneLine(client.OtherBuild(contract.Builds{Begun: v.Build, Last: v.CarriedBy}, v.ServedBy)))
	x.fact("told by", source(v.Source))
	return x.String()
}

// ModelName is a model for people. That of a script is named with a slash before its path, which may begin with one.
func ModelName(model string) string {
	if path, ok := strings.CutPrefix(model, "scripted//"); ok {
		model = "scripted /" + path
	}
	return OneLine(model)
}

// handoverText says from when on which agent has the conversation, and how that differs from the one before.
func handoverText(change contract.DefinitionChange) string {
	return OneLine(fmt.Sprintf("from step %d on: %s", change.Step, strings.TrimPrefix(change.String(), "handed over to ")))
}

// wordText says who has given a session another definition, one after the other.
func wordText(w *contract.DefinitionWord) string {
	if w == nil {
		return ""
	}
	said := where(w.MoreBefore > 0, "; "+more(w.MoreBefore, "update"))
	for _, one := range append(slices.Clip(w.Before), contract.EarlierWord{By: w.By, At: w.At, Reason: w.Reason}) {
		said += "; updated" + within(" by ", one.By, "") + " at " + moment(one.At) + within(": ", one.Reason, "")
	}
	return said
}

// UnknownCall names a call of which nobody knows whether it took effect.
func UnknownCall(c domain.UnknownCall) string {
	return fmt.Sprintf("whether %s took effect%s (execution %d, step %d, call %s); `resolve` settles it",
		c.Tool, within(" with ", c.Arguments, ""), c.Number, c.Step, c.ID)
}

// ofSession says whose limit it was, where that was the session's.
func ofSession(session bool) string { return where(session, " of the session") }

func why(v contract.StatusView) string {
	switch {
	case v.Error != nil:
		return OneLine(v.Error.Message)
	case v.Status == domain.StatusStopped:
		return string(v.StopReason) + ofSession(slices.ContainsFunc(v.StopSignals, func(s domain.StopSignal) bool {
			return s.Reason == v.StopReason && s.Source == progress.SourceSessionBudget
		}))
	}
	return ""
}

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

// todo shows what the model means to do, a line each.
func (x *sheet) todo(items []domain.TodoItem) {
	for i, item := range items {
		x.fact(where(i == 0, "to do"), OneLine(item.String()))
	}
}

func contextText(used, window int64) string {
	switch {
	case used == 0:
		return ""
	case window == 0:
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
func SessionBudget(v contract.StatusView) string {
	if v.SessionBudget == nil || v.SessionBudgetLeft == nil {
		return ""
	}
	return strings.TrimSuffix("in all "+Budget(*v.SessionBudget, *v.SessionBudgetLeft), "in all ")
}

// UsedUp names the limits of a session of which nothing is left, and above what each has to be; empty: something is left.
func UsedUp(account domain.SessionAccount) string {
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

func source(s contract.StatusSource) string {
	words := map[contract.StatusSource]string{
		contract.FromWorkflow:   "the workflow",
		contract.FromHistory:    "the history; no worker answers",
		contract.FromRawHistory: "the history as it stands; no worker answers, and this build cannot replay it",
		contract.FromServer:     "the server, which ended it",
		contract.FromRecords:    "the record of the execution; no workflow of it is here",
	}
	return cmp.Or(words[s], string(s))
}

// A StatusJSON is a status with all its keys, for scripts: what is absent is null or empty.
type StatusJSON struct {
	contract.StatusView
	ExecutionID *domain.ExecutionID `json:"execution_id"`
	CostUSD     *string             `json:"cost_usd"` // null where nobody knows it
	Since       *time.Time          `json:"since"`
	StopReason  *domain.StopReason  `json:"stop_reason"`
	Progress    []contract.Progress `json:"progress"`
	Paused      bool                `json:"paused"`
	Origin      *domain.ExecutionID `json:"origin"`
	// BranchedFrom is null unless it was forked or rewound.
	BranchedFrom *domain.Origin   `json:"branched_from"`
	RewoundTo    *domain.Origin   `json:"rewound_to"`
	Prior        *priorJSON       `json:"prior"`
	Window       *int64           `json:"context_window"`
	Context      *int64           `json:"context_tokens"`
	Sessions     []contract.Bound `json:"mcp_sessions"`
	// Changes are of what is in force, execution by execution.
	Changes []contract.DefinitionChange `json:"definition_changes"`
	Next    *contract.DefinitionWord    `json:"next_definition"`
	Todo    []domain.TodoItem           `json:"todo"`
}

type priorJSON struct {
	domain.Spent
	CostUSD *string `json:"cost_usd"`
}

// Status fills in all keys.
func Status(v contract.StatusView) StatusJSON {
	s := StatusJSON{StatusView: v, ExecutionID: present(v.ExecutionID), Since: present(v.Since), StopReason: present(v.StopReason)}
	s.BranchedFrom, s.RewoundTo = v.BranchedFrom, v.RewoundTo
	s.Paused, s.Origin, s.Window, s.Context = v.Paused, present(v.Origin), present(v.Window), present(v.Context)
	s.CostUSD, s.Priced = costOfStatus(v), false // null says it
	if !v.Prior.IsZero() {
		s.Prior = &priorJSON{Spent: v.Prior, CostUSD: knownCost(v.Prior.CostNanoUSD, v.Prior.Tokens, v.Priced)}
	}
	s.Progress, s.Todo = listed(v.Progress), listed(v.Todo)
	s.OutcomeUnknown, s.StandingApprovals = listed(v.OutcomeUnknown), listed(v.StandingApprovals)
	s.Sessions, s.Changes, s.Next = listed(v.Bound), listed(v.Changes), v.Next
	s.WaitingMessages = listed(v.WaitingMessages)
	s.StopSignals, s.PendingApprovals, s.PendingQuestions = listed(v.StopSignals), listed(v.PendingApprovals), listed(v.PendingQuestions)
	return s
}

// listed is empty in JSON, not null, where nothing is in it.
func listed[T any](values []T) []T { return append([]T{}, values...) }

func present[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

// costOfStatus is nil where nobody knows what the model costs.
func costOfStatus(v contract.StatusView) *string {
	if v.Priced || v.Usage.TotalTokens == 0 || costText(v.CostUSD) != "" {
		return new(v.CostUSD)
	}
	return nil
}

// executionWords name an execution by its number in the session, or by its id where it has none there.
func executionWords(number int, id domain.ExecutionID) string {
	if number == 0 {
		return id.String()
	}
	return grouped(int64(number)) + " (" + id.String()[:8] + ")"
}

// branchWords say where an execution of an agent was forked or rewound from.
func branchWords(origin domain.Origin, agent domain.AgentID, number int) (name, text string) {
	name, text = "rewound", fmt.Sprintf("from execution %s, step %d", executionWords(number, origin.ExecutionID), origin.Step)
	if origin.AgentID != agent {
		name, text = "forked", text+", of agent "+origin.AgentID.String()
	}
	return name, text
}
