package render

import (
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

func pendingWords(p domain.PendingApproval) string {
	text := CallWords(p.Tool, legible(p.Arguments)) + " since " + moment(p.AskedAt)
	if !p.ExpiresAt.IsZero() {
		text += ", until " + moment(p.ExpiresAt)
	}
	return text
}

func decisionOf(e client.Event) string {
	if e.Approval == nil {
		return "was decided"
	}
	return decisionWords(*e.Approval)
}

// decisionWords say what became of the question whether a call may run.
func decisionWords(a domain.Approval) string {
	switch a.Decision {
	case "":
		return "waits for approval since " + moment(a.AskedAt)
	case domain.Expired:
		return "expired " + moment(a.At) + ", approved by nobody"
	case domain.Approved, domain.WasDenied:
	}
	text := string(a.Decision)
	if a.By != "" {
		text += " by " + OneLine(a.By)
	}
	text += " " + moment(a.At)
	if !a.Edited.IsZero() {
		text += ", with other arguments than " + shortened(legible(a.Asked), maxWords)
	}
	if !a.Standing.IsZero() {
		text += ", always (" + ShortCall(a.Standing) + ")"
	}
	if a.Reason != "" {
		text += ": " + OneLine(a.Reason)
	}
	return text
}

// StandingApproval shows in one line which calls are always allowed, and by whose word.
func StandingApproval(a domain.StandingApproval) string {
	text := fmt.Sprintf("%s %s, by %s %s%s", ShortCall(a.ID), CallWords(a.Tool, legible(a.Arguments)), OneLine(a.By), moment(a.At), within(": ", OneLine(a.Reason), ""))
	if r := a.Revocation; r != nil {
		text += fmt.Sprintf("; revoked by %s %s%s", OneLine(r.By), moment(r.At), within(": ", OneLine(r.Reason), ""))
	}
	return text
}

// StandingApprovals shows those of an agent that hold, a line each, and what takes one back.
func StandingApprovals(id string, all []domain.StandingApproval) string {
	holding := slices.DeleteFunc(slices.Clone(all), func(a domain.StandingApproval) bool { return a.Revocation != nil })
	if len(holding) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, by which calls run unasked (revoke %s RULE takes one back):\n", Counted(int64(len(holding)), "standing approval"), OneLine(id))
	for _, a := range holding {
		b.WriteString("  " + StandingApproval(a) + "\n")
	}
	return b.String()
}

// Waiting shows tool calls that wait for a person's word, with the whole of what would run.
func Waiting(calls []client.WaitingCall, now time.Time) string {
	var b strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&b, "%s %s  step %d, %s\n", OneLine(c.ID), ShortCall(c.ToolExecutionID), c.Step, OneLine(c.Tool))
		fmt.Fprintf(&b, "  asked %s ago", Duration(now.Sub(c.AskedAt)))
		if c.Rule != "" {
			fmt.Fprintf(&b, " by %s", OneLine(c.Rule))
		}
		if !c.ExpiresAt.IsZero() {
			fmt.Fprintf(&b, ", expires %s", moment(c.ExpiresAt))
		}
		b.WriteString("\n")
		if !c.Known() {
			b.WriteString("  the arguments that would run are known to a worker alone: a hook has changed them\n")
		}
		if c.Arguments != "" {
			b.WriteString("  " + legible(c.Arguments) + "\n")
		}
		if c.Bytes > 0 {
			fmt.Fprintf(&b, "  … %s in all; messages %s shows them\n", Counted(int64(c.Bytes), "byte"), OneLine(c.ID))
		}
	}
	return b.String()
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
