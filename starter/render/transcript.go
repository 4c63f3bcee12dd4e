package render

import (
	"cmp"
	"fmt"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// A StepLine is a step with its cost, which is nil where nobody knows it, as text and as JSON.
type StepLine struct {
	domain.StepExecution
	CostNanoUSD *int64 `json:"cost_nano_usd"`
}

// Step is a step of an execution; priced says that its model has a price.
func Step(s domain.StepExecution, priced bool) StepLine {
	return StepLine{s, domain.KnownCost(s.Step.CostNanoUSD, s.Usage().TotalTokens(), priced)}
}

// Text is the step in one line.
func (s StepLine) Text(t Theme) string {
	finish, _ := s.Step.FinishReason()
	text := OneLine(s.Step.Text())
	parts := []string{
		fmt.Sprintf("%3d  %-14s  %8s", s.Step.Number, s.Step.Type(), Duration(s.Duration())),
		Used("  ", s.Usage(), s.CostNanoUSD),
		where(s.Step.Tries > 1, fmt.Sprintf("%d tries", s.Step.Tries)), string(finish), where(s.Step.Interrupted, t.Warn("interrupted")),
	}
	for _, call := range s.Step.ToolExecutions {
		words := OneLine(call.Name())
		if call.HasError() {
			words = t.Bad(words + "!")
		}
		parts = append(parts, words)
	}
	return Joined("  ", append(parts, where(text != "", t.Faint(shortened(text, 80))))...)
}

// A SaidMessage is a message with why the model sees it no more, as text and as JSON.
type SaidMessage struct {
	domain.Entry
	// TakenBack and Cleared say that a rewind or a clear has taken it back, Summarised that a summary stands for it.
	TakenBack  bool `json:"taken_back,omitzero"`
	Cleared    bool `json:"cleared,omitzero"`
	Summarised bool `json:"summarised,omitzero"`
}

// Said is a message of a transcript, with what has become of it.
func Said(e domain.Entry, edits domain.Edits) SaidMessage {
	mark := edits.Mark(&e)
	return SaidMessage{Entry: e, TakenBack: mark == domain.MarkTakenBack, Cleared: mark == domain.MarkCleared, Summarised: mark == domain.MarkSummarised}
}

// Text is the message for people.
func (m SaidMessage) Text(t Theme) string {
	text := Message(t, m.Entry)
	why := where(m.TakenBack, "taken back") + where(m.Cleared, "cleared") + where(m.Summarised, "summed up")
	if why == "" {
		return text
	}
	head, body, _ := strings.Cut(text, "\n")
	return head + t.Faint(" ("+why+": the model sees it no more)") + "\n" + body
}

// Message is a message under a line that says whose it is.
func Message(t Theme, e domain.Entry) string {
	var b strings.Builder
	head := fmt.Sprintf("%d %s", e.Index, e.Message.Role)
	if result := e.Message.ToolResult; result != nil {
		head += " " + OneLine(result.Name)
	}
	fmt.Fprintf(&b, "%s\n", t.name(head))
	body := func(text string) {
		b.WriteString("  " + strings.ReplaceAll(strings.TrimRight(Clean(text), "\n"), "\n", "\n  ") + "\n")
	}
	for _, part := range e.Message.Parts {
		switch {
		case part.Type == domain.PartText:
			body(part.Text)
		case e.Message.ToolResult == nil: // a result names its own
			body(part.Note())
		}
	}
	for _, call := range e.Message.ToolCalls {
		body("→ " + OneLine(call.Name) + " " + legible(call.Arguments))
	}
	if result := e.Message.ToolResult; result != nil {
		if result.IsError {
			body("error:")
		}
		body(result.Content)
	}
	return b.String()
}

// A ResultJSON is a result with its cost.
type ResultJSON struct {
	client.Result
	CostNanoUSD *int64 `json:"cost_nano_usd"` // null where nobody knows it
}

// Result adds what an execution cost. Of one that the server has ended, and of which nobody tells what it used, that is unknown.
func Result(r client.Result) ResultJSON {
	o := r.Outcome
	if byServer := o.Code == domain.CodeTerminated || o.Code == domain.CodeTimedOut; byServer && o.Usage.TotalTokens() == 0 {
		return ResultJSON{Result: r}
	}
	return ResultJSON{Result: r, CostNanoUSD: o.Cost()}
}

// RawAnswer says of an answer that it was read from the history of another build, where nobody tells the result.
func RawAnswer(r client.Result) string {
	wrote := cmp.Or(Within("build ", OneLine(r.Build)), "another build")
	text := fmt.Sprintf("no worker answers, and this build cannot replay the history that %s has written: ", wrote)
	if r.Event == 0 {
		return text + "no inference can be read in it"
	}
	return text + fmt.Sprintf("the answer is that of the last inference in it (event %d), and may not be the final one", r.Event)
}

// Failure is an error for people, with who it came from.
func Failure(e *domain.Error) string {
	text := OneLine(e.Message)
	// Providers begin their words with their names.
	if source := OneLine(e.Source); source != "" && !strings.HasPrefix(text, source+":") {
		text = source + ": " + text
	}
	return text
}

// LeftBehind is what an execution that did not complete has said and done, a line each: what it said last, where it has no
// answer, and how often each tool that does something was called. None where there is nothing of it.
func LeftBehind(r client.Result) (lines []string) {
	if r.Outcome.Status == domain.StatusCompleted {
		return nil
	}
	if said := OneLine(r.SaidLast); said != "" {
		short := domain.Shorten(said, 500)
		lines = append(lines, "said last: "+short+where(short != said, "… (--json has more)"))
	}
	if done := Effects(r.Outcome.EffectCounts); done != "" {
		lines = append(lines, "has done: "+done)
	}
	return lines
}

// Effects names the calls that did something, by tool; empty where it is known that there were none.
func Effects(e domain.EffectCounts) string {
	var parts []string
	for _, call := range e.Calls {
		counts := Joined(" and ", where(call.Done > 0, grouped(call.Done)), where(call.Unknown > 0, grouped(call.Unknown)+" of unknown outcome"))
		parts = append(parts, OneLine(call.Tool)+" "+counts)
	}
	if e.Unknown {
		parts = append(parts, "what a sub-agent that was lost has done nobody knows")
	}
	return strings.Join(parts, ", ")
}

// Stopped says what stopped an execution; empty where there is no more to say.
func Stopped(r client.Result, shown bool) string {
	if r.Outcome.Status != domain.StatusStopped {
		return ""
	}
	message := ""
	if r.Signal != nil {
		message = OneLine(r.Signal.Message)
		if canGoOn := r.Source == contract.FromWorkflow || r.Source == contract.FromHistory; canGoOn {
			message = Joined("; ", message, r.Signal.GoOn())
		}
	}
	if shown {
		return Within("  ", message)
	}
	return "stopped" + Within(" (", endedBy("", r.Outcome.StopReason, r.Outcome.SessionLimit), ")") + Within(": ", message)
}

// NotUndone says which effects a rewind has not undone; empty: none.
func NotUndone(x client.Rewound) string {
	const shown = 8
	var calls []string
	for _, call := range x.Since[:min(len(x.Since), shown)] {
		calls = append(calls, OneLine(fmt.Sprintf("%s (execution %d, step %d%s)", call.Tool, call.Number, call.Step, where(call.Outcome != domain.ToolOK, ", "+string(call.Outcome)))))
	}
	if more := len(x.Since) - len(calls); more > 0 {
		calls = append(calls, fmt.Sprintf("and %d more", more))
	}
	var parts []string
	if len(calls) > 0 {
		parts = append(parts, fmt.Sprintf("not undone, since only the conversation is rewound: %s that may have had effects: %s", Counted(len(x.Since), "call"), strings.Join(calls, ", ")))
	}
	if x.Untold {
		parts = append(parts, "steps since can no longer be read, in which there may be further calls with effects")
	}
	return strings.Join(parts, "; ")
}
