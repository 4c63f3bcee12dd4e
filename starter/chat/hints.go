package chat

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/starter/client"
)

// trouble is what an error says, with how to go on from here.
func (m *Model) trouble(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*client.Error](err); ok && e.Next != "" {
		text += "; " + e.Next
	}
	return m.cfg.inChat(text)
}

// shell is a command line, in backquotes.
func (c Config) shell(words ...string) string { return "`" + c.Again(words...) + "`" }

var backquoted = regexp.MustCompile("`([^`]+)`")

// inChat has advice for a command line, which stands in backquotes, name the commands of this screen that do the same for
// the session, and all others as a shell takes them.
func (c Config) inChat(text string) string {
	return backquoted.ReplaceAllStringFunc(text, func(span string) string {
		words := strings.Fields(strings.TrimPrefix(strings.Trim(span, "`"), "starter "))
		if len(words) < 2 || words[1] != c.ID {
			return c.shell(words...)
		}
		switch rest := words[2:]; words[0] {
		case "extend":
			return "/extend" + totalsOf(rest)
		case "stop", "pause", "resume":
			return "/" + words[0]
		case "approve", "deny":
			return "/approve"
		case "unsend":
			return strings.TrimSpace("/unsend " + strings.Join(rest, " "))
		case "send":
			return "what you type"
		}
		return c.shell(words...)
	})
}

// totalsOf are the flags of extend as /extend takes them.
func totalsOf(flags []string) string {
	text := ""
	for i, flag := range flags {
		name, isFlag := strings.CutPrefix(flag, "--")
		switch {
		case !isFlag:
		case name == "session":
			text += " session"
		default:
			total := "TOTAL"
			if i+1 < len(flags) && !strings.HasPrefix(flags[i+1], "--") {
				total = flags[i+1]
			}
			text += " " + strings.ReplaceAll(name, "-", "_") + "=" + total
		}
	}
	return text
}

// goOn says how to go on after an execution that did not complete; empty: it takes no more than a message.
func goOn(status domain.ExecutionStatus, reason domain.StopReason, session bool) string {
	if status == domain.StatusFailed {
		return "/extend goes on where it failed"
	}
	var totals []string
	for _, rule := range domain.LimitRules() {
		if rule.Reason == reason && status == domain.StatusStopped {
			totals = append(totals, string(rule.Limit)+"=TOTAL")
		}
	}
	if len(totals) == 0 {
		return ""
	}
	return fmt.Sprintf("/extend %s%s goes on from there", map[bool]string{true: "session "}[session], strings.Join(totals, " or "))
}

// leftBy is how the newest turn ended before this conversation was taken up, where it did not complete.
func leftBy(v account.Status) string {
	why := string(v.StopReason)
	if err := v.Failure(); err != nil {
		why = err.Message
	}
	hint := goOn(v.Status, v.StopReason, v.SessionLimit)
	if hint == "" {
		return ""
	}
	return fmt.Sprintf("turn %d %s (%s); %s", v.Number, v.Status, why, hint)
}
