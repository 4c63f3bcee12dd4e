package main

import (
	"fmt"
	"strings"
	"time"

	"everstep/domain"
	"everstep/starter/client"
)

// An explainer writes an explanation for people, each fact under its name.
type explainer struct {
	b     strings.Builder
	theme theme
	now   time.Time
}

func explainText(t theme, v client.ExplainView, now time.Time) string {
	x := &explainer{theme: t, now: now}
	fmt.Fprintf(&x.b, "%s %s · execution %d · %s\n", t.glyph(v.Status), t.head(oneLine(v.ID)), v.Number, v.Status)
	x.why(v)
	x.when(v)
	if v.Model != nil {
		x.fact("model", oneLine(*v.Model))
	}
	if v.Origin != nil {
		x.fact("goes on", "from execution "+v.Origin.String())
	}
	x.steps(v)
	x.waste(v.Waste)
	x.budget(v)
	x.history(v)
	for _, advice := range v.Advice {
		x.fact("to do", oneLine(advice.Text))
		if advice.Command != "" {
			x.fact("", t.name(oneLine(advice.Command)))
		}
	}
	for i, missing := range v.Missing {
		name := ""
		if i == 0 {
			name = "not told"
		}
		x.fact(name, t.warn(oneLine(missing)))
	}
	return x.b.String()
}

// fact writes a line under a name; lines after the first have none.
func (x *explainer) fact(name, text string) {
	if text != "" {
		fmt.Fprintf(&x.b, "  %s %s\n", x.theme.faint(fmt.Sprintf("%-9s", name)), text)
	}
}

func (x *explainer) why(v client.ExplainView) {
	if d := v.Doing; d != nil {
		text := oneLine(d.Text)
		switch {
		case d.Paused && text == "paused":
			text = x.theme.warn(text)
		case d.Paused:
			text = x.theme.warn("paused") + " · " + text
		}
		if d.Since != nil && x.now.After(*d.Since) {
			text += ", for " + duration(x.now.Sub(*d.Since))
		}
		x.fact("doing", text)
		x.signals(d.Signals)
		return
	}
	if v.Ending == nil {
		return
	}
	x.fact("why", oneLine(v.Ending.Summary))
	words := "reason " + string(v.Ending.StopReason)
	if s := v.Ending.Signal; s != nil && s.Source != "" {
		words += ", signalled by " + oneLine(s.Source)
	}
	if e := v.Ending.Error; e != nil {
		words += ", error " + string(e.Kind)
		if e.Code != "" {
			words += " (" + string(e.Code) + ")"
		}
		if e.Source != "" {
			words += " in " + oneLine(e.Source)
		}
	}
	x.fact("", x.theme.faint(words))
	x.signals(v.Ending.Others)
}

// signals writes the signals that did not end the execution.
func (x *explainer) signals(signals []client.ExplainSignal) {
	for i, s := range signals {
		if i == shownSignals {
			x.fact("", more(len(signals)-i, "signal"))
			return
		}
		words := string(s.Reason)
		if s.Source != "" {
			words += " by " + oneLine(s.Source)
		}
		if s.Message != "" {
			words += ": " + oneLine(s.Message)
		}
		x.fact("", fmt.Sprintf("also %s · %s", words, fateWords(s.Fate)))
	}
}

func fateWords(fate client.SignalFate) string {
	switch fate {
	case client.SignalCounted:
		return "it counted"
	case client.SignalOutranked:
		return "did not count: another one ranks higher, or came first"
	case client.SignalOverridden:
		return "overridden by a request to continue"
	case client.SignalLate:
		return "came too late to count"
	case client.SignalPending:
		return "will end it"
	}
	return string(fate)
}

func (x *explainer) when(v client.ExplainView) {
	if v.StartedAt == nil {
		return
	}
	text := moment(*v.StartedAt)
	switch {
	case v.Milliseconds != nil:
		text += ", took " + millis(*v.Milliseconds)
	case v.Doing != nil && x.now.After(*v.StartedAt):
		text += ", running for " + duration(x.now.Sub(*v.StartedAt))
	}
	x.fact("began", text)
}

func (x *explainer) waste(w client.ExplainWaste) {
	name := "waste"
	add := func(text string) {
		x.fact(name, text)
		name = ""
	}
	if w.FailedAttempts > 0 {
		text := counted(int64(w.FailedAttempts), "failed attempt") + ": " + tokens(w.Usage.TotalTokens, w.Usage.Estimated)
		if w.Share != nil {
			text += fmt.Sprintf(" (%s of all)", percent(*w.Share))
		}
		if money := costWords(w.CostNanoUSD); money != "" {
			text += ", " + money
		}
		add(text)
	}
	for i, r := range w.Repeated {
		if i == shownRepeats {
			add(more(len(w.Repeated)-i, "repeated call"))
			break
		}
		add(fmt.Sprintf("%s %s: %d times with the same result, about %s again · %s", oneLine(r.Tool),
			shortened(oneLine(r.Arguments), maxWords), r.Times, counted(r.ResultTokens, "token"), inSteps(r.Steps)))
	}
	if len(w.ErrorSteps) > 0 {
		add("errors " + inSteps(w.ErrorSteps))
	}
	if name != "" {
		add("none")
	}
}

// inSteps names steps, the first of many.
func inSteps(numbers []int) string {
	words := make([]string, 0, shownNumbers+1)
	for i, n := range numbers {
		if i == shownNumbers {
			words = append(words, fmt.Sprintf("… and %d more", len(numbers)-i))
			break
		}
		words = append(words, grouped(int64(n)))
	}
	noun := "step "
	if len(numbers) > 1 {
		noun = "steps "
	}
	return "in " + noun + strings.Join(words, ", ")
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

func more(n int, noun string) string { return "… and " + counted(int64(n), "more "+noun) }

func millis(ms int64) string { return duration(time.Duration(ms) * time.Millisecond) }

func percent(share float64) string { return fmt.Sprintf("%.1f %%", share*100) }

func tokens(n int64, estimated bool) string {
	if estimated {
		return "~" + counted(n, "token")
	}
	return counted(n, "token")
}

// costWords is a cost in dollars; empty where nobody can tell.
func costWords(nano *int64) string {
	if nano == nil {
		return ""
	}
	return "$" + domain.USD(*nano)
}
