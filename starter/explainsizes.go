package main

import (
	"fmt"
	"time"

	"everstep/domain"
	"everstep/starter/client"
)

// budget writes a line a limit.
func (x *explainer) budget(v client.ExplainView) {
	switch {
	case v.Budget == nil:
		x.fact("budget", "unknown")
		return
	case len(v.Budget) == 0:
		x.fact("budget", "no limit is set")
		return
	}
	name := "budget"
	for _, l := range v.Budget {
		text := x.limit(l)
		if l.Reached {
			text = x.theme.warn(text + " · reached")
		}
		x.fact(name, text)
		name = ""
	}
}

func (x *explainer) limit(l client.ExplainLimit) string {
	if l.Deadline != nil {
		text := "deadline: " + moment(*l.Deadline)
		if left := l.Deadline.Sub(x.now); left > 0 {
			return text + ", " + duration(left) + " left"
		}
		return text + ", passed"
	}
	text := fmt.Sprintf("%s %s: ", l.Limit, limitWords(l.Unit, l.Total))
	text += limitWords(l.Unit, l.Used) + " used"
	if l.Prior != nil && *l.Prior > 0 {
		text += ", " + limitWords(l.Unit, l.Prior) + " before it"
	}
	return text + ", " + limitWords(l.Unit, l.Left) + " left"
}

func limitWords(unit domain.Unit, n *int64) string {
	if n == nil {
		return "an unknown amount"
	}
	switch unit {
	case domain.UnitMilliseconds:
		return duration(time.Duration(*n) * time.Millisecond)
	case domain.UnitNanoUSD:
		return "$" + domain.USD(*n)
	case domain.UnitSteps, domain.UnitTokens, domain.UnitCalls, domain.UnitTime:
	}
	return grouped(*n)
}

// history writes how long the history is, and how full the window.
func (x *explainer) history(v client.ExplainView) {
	h := v.History
	text := fmt.Sprintf("%s, %s", counted(h.Events, "event"), size(h.Bytes))
	if h.Runs > 1 {
		text += fmt.Sprintf(" in run %s of the chain", grouped(int64(h.Runs)))
	}
	if h.BytesPerStep != nil {
		text += fmt.Sprintf(" · %s a step", size(*h.BytesPerStep))
	}
	x.fact("history", text)
	next := percent(h.Share) + " of the way to a new run"
	switch {
	case h.Suggested:
		next = "the server suggests a new run, which begins with the next step"
	case h.StepsLeft != nil:
		next += fmt.Sprintf(" (%s, %s): about %s to go", size(h.ContinueBytes), counted(h.ContinueEvents, "event"), counted(*h.StepsLeft, "step"))
	}
	x.fact("", next)
	if c := v.Context; c != nil {
		text := "about " + counted(c.Tokens, "token")
		if c.Window != nil && c.Share != nil {
			text += fmt.Sprintf(" of %s (%s)", grouped(*c.Window), percent(*c.Share))
		} else {
			text += "; the model's window is unknown"
		}
		x.fact("context", text)
	}
}
