package main

import (
	"fmt"
	"strings"
	"time"

	"everstep/domain"
)

// statusText is a status for people, each fact under its name.
func statusText(t theme, id string, v domain.StatusView, now time.Time) string {
	var b strings.Builder
	status := string(v.Status)
	switch {
	case v.Open && v.Status.Terminal():
		status += ", idle"
	case v.Paused:
		status += ", paused"
	}
	fmt.Fprintf(&b, "%s %s · execution %d · %s\n", t.glyph(v.Status), t.head(oneLine(id)), v.Number, status)
	fact := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %s %s\n", t.faint(fmt.Sprintf("%-9s", name)), text)
		}
	}
	fact("doing", doing(v, now))
	fact("why", why(v))
	fact("steps", grouped(int64(v.StepCount)))
	fact("model", oneLine(v.Model))
	fact("usage", usageText(v.Usage))
	fact("cost", costFact(costOfStatus(v), v.Usage.TotalTokens))
	fact("budget", budgetText(v.Budget, v.BudgetLeft))
	if !v.Origin.IsZero() {
		fact("goes on", strings.TrimSpace("from "+v.Origin.String()+spentText(v.Prior)))
	}
	fact("context", contextText(v.Context, v.Window))
	for _, signal := range v.StopSignals {
		fact("signal", oneLine(fmt.Sprintf("%s %s", signal.Reason, signal.Message)))
	}
	for _, approval := range v.PendingApprovals {
		fact("approval", oneLine(approval))
	}
	for _, question := range v.PendingQuestions {
		fact("question", oneLine(question))
	}
	if v.History.Events > 0 {
		history := fmt.Sprintf("%s, %s", counted(v.History.Events, "event"), size(v.History.Bytes))
		if v.History.Runs > 1 {
			history += ", run " + grouped(int64(v.History.Runs))
		}
		fact("history", history)
	}
	fact("workflow", oneLine(v.WorkflowID)+" "+t.faint(oneLine(v.RunID)))
	fact("told by", source(v.Source))
	return b.String()
}

func doing(v domain.StatusView, now time.Time) string {
	text := oneLine(v.Doing)
	if text != "" && !v.Since.IsZero() && now.After(v.Since) {
		text += ", for " + duration(now.Sub(v.Since))
	}
	return text
}

func why(v domain.StatusView) string {
	switch {
	case v.Error != nil:
		return oneLine(v.Error.Message)
	case v.Status == domain.StatusStopped:
		return string(v.StopReason)
	}
	return ""
}

func usageText(u domain.UsageView) string {
	if u.TotalTokens == 0 {
		return ""
	}
	text := fmt.Sprintf("%s (%s in, %s out)", counted(u.TotalTokens, "token"), grouped(u.InputTokens), grouped(u.OutputTokens))
	if u.Estimated {
		text += ", in part estimated"
	}
	return text
}

func costText(usd string) string {
	if strings.Trim(usd, "0.") == "" {
		return ""
	}
	return "$" + oneLine(usd)
}

// spentText is what the executions before have taken of the budget.
func spentText(s domain.Spent) string {
	if s.IsZero() {
		return ""
	}
	parts := []string{counted(s.Steps, "step")}
	if s.Tokens > 0 {
		parts = append(parts, counted(s.Tokens, "token"))
	}
	if cost := costText(domain.USD(s.CostNanoUSD)); cost != "" {
		parts = append(parts, cost)
	}
	if s.ToolCalls > 0 {
		parts = append(parts, counted(s.ToolCalls, "tool call"))
	}
	return ", which has used " + strings.Join(parts, ", ")
}

// contextText says how full the model's window is.
func contextText(used, window int64) string {
	switch {
	case used == 0:
		return ""
	case window == 0:
		return "about " + counted(used, "token")
	}
	return fmt.Sprintf("about %s of %s tokens (%d %%)", grouped(used), grouped(window), used*100/window)
}

// budgetText names each limit and what is left of it.
func budgetText(b, left domain.ExecutionBudget) string {
	var parts []string
	for _, rule := range domain.LimitRules() {
		total, limited := rule.Total(b)
		if !limited {
			continue
		}
		text := limitText(rule, total)
		if rest, known := rule.Total(left); known && rule.Unit != domain.UnitTime {
			text += fmt.Sprintf(" (%s left)", limitNumber(rest))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// limitText is a limit in words.
func limitText(rule domain.LimitRule, total domain.Amount) string {
	switch rule.Unit {
	case domain.UnitTime:
		return "until " + limitNumber(total)
	case domain.UnitSteps, domain.UnitTokens, domain.UnitCalls:
		return counted(total.Int(), rule.Noun)
	case domain.UnitNanoUSD, domain.UnitMilliseconds:
	}
	return limitNumber(total)
}

func limitNumber(a domain.Amount) string {
	switch a.Unit() {
	case domain.UnitTime:
		return moment(a.Time())
	case domain.UnitMilliseconds:
		return secondsInWords(a.Seconds())
	case domain.UnitNanoUSD:
		return a.String()
	case domain.UnitSteps, domain.UnitTokens, domain.UnitCalls:
	}
	return grouped(a.Int())
}

func secondsInWords(s float64) string {
	return duration(time.Duration(s * float64(time.Second)))
}

// source says who told a status.
func source(s domain.StatusSource) string {
	switch s {
	case domain.FromWorkflow:
		return "the workflow"
	case domain.FromHeartbeat:
		return "the heartbeat of what is under way; no worker answers"
	case domain.FromHistory:
		return "the history; no worker answers"
	case domain.FromMemo:
		return "what was noted at the end; no worker answers"
	case domain.FromServer:
		return "the server, which ended it"
	}
	return string(s)
}
