package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"everstep/domain"
	"everstep/starter/client"
)

// Questions shows questions that wait for a person's answer, whole, and how each is answered.
func Questions(questions []client.WaitingQuestion, now time.Time) string {
	var b strings.Builder
	for _, q := range questions {
		fmt.Fprintf(&b, "%s %s  step %d, %s\n", OneLine(q.ID), ShortCall(q.ToolExecutionID), q.Step, OneLine(q.Tool))
		fmt.Fprintf(&b, "  asked %s ago", Duration(now.Sub(q.AskedAt)))
		if !q.ExpiresAt.IsZero() {
			fmt.Fprintf(&b, ", expires %s", moment(q.ExpiresAt))
			b.WriteString(within(", then holds: ", legible(string(q.Default)), ""))
		}
		b.WriteString("\n")
		for line := range strings.SplitSeq(strings.TrimSpace(Clean(q.Text)), "\n") {
			b.WriteString("  " + line + "\n")
		}
		for i, choice := range q.Choices {
			fmt.Fprintf(&b, "  %d) %s\n", i+1, OneLine(choice))
		}
		if len(q.Schema) > 0 {
			b.WriteString("  a JSON value that fits " + legible(string(q.Schema)) + "\n")
		}
		if q.Bytes > 0 {
			fmt.Fprintf(&b, "  … %s in all; messages %s shows them\n", Counted(int64(q.Bytes), "byte"), OneLine(q.ID))
		}
	}
	return b.String()
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

func pendingQuestionWords(q domain.PendingQuestion) string {
	text := questionWords(q.Question) + " since " + moment(q.AskedAt)
	if !q.ExpiresAt.IsZero() {
		text += ", until " + moment(q.ExpiresAt)
	}
	return text
}

// answerWords say what became of a question; said is what the model has read.
func answerWords(a domain.Answer, said string) string {
	said = shortened(OneLine(said), maxWords)
	switch a.Outcome {
	case "":
		return "asks a person since " + moment(a.AskedAt)
	case domain.NobodyAnswered:
		return "expired " + moment(a.At) + ", answered by nobody"
	case domain.AnsweredByDefault:
		return "expired " + moment(a.At) + ", answered by its default"
	case domain.AnsweredByPerson:
	}
	return joined(" ", "answered", within("by ", OneLine(a.By), ""), moment(a.At)) + within(": ", said, "") + within(" (", OneLine(a.Reason), ")")
}

func asked(e client.Event) string {
	if e.Question == nil {
		return cmp.Or(shortened(legible(e.Arguments), 2*maxWords), "a person")
	}
	return questionWords(*e.Question)
}

func replied(e client.Event) string {
	if e.Answer == nil {
		return "was answered"
	}
	return answerWords(*e.Answer, e.Text)
}
