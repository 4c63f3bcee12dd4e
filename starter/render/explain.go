package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// Explanation is an explanation for people.
func Explanation(out *Output, v client.ExplainView, now time.Time) string {
	x := newDetails(out.Theme, now, v.ID, v.Number, v.Status, string(v.Status))
	x.why(v)
	x.when(v)
	x.fact("model", ModelName(value(v.Model)))
	x.fact("branched", branchText(v.BranchedFrom, v.AgentID, v.OriginNumber))
	if v.Origin != nil && v.BranchedFrom == nil {
		x.fact("goes on", "from execution "+executionWords(v.OriginNumber, *v.Origin))
	}
	x.fact("trusted", trustedText(v.Trusted))
	given := value(v.Given) // of the metadata keys, no values
	x.fact("given", Joined("; ", Within("", Some(given.Messages, "message"), " before the prompt"), Within("metadata ", OneLine(strings.Join(given.Metadata, ", ")))))
	for _, change := range v.Changes {
		x.fact("changed", Change(change))
	}
	x.fact("messages", Within("", Some(v.Messages, "message"), " joined while it went on"))
	for _, s := range v.Sessions {
		text := sessionWords(s.Server, s.Worker, s.Since)
		if s.EndedAt != nil {
			text += ", gone since " + moment(*s.EndedAt) + ": " + s.Reason
		}
		x.fact("session", OneLine(text))
	}
	x.fact("to do", todoLines(v.Todo)...)
	x.fact("steps", totalWords(v))
	x.steps(v, out.Width())
	x.fact("waste", wasted(v.Waste)...)
	x.fact("budget", where(v.Budget == nil, "unknown"), where(v.Budget != nil && len(v.Budget) == 0, "no limit is set"))
	x.limits("budget", v.Budget)
	x.limits("session", v.SessionBudget)
	x.fact("grants", grantLines(v.Grants)...)
	x.history(v)
	for _, advice := range v.Advice {
		x.fact("to do", OneLine(advice.Text))
		if advice.Command != "" {
			x.fact("", out.Theme.name(OneLine(advice.Command)))
		}
	}
	x.fact("not told", facts(v.Missing, func(text string) string { return out.Theme.Warn(OneLine(text)) })...)
	return x.String()
}

func (x *details) why(v client.ExplainView) {
	if d := v.Doing; d != nil {
		text := OneLine(d.Text)
		if d.Paused {
			text = Joined(" · ", x.theme.Warn("paused"), where(text != "paused", text))
		}
		x.fact("doing", text+lasting(value(d.Since), x.now))
	}
	if end := v.Ending; end != nil {
		x.fact("why", OneLine(end.Summary))
		words := "reason " + string(end.StopReason) + Within(", signalled by ", OneLine(value(end.Signal).Source))
		if e := end.Error; e != nil {
			words += ", error " + string(e.Kind) + Within(" (", string(e.Code), ")") + Within(" in ", OneLine(e.Source))
		}
		x.fact("", x.theme.Faint(words))
	}
	for _, s := range v.Signals[:min(len(v.Signals), shownSignals)] {
		words := string(s.Reason) + Within(" by ", OneLine(s.Source)) + Within(": ", OneLine(s.Message))
		x.fact("", fmt.Sprintf("also %s · %s", words, fateWords(s.Fate)))
	}
	if unkept := v.MoreStops + max(len(v.Signals)-shownSignals, 0); unkept > 0 {
		x.fact("", more(unkept, "signal"))
	}
}

func fateWords(fate client.SignalFate) string {
	words := map[client.SignalFate]string{
		client.SignalOutranked:  "did not count: another one ranks higher, or came first",
		client.SignalOverridden: "overridden by a request to continue",
		client.SignalLate:       "came too late to count",
		client.SignalPending:    "will end it",
	}
	return words[fate]
}

func (x *details) when(v client.ExplainView) {
	if v.StartedAt == nil {
		return
	}
	text := moment(*v.StartedAt)
	switch {
	case v.Milliseconds != nil:
		text += ", took " + millis(*v.Milliseconds)
	case v.Doing != nil && x.now.After(*v.StartedAt):
		text += ", running for " + Duration(x.now.Sub(*v.StartedAt))
	}
	x.fact("began", text)
}

func wasted(w client.ExplainWaste) []string {
	var lines []string
	if w.FailedAttempts > 0 {
		text := Counted(w.FailedAttempts, "failed attempt") + ": " + tokens(w.Usage)
		if w.Share != nil {
			text += fmt.Sprintf(" (%.1f %% of all)", *w.Share*100)
		}
		lines = append(lines, text+costAfter(w.CostNanoUSD, w.Usage))
	}
	for i, r := range w.Repeated {
		if i == shownRepeats {
			lines = append(lines, more(len(w.Repeated)-i, "repeated call"))
			break
		}
		lines = append(lines, fmt.Sprintf("%s %s: %d times with the same result, about %s again · %s", OneLine(r.Tool),
			shortened(legible(r.Arguments), maxWords), r.Times, Counted(r.ResultTokens, "token"), inSteps(r.Steps)))
	}
	if len(w.ErrorSteps) > 0 {
		lines = append(lines, "errors "+inSteps(w.ErrorSteps))
	}
	if len(lines) == 0 {
		return []string{"none"}
	}
	return lines
}

func inSteps(numbers []int) string {
	words := make([]string, 0, shownNumbers+1)
	for i, n := range numbers {
		if i == shownNumbers {
			words = append(words, fmt.Sprintf("… and %d more", len(numbers)-i))
			break
		}
		words = append(words, grouped(n))
	}
	return "in step" + where(len(numbers) > 1, "s") + " " + strings.Join(words, ", ")
}

// What is shown of lists that may be long.
const (
	shownSignals = 10
	shownRepeats = 10
	shownNumbers = 12
	shownTools   = 12
	// Of many steps the first and the last are shown.
	shownSteps = 60
	keptEnds   = 20
)

// limits writes those of a budget under a name.
func (x *details) limits(name string, limits []client.ExplainLimit) {
	x.fact(name, facts(limits, func(l client.ExplainLimit) string {
		if l.Reached {
			return x.theme.Warn(x.limit(l) + " · reached")
		}
		return x.limit(l)
	})...)
}

func (x *details) limit(l client.ExplainLimit) string {
	if l.Deadline != nil {
		text := "deadline: " + moment(*l.Deadline)
		if left := l.Deadline.Sub(x.now); left > 0 {
			return text + ", " + Duration(left) + " left"
		}
		return text + ", passed"
	}
	text := fmt.Sprintf("%s %s%s: %s used", l.Limit, limitWords(l.Unit, l.Total), where(l.Default, " by default"), limitWords(l.Unit, l.Used))
	if l.Prior != nil && *l.Prior > 0 {
		text += ", " + limitWords(l.Unit, l.Prior) + " before it"
	}
	return text + ", " + limitWords(l.Unit, l.Left) + " left"
}

func (x *details) steps(v client.ExplainView, columns int) {
	if len(v.Steps) == 0 {
		return
	}
	t := Table{Head: []string{"", "step", "type", "at", "took", "in", "cached", "out", "reasoning", "cost", "finish"}}
	for _, s := range v.Steps {
		t.Rows = append(t.Rows, stepCells(s, v.StartedAt))
	}
	widths := t.widths(columns)
	x.WriteString(t.line(t.Head, widths, x.theme.Faint))
	for i, s := range v.Steps {
		if hidden := len(v.Steps) - 2*keptEnds; len(v.Steps) > shownSteps && i >= keptEnds && i < keptEnds+hidden {
			if i == keptEnds {
				x.printf("    %s\n", x.theme.Faint(more(hidden, "step")+"; --json has them all"))
			}
			continue
		}
		paint := plain
		switch {
		case s.InProgress:
			paint = x.theme.name
		case value(s.Type) == domain.StepError:
			paint = x.theme.Warn
		}
		x.WriteString(t.line(t.Rows[i], widths, paint))
		x.inside(s)
	}
}

func stepCells(s client.ExplainStep, began *time.Time) []string {
	kind := cmp.Or(string(value(s.Type)), "in progress") + where(s.Interrupted, ", cut off")
	at, took := "", "?"
	if began != nil && s.StartedAt != nil {
		at = "+" + Duration(s.StartedAt.Sub(*began))
	}
	if s.Milliseconds != nil {
		took = millis(*s.Milliseconds)
	} else if s.InProgress {
		took = "…"
	}
	return []string{
		"", grouped(s.Number), kind, at, took, where(s.Usage.Estimated, "~") + grouped(s.Usage.InputTokens), grouped(s.Usage.CacheReadTokens),
		grouped(s.Usage.OutputTokens), grouped(s.Usage.ReasoningTokens), costOfUse(s.CostNanoUSD, s.Usage), string(value(s.FinishReason)),
	}
}

func (x *details) inside(s client.ExplainStep) {
	line := func(text string) { x.printf("        %s\n", text) }
	if s.QueuedMilliseconds > 0 {
		line(x.theme.Faint("waited " + millis(s.QueuedMilliseconds) + " for its turn (rate limit)"))
	}
	for _, r := range s.Retries {
		line(x.theme.Warn(Counted(r.Attempts, "failed attempt") + " · " + tokens(r.Usage) + costAfter(r.CostNanoUSD, r.Usage) +
			": " + OneLine(r.Reason) + Within(" (", string(value(r.Code)), ")")))
	}
	for _, c := range s.Compactions {
		text := fmt.Sprintf("compacted: the messages before message %s are summed up · %s", grouped(c.Before), tokens(c.Usage))
		if c.Kind == client.CompactionCleared {
			text = fmt.Sprintf("compacted: the results of tools before message %s are shown by a note", grouped(c.Before))
		}
		line(x.theme.Faint(text))
	}
	for i, tool := range s.Tools {
		folded := i >= shownTools && len(s.Tools) > shownTools+1
		if folded && i == shownTools {
			line(more(len(s.Tools)-i, "call"))
		}
		if !folded || tool.Error != nil { // what did not go well is told
			line(x.toolLine(tool, s.InProgress))
		}
	}
	for _, e := range s.Errors {
		line(x.theme.Bad("error " + cmp.Or(string(e.Code), string(e.Kind)) + ": " + OneLine(e.Message)))
	}
}

func (x *details) toolLine(tool client.ExplainTool, goesOn bool) string {
	took := ""
	if tool.Milliseconds != nil {
		took = millis(*tool.Milliseconds)
	}
	asked, resolved := "", ""
	for _, w := range tool.Waits {
		if w.Kind.Rule().Outlasts {
			resolved = WaitWords(w)
			continue
		}
		words := WaitWords(w)
		if w.Answer == nil && !goesOn {
			words = "nobody answered what was asked " + moment(w.Since)
		}
		asked = Joined(" · ", asked, words)
	}
	outcome := strings.ReplaceAll(string(tool.Outcome), "_", " ")
	text := Joined(" · ", CallWords(tool.Tool, tool.Arguments), asked, took, where(tool.Attempts > 1, Counted(tool.Attempts, "attempt")), outcome, resolved)
	if tool.Error != nil {
		return x.theme.Bad(text + ": " + OneLine(strings.TrimPrefix(tool.Error.Message, outcome+": "))) // which some errors begin with, too
	}
	return text
}

// costAfter is the cost of tokens that led nowhere, behind their number; empty where none were used or nobody knows it.
func costAfter(nano *int64, u domain.Usage) string {
	return where(nano != nil && u.TotalTokens() > 0, ", "+costOfUse(nano, u))
}

// costOfUse is paidWords for a table.
func costOfUse(nano *int64, u domain.Usage) string {
	if u.TotalTokens() == 0 {
		return "-" // what used none says nothing of the price
	}
	return cmp.Or(paidWords(nano, u), costWords(nano))
}

func totalWords(v client.ExplainView) string {
	t, u := v.Totals, v.Totals.Usage
	used := fmt.Sprintf("%s (%s in, %s cached, %s out, %s reasoning)", tokens(u),
		grouped(u.InputTokens), grouped(u.CacheReadTokens), grouped(u.OutputTokens), grouped(u.ReasoningTokens))
	cost := where(u.TotalTokens() > 0, costOfUse(t.CostNanoUSD, u))
	if t.CostNanoUSD == nil {
		cost = "cost unknown"
	}
	steps := grouped(t.Steps)
	if n := len(v.Steps); n > t.Steps {
		steps += where(v.Steps[n-1].InProgress, ", and one in progress") + where(v.Steps[n-1].Interrupted, ", and one that was cut off")
	}
	return Joined(" · ", steps, where(u.TotalTokens() > 0, used), cost, Some(t.ToolCalls, "tool call"))
}

// history says how long the history of the newest run is and how full the model's window, or what else tells.
func (x *details) history(v client.ExplainView) {
	if v.Source == contract.FromRecords {
		x.fact("history", "none is here: the record of the execution tells"+Within(", which was imported ", moment(value(v.ImportedAt))))
		return
	}
	h := v.History
	x.fact("history", Counted(h.Events, "event")+", "+size(h.Bytes)+where(h.Runs > 1, " in run "+grouped(h.Runs)+" of the chain")+
		where(h.BytesPerStep != nil, " · "+size(value(h.BytesPerStep))+" a step"))
	x.fact("", Within("an operator reset the workflow ", moment(value(h.ResetAt)), ": what was done after that point may be done again"))
	next := fmt.Sprintf("%.1f %% of the way to a new run", h.Share*100)
	switch {
	case h.Unstored != "":
		next = unstoredText(h.Unstored)
	case h.Suggested:
		next = "the server suggests a new run, which begins with the next step"
	case h.StepsLeft != nil:
		next += fmt.Sprintf(" (%s, %s): about %s to go", size(h.ContinueBytes), Counted(h.ContinueEvents, "event"), Counted(*h.StepsLeft, "step"))
	}
	x.fact("", next)
	context := value(v.Context)
	x.fact("context", contextText(context.Tokens, known(context.Window)))
}
