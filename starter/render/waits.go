package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"everstep/domain"
	"everstep/starter/client"
)

// ShortCall names a call by the first part of its id, which commands take.
func ShortCall(id domain.ToolExecutionID) string {
	short, _, _ := strings.Cut(id.String(), "-")
	return short
}

// pendingWords are a call that waits, in one line.
func pendingWords(w domain.Wait) string {
	if w.Kind.Rule().Outlasts {
		return OneLine(fmt.Sprintf("whether %s took effect%s (execution %d, step %d, call %s)",
			w.Tool, Within(" with ", w.Arguments), w.Execution, w.Step, w.ToolExecutionID))
	}
	return cmp.Or(questionWords(value(w.Ask)), CallWords(w.Tool, w.Arguments)) + " since " + moment(w.Since) + where(!w.Expires.IsZero(), ", until "+moment(w.Expires))
}

// WaitWords say what became of a call that waited, or that it does.
func WaitWords(w domain.Wait) string {
	if w.Answer == nil {
		return "waits for " + w.Kind.Rule().For + " since " + moment(w.Since)
	}
	a := *w.Answer
	switch a.Verdict {
	case domain.Expired:
		return "expired " + moment(a.At) + ", " + string(w.Kind.Rule().Answers[0].Verdict) + " by nobody"
	case domain.AnsweredByDefault:
		return "expired " + moment(a.At) + ", answered by its default"
	case domain.AnsweredByPerson:
		return answerWords(w, string(a.Verdict)) + Within(": ", shortened(OneLine(a.Content), maxWords)) + Within(" (", OneLine(a.Reason), ")")
	case domain.VerdictDone, domain.VerdictNotDone:
		return answerWords(w, "resolved as "+strings.ReplaceAll(string(a.Verdict), "_", " ")) + Within(": ", OneLine(a.Reason))
	case domain.Approved, domain.WasDenied:
	}
	text := answerWords(w, string(a.Verdict))
	if !a.Edited.IsZero() {
		text += ", with other arguments than " + shortened(legible(w.Arguments), maxWords)
	}
	if !a.Always.IsZero() {
		text += ", always (" + ShortCall(a.Always) + ")"
	}
	return text + Within(": ", OneLine(a.Reason))
}

// answerWords say who has answered, how and when.
func answerWords(w domain.Wait, verdict string) string {
	return Joined(" ", verdict, Within("by ", OneLine(w.Answer.By)), moment(w.Answer.At))
}

// opened is what an event tells of a call that waits for a person, and closed of one that did, for Notice to clean.
func opened(e client.Event) string {
	switch w, rule := e.Wait, e.Wait.Kind.Rule(); {
	case !rule.Outlasts && !rule.Replies:
		return CallWords(e.Tool, e.Arguments) + " waits for " + rule.For
	case rule.Outlasts:
		return "nobody knows whether " + e.Tool + " took effect"
	case w.Ask != nil:
		return e.Tool + " asks: " + questionWords(*w.Ask)
	}
	return e.Tool + " asks: " + cmp.Or(shortened(legible(e.Arguments), 2*maxWords), "a person")
}

func closed(e client.Event) string {
	w := *e.Wait
	switch rule := w.Kind.Rule(); {
	case rule.Outlasts:
		return "" // the model is told, which shows
	case rule.Replies:
		w.Answer = new(*w.Answer)
		w.Answer.Content = e.Text
		return e.Tool + " " + WaitWords(w)
	}
	return CallWords(e.Tool, e.Arguments) + " " + WaitWords(w)
}

// StandingApproval shows in one line which calls are always allowed, and by whose word.
func StandingApproval(a domain.StandingApproval) string {
	text := fmt.Sprintf("%s %s, by %s %s%s", ShortCall(a.ID), CallWords(a.Tool, a.Arguments), OneLine(a.By), moment(a.At), Within(": ", OneLine(a.Reason)))
	if r := a.Revocation; r != nil {
		text += fmt.Sprintf("; revoked by %s %s%s", OneLine(r.By), moment(r.At), Within(": ", OneLine(r.Reason)))
	}
	return text
}

// StandingApprovals shows those of an agent that hold, a line each, and what takes one back.
func StandingApprovals(id string, all []domain.StandingApproval) string {
	holding := slices.DeleteFunc(slices.Clone(all), func(a domain.StandingApproval) bool { return a.Revocation != nil })
	if len(holding) == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, by which calls run unasked (revoke %s RULE takes one back):\n", Counted(len(holding), "standing approval"), OneLine(id))
	for _, a := range holding {
		text += "  " + StandingApproval(a) + "\n"
	}
	return text
}

// Waiting shows the calls that wait for a person, with the whole of what would run or is asked, and the answers that there are.
func Waiting(calls []client.WaitingCall, now time.Time) (text string) {
	for _, c := range calls {
		ask, rule := value(c.Ask), c.Kind.Rule()
		since := "asked " + Duration(now.Sub(c.Since)) + " ago" + Within(" by ", OneLine(c.AskedBy)) + Within(", expires ", moment(c.Expires)) +
			where(!c.Expires.IsZero(), Within(", then holds: ", legible(string(ask.Default))))
		if rule.Outlasts {
			since = rule.Cause + ", since " + moment(c.Since) + "; " + strings.Join(rule.Commands(), " or ") + " says so"
		}
		lines := []string{since, legible(c.Arguments), strings.ReplaceAll(strings.TrimSpace(Clean(ask.Text)), "\n", "\n  ")}
		for i, choice := range ask.Choices {
			lines = append(lines, fmt.Sprintf("%d) %s", i+1, OneLine(choice)))
		}
		lines = append(lines, Within("a JSON value that fits ", legible(string(ask.Schema))), Within("… ", Some(c.Bytes, "byte"), " in all; messages "+OneLine(c.ID)+" shows them"))
		text += fmt.Sprintf("%s %s  step %d, %s\n  %s\n", OneLine(c.ID), ShortCall(c.ToolExecutionID), c.Step, OneLine(c.Tool), Joined("\n  ", lines...))
	}
	return text
}

// questionWords are a question in one line.
func questionWords(q domain.Question) string {
	text := shortened(OneLine(q.Text), 2*maxWords)
	for i, choice := range q.Choices {
		text += fmt.Sprintf(" %d) %s", i+1, shortened(OneLine(choice), 64))
	}
	if len(q.Schema) > 0 {
		text += " (as JSON)"
	}
	return text
}

// blanks are letters and symbols that show as nothing, though Unicode neither ignores them nor calls them spaces: the
// empty pattern of Braille, the null notehead, the blanks of Egyptian hieroglyphs and the filler of Khitan.
func blanks() []rune { return []rune{0x2800, 0x1d159, 0x13441, 0x13442, 0x16fe4} }

// legible are arguments as a person can judge them: white space between the tokens of JSON scrolls nothing away, and what
// shows as nothing is written as its escape.
func legible(arguments string) string {
	var b strings.Builder
	quoted, escaped, space := false, false, false
	for _, r := range arguments {
		if !quoted && strings.ContainsRune(" \t\r\n", r) {
			space = true
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		switch {
		case escaped:
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		}
		if unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) && !slices.Contains(blanks(), r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
