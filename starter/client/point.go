package client

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/conversation"
)

// A Point is the end of a step of an agent's execution. The zero one, but for the agent, is the newest step that is
// complete.
type Point struct {
	// ID names the agent.
	ID string
	// Execution is the execution's number or its id, or how that begins; empty: the newest.
	Execution string
	// Step counts from 1; 0 is before the first, without the prompt. Nil: the last that is complete.
	Step *int
}

// A pastPoint is what an agent had come to after a step.
type pastPoint struct {
	agent
	account.Account
	// execution is the one of the step, and until are its steps up to that, as far as they can be read.
	execution account.Execution
	until     []domain.StepExecution
	// origin is the point, with where its execution goes on from itself.
	origin domain.Origin
	// log has the messages until then, edits as the model was shown them.
	log   domain.Log
	edits domain.Edits
	// compiler is that of its agent's inferences.
	compiler domain.Compiler
	// inferences counts those that were completed by then, by the answers that the transcript has.
	inferences int
	// cleared says that it is before all messages of a session, where a clear has left it.
	cleared bool
}

// numberAt is the number of the execution that a point names; zero: it names none.
func (c *Client) numberAt(ctx context.Context, at Point) (int, error) {
	number, err := strconv.Atoi(at.Execution)
	switch {
	case at.Execution == "":
		return 0, nil
	case err == nil && number > 0 && len(at.Execution) < 8:
		return number, nil
	case len(at.Execution) < domain.LeastBeginning:
		return 0, invalidf("execution: %q is no number from 1 on, and not enough of an id; give at least %d characters of it", at.Execution, domain.LeastBeginning)
	}
	var found []int
	var lost error
	for x, err := range c.Executions(ctx, at.ID) {
		switch {
		case Is(err, Gone):
			lost = err
		case err != nil:
			return 0, err
		case strings.HasPrefix(x.ExecutionID.String(), at.Execution):
			found = append(found, x.Number)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return 0, invalidf("execution: the ids of %d executions of %s begin with %q; write more of it, or give its number", len(found), at.ID, at.Execution)
	case lost != nil:
		return 0, errorf(Gone, lost, "execution: nothing tells of execution %s of %s any more; %s", domain.Shorten(at.Execution, 60), at.ID, lost)
	}
	return 0, notFound("execution: %s has no execution %q", at.ID, domain.Shorten(at.Execution, 60)).next("`executions %s` lists those that it has", at.ID)
}

// stepsUntil reads an execution up to a point, and parts of its agent's account beside.
func (c *Client) stepsUntil(ctx context.Context, at Point, want ...account.Part) (p pastPoint, err error) {
	if p.agent, err = agentOf(at.ID); err != nil {
		return p, err
	}
	if at.Step != nil && *at.Step < 0 {
		return p, invalidf("step: is %d; steps are counted from 1, and 0 is before the first", *at.Step)
	}
	number, err := c.numberAt(ctx, at)
	if err == nil {
		p.Account, err = c.execution(ctx, at.ID, number, append(want, account.Steps)...)
	}
	if err == nil && number == 0 {
		err = c.checkNewest(p.Account)
	}
	if err != nil {
		return p, err
	}
	if len(p.Executions) == 0 {
		return p, notFound("execution: %s has not begun it yet; name another one, or try again once it has", at.ID)
	}
	p.execution = p.Executions[0]
	steps := p.StepExecutions()
	last := p.execution.Steps
	if n := len(steps); n > 0 {
		last = max(last, steps[n-1].Step.Number)
	}
	p.origin = domain.Origin{ExecutionID: p.execution.ExecutionID, Step: last, AgentID: p.id, Origin: p.execution.Origin}
	if at.Step != nil {
		if p.origin.Step = *at.Step; *at.Step > last {
			so, noun := "has", "steps"
			if !p.execution.Status.Terminal() {
				so = "has completed"
			}
			if last == 1 {
				noun = "step"
			}
			return p, notFound("step: execution %d of %s %s %d %s, and no step %d", p.execution.Number, at.ID, so, last, noun, *at.Step)
		}
	}
	p.edits = p.execution.EditsBefore
	if next := p.Head.Configuration.Definition; next != nil {
		p.compiler = next.Compiler
	}
	if len(steps) > 0 && steps[0].Step.Number == 1 { // it is that of the first inference
		p.compiler = steps[0].Step.Input.Compiler
	}
	p.until = slices.DeleteFunc(steps, func(s domain.StepExecution) bool { return s.Step.Number > p.origin.Step })
	return p, nil
}

// pastPoint reads what an agent had come to at a point.
func (c *Client) pastPoint(ctx context.Context, at Point) (pastPoint, error) {
	p, err := c.stepsUntil(ctx, at, account.State, account.Definition)
	if err == nil {
		err = c.loadMessages(ctx, &p)
	}
	return p, fail(ctx, at.ID, "reading the past of "+at.ID, err)
}

// loadMessages reads the messages for as long as they belong to what the point has. What the model was no longer shown may be
// gone.
func (c *Client) loadMessages(ctx context.Context, p *pastPoint) error {
	prompt, end := p.origin.ExecutionID.Prompt(), p.execution.MessagesFrom
	belongs := func(e domain.Entry) bool {
		return e.Message.ID != prompt && domain.TagOf(e.Message).ExecutionID != p.origin.ExecutionID
	}
	if p.origin.Step > 0 {
		n := len(p.until)
		if n == 0 || p.until[n-1].Step.Number != p.origin.Step {
			return gone("step: step %d of execution %d of %s can no longer be read", p.origin.Step, p.execution.Number, p.called())
		}
		last := p.until[n-1].Step
		if p.edits, p.compiler, end = last.Input.Edits, last.Input.Compiler, domain.MaxCount; p.execution.Status.Terminal() && last.Number == p.execution.Steps {
			end = p.execution.MessagesTo
		}
		belongs = func(e domain.Entry) bool {
			return e.Index < last.Input.Messages || domain.TagOf(e.Message).StepID == last.ID
		}
	}
	told, err := c.account(ctx, p.called(), account.RequestOf(0, account.Messages))
	if err != nil {
		return err
	}
	said := told.Messages
	if n := slices.IndexFunc(said, func(e domain.Entry) bool { return !belongs(e) }); n >= 0 {
		said = said[:n]
	}
	if !p.execution.Imported.IsZero() { // whoever wrote the file has chosen the digests
		if said, err = digested(said); err != nil {
			return err
		}
	}
	if len(said) > 0 && said[0].Index > 0 { // a segment that ends there knows the digest of all before
		segments := told.Head.Position.Segments
		at := slices.IndexFunc(segments, func(s contract.Segment) bool { return s.To == said[0].Index })
		if at < 0 || said[0].Index > p.edits.Hidden {
			return p.incomplete(told.Missing)
		}
		p.log = domain.LogAt(said[0].Index, segments[at].Digest)
	}
	for _, entry := range said {
		if entry.Index != p.log.Len() {
			return p.incomplete(told.Missing)
		}
		if p.log, err = p.log.Join(entry); err != nil {
			return err
		}
		if entry.Message.Role == domain.RoleAssistant && !p.edits.TookBack(entry.Index) && !domain.TagOf(entry.Message).StepID.IsZero() {
			p.inferences++
		}
	}
	if n := p.log.Len(); n < end && slices.ContainsFunc(told.Missing, func(m account.Missing) bool { return m.Part == account.Messages && m.From <= n && n <= m.To }) {
		return p.incomplete(told.Missing)
	}
	if p.edits.Check(p.log.Len()) != nil { // a file can say anything
		return errorf(Failed, nil, "step: what the model was shown after step %d of execution %d of %s names messages that had not been said by then; name another step", p.origin.Step, p.execution.Number, p.called())
	}
	return nil
}

// digested are messages with the digests of what they say.
func digested(said []domain.Entry) ([]domain.Entry, error) {
	given, err := domain.NewStartOptions(nil, said, nil)
	if err != nil {
		return nil, invalid(err)
	}
	said = slices.Clone(said)
	for i := range said {
		said[i].Message, said[i].Digest = given.Messages[i].Message, given.Messages[i].Digest
	}
	return said, nil
}

// incomplete says that messages until the point can no longer be read.
func (p *pastPoint) incomplete(missing []account.Missing) *Error {
	missing = slices.DeleteFunc(slices.Clone(missing), func(m account.Missing) bool { return m.Part != account.Messages })
	err := gone("a part of what %s had said by then can no longer be read: %s", p.called(), account.Ranges(missing))
	if p.recorded() {
		err.Message += "; export the whole agent, with all its executions"
	}
	return err
}

// recorded reports whether records alone tell of the agent: no run holds its messages.
func (p *pastPoint) recorded() bool { return p.Server.Source == contract.FromRecords }

// conversation is what the point's agent knew, as a run hands it on.
func (p *pastPoint) conversation(compiler domain.Compiler) contract.CarriedConversation {
	return conversation.At(p.log, p.edits, compiler, p.origin.Chain(), p.inferences).Carry(p.log.Base(), nil)
}
