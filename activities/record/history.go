package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"everstep/activities/tool"
	"everstep/domain"
)

const (
	// listedAtOnce and stepsAtOnce bound what the tool shows at once, longestText what it shows of an answer.
	listedAtOnce, stepsAtOnce, longestText = 20, 50, 8 << 10

	historySchema = `{"type":"object","additionalProperties":false,"properties":{
		"number":{"type":"integer","minimum":1,"description":"the execution to be read; leave it out to list them, the newest first"},
		"before":{"type":"integer","minimum":1,"description":"list those before this one"},
		"from_step":{"type":"integer","minimum":1,"description":"the first step wanted; 1 unless given"}}}`
)

// Tool is execution_history. Whose past it reads says the call, and no argument.
func (s *Store) Tool() tool.Tool {
	return tool.FromSpec(domain.ToolSpec{
		Name: domain.HistoryTool, Effect: domain.ReadOnly, Schema: json.RawMessage(historySchema),
		Description: "Reads your own earlier executions in this session, those that have ended: lists them, or shows one with its prompt, answer and steps. Of what was cleared or taken back only the outcome is shown.",
	}, tool.Typed(s.history))
}

type historyArgs struct {
	Number   int `json:"number"`
	Before   int `json:"before"`
	FromStep int `json:"from_step"`
}

func (s *Store) history(ctx context.Context, asked historyArgs) (none tool.Result, _ error) {
	call, ok := tool.ExecutionOf(ctx)
	if !ok || call.Earlier == nil {
		return none, domain.Errorf(domain.Unavailable, "execution_history: the call does not say which session it is of; call again")
	}
	all, err := s.List(ctx, call.AgentID)
	if err != nil {
		return none, err
	}
	var lines []string
	for _, ref := range slices.Backward(all) {
		if asked.Number > 0 && ref.Number != asked.Number || asked.Number == 0 && asked.Before > 0 && ref.Number >= asked.Before {
			continue
		}
		if len(lines) == listedAtOnce {
			lines = append(lines, fmt.Sprintf("there are more: before %d lists those", ref.Number+1))
			break
		}
		r, own, err := s.own(ctx, *call.Earlier, ref)
		switch present := r.present(*call.Earlier); {
		case err != nil:
			return none, err
		case own && asked.Number > 0:
			return tool.Result{Content: present.shown(max(asked.FromStep, 1))}, nil
		case own:
			lines = append(lines, present.line())
		}
	}
	switch {
	case asked.Number > 0:
		return none, domain.Invalidf("number: no execution %d of this session is recorded; leave it out to list those that are", asked.Number)
	case len(lines) == 0:
		return tool.Result{Content: "no earlier execution of this session is recorded"}, nil
	}
	return tool.Result{Content: strings.Join(lines, "\n")}, nil
}

// own reads a record, and reports whether it is of the past that the call may read. What came out of a file is not: whoever
// wrote that could have the agent believe anything.
func (s *Store) own(ctx context.Context, past domain.EarlierExecutions, ref Ref) (Record, bool, error) {
	r, err := s.Get(ctx, ref)
	if errors.Is(err, ErrNone) {
		return r, false, nil
	}
	return r, err == nil && r.Imported.IsZero() && past.Holds(ref.AgentID, ref.ExecutionID, ref.Number), err
}

// A presentRecord is a record as its agent may read it: what is on the present path of the session.
type presentRecord struct {
	Record
	// outcome is how the execution ended.
	outcome string
	// goneText says why nothing of the text may be read, goneAfter why nothing after its steps may.
	goneText, goneAfter string
}

// present is what of the record is on the present path.
func (r Record) present(past domain.EarlierExecutions) presentRecord {
	p := presentRecord{Record: r, outcome: fmt.Sprintf("execution %d: %s (%s), %d steps, ended %s", r.Number, r.Status, r.StopReason, len(r.Steps), r.CompletedAt.Format(time.RFC3339))}
	edits := domain.Edits{TakenBack: past.TakenBack}
	span, back := edits.Tail(r.MessagesFrom, r.MessagesTo)
	switch {
	case !back:
	case span.Cleared:
		p.goneText = "the conversation was cleared since"
	case span.From <= r.MessagesFrom:
		p.goneText = "a rewind has taken it back"
	default:
		p.goneAfter = fmt.Sprintf("a rewind has taken back what came after step %d", span.AfterStep)
		p.Messages = edits.OnPath(r.Messages)
		p.Steps = slices.DeleteFunc(slices.Clone(r.Steps), func(s domain.StepExecution) bool { return s.Step.Number > span.AfterStep })
	}
	return p
}

func (p presentRecord) line() string {
	switch {
	case p.goneText != "":
		return p.outcome + "; " + p.goneText
	case p.goneAfter != "":
		return fmt.Sprintf("%s; asked: %q; %s", p.outcome, domain.Shorten(p.prompt(), 120), p.goneAfter)
	}
	return fmt.Sprintf("%s; asked: %q; answered: %q", p.outcome, domain.Shorten(p.prompt(), 120), domain.Shorten(p.Ended.Answer, 120))
}

// prompt is what began the execution, where a message did.
func (r Record) prompt() string {
	for _, e := range r.Messages {
		if e.Message.Role == domain.RoleUser {
			return e.Message.Text()
		}
	}
	return ""
}

// shown is what may be read of the record from a step on.
func (p presentRecord) shown(from int) string {
	if p.goneText != "" {
		return p.outcome + "\n" + p.goneText
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nasked: %s\n", p.outcome, domain.Shorten(p.prompt(), longestText))
	if p.goneAfter != "" {
		fmt.Fprintln(&b, p.goneAfter)
	} else {
		if p.Ended.Error != nil {
			fmt.Fprintf(&b, "error: %s\n", domain.Shorten(p.Ended.Error.Message, 500))
		}
		fmt.Fprintf(&b, "answered: %s\n", domain.Shorten(p.Ended.Answer, longestText))
	}
	shown := 0
	for _, step := range p.Steps {
		if step.Step.Number < from {
			continue
		}
		if shown++; shown > stepsAtOnce {
			fmt.Fprintf(&b, "there are more steps: from_step %d shows them\n", step.Step.Number)
			break
		}
		fmt.Fprintf(&b, "step %d: %s", step.Step.Number, step.Step.Type())
		for i, x := range step.Step.ToolExecutions {
			if i == 10 {
				fmt.Fprintf(&b, "; and %d calls more", len(step.Step.ToolExecutions)-i)
				break
			}
			how := "done"
			if x.HasError() {
				how = "failed"
			}
			fmt.Fprintf(&b, "; %s %s %s", domain.Shorten(x.Name(), 64), domain.Shorten(x.Args(), 120), how)
		}
		b.WriteString("\n")
	}
	for _, missing := range p.Missing {
		fmt.Fprintf(&b, "not recorded: %s\n", missing)
	}
	return strings.TrimSpace(b.String())
}
