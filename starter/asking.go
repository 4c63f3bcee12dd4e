package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/render"
)

// An asker asks the person at this terminal about the tool calls that wait, and what they ask, one after the other, while
// the execution is followed beside it. It is used by the goroutine that follows.
type asker struct {
	program *program
	agents  *client.Client
	ctx     context.Context
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	// decided end the questions about which nobody has decided, and last is closed when the newest was asked.
	decided map[domain.ToolExecutionID]context.CancelFunc
	last    <-chan struct{}
}

// interactive reports whether a person reads and types here.
func (p *program) interactive() bool {
	in, ok := p.in.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && p.out.Terminal && p.err.Terminal && !p.flags.json
}

// callIn is the call of an event that waits for a person, or did: of the agent that is followed, or of a sub-agent below it.
func callIn(id string, e client.Event) client.WaitingCall {
	if !e.AgentID.IsZero() {
		id = e.AgentID.String()
	}
	call := client.WaitingCall{ID: id, Wait: *e.Wait}
	call.ToolExecutionID, call.Tool = e.ToolExecutionID, e.Tool
	return call
}

// take has the person asked about a call that waits, after those before it, until somebody has decided.
func (a *asker) take(call client.WaitingCall, waits bool) {
	if over := a.decided[call.ToolExecutionID]; over != nil {
		over()
	}
	if !waits {
		return
	}
	open, over := context.WithCancel(a.ctx)
	a.decided[call.ToolExecutionID] = over
	before, asked := a.last, make(chan struct{})
	a.last = asked
	a.ended.Go(func() {
		defer close(asked)
		if before != nil {
			<-before
		}
		if open.Err() == nil && a.about(open, call) {
			<-open.Done() // what was decided is shown before there is another question
		}
	})
}

// about asks about what waits while open lasts, and reports whether the person has said something about it. They may leave it for
// later.
func (a *asker) about(open context.Context, asked client.WaitingCall) (said bool) {
	p := a.program
	call, err := a.look(open, asked)
	if err != nil && open.Err() == nil {
		p.warn(err.Error())
		p.warn(p.howToAnswer(asked))
	}
	if call.IsZero() {
		return false // somebody was faster
	}
	prompt := client.DecisionKeys(call.Wait, "e JSON", true) + ": "
	if call.Ask != nil {
		prompt = promptFor(*call.Ask)
	}
	p.err.Hold(render.Waiting([]client.WaitingCall{call}, p.now()))
	defer p.err.Resume()
	shown := p.now()
	if !p.asks(open, prompt, func(line string) (done bool) {
		if p.now().Sub(shown) < 500*time.Millisecond { // it was typed for something else
			p.err.Printf("that was typed before anybody could read it; look at it, and answer again\n")
			return false
		}
		done, said = a.hear(a.ctx, call, line)
		return done
	}) {
		p.err.Printf("\n")
	}
	return said
}

// look is the call that waits, as the workflow says; zero: it does not wait any more, or nobody can be asked about it here.
func (a *asker) look(ctx context.Context, asked client.WaitingCall) (none client.WaitingCall, _ error) {
	for call, err := range a.agents.AllWaiting(ctx, asked.ID) {
		switch {
		case err != nil:
			return none, err
		case call.ToolExecutionID != asked.ToolExecutionID || call.Kind != asked.Kind:
		case !seeable(call): // nobody says yes to what they cannot see
			a.program.warn(a.program.howToAnswer(asked))
			return none, nil
		default:
			return call, nil
		}
	}
	return none, nil
}

// hear does what a line says about a call, or gives it as the answer to a question.
func (a *asker) hear(ctx context.Context, call client.WaitingCall, line string) (done, said bool) {
	p := a.program
	word, key := client.TypedDecision(call.Wait, line)
	var wrong error
	if call.Ask != nil {
		word, wrong = client.TypedReply(call.Wait, line)
	}
	switch {
	case call.Ask == nil && key == 'd', call.Ask != nil && strings.TrimSpace(line) == "":
		p.err.Printf("%s\n", p.err.Fold(p.howToAnswer(call)))
		return true, false
	case wrong != nil:
		p.err.Printf("%s\n", wrong)
		return false, false
	case call.Ask != nil:
	case key == 0, key == 'e' && word.Arguments == "":
		return false, false
	case key != 'e' && call.Kind.Rule().Grants(word.Verdict):
		if cut := p.notWhole(call); cut != "" {
			p.err.Printf("%s\n", p.err.Fold(cut))
			return false, false
		}
	}
	word.By = person()
	_, err := a.agents.Answer(ctx, call.ID, word)
	if err != nil && ctx.Err() == nil {
		p.report(err) // it says who was faster, too
	}
	return err == nil || ctx.Err() != nil || client.Is(err, client.Refused), err == nil
}

// asks prompts the person at this terminal until hear says of a line that it will do. It reports false where none comes any more: since
// standard input or ctx has ended.
func (p *program) asks(ctx context.Context, prompt string, hear func(line string) (done bool)) bool {
	forgetTyped(p.in)
	if p.typed == nil {
		p.typed = make(chan string)
		go func() { // it ends with the process, since nothing ends the reading of a terminal
			defer close(p.typed)
			for scanner := bufio.NewScanner(p.in); scanner.Scan(); {
				p.typed <- scanner.Text()
			}
		}()
	}
	for {
		p.err.Printf("%s", prompt)
		select {
		case <-ctx.Done():
		case line, typed := <-p.typed:
			if typed && !hear(line) {
				continue
			}
			return typed
		}
		return false
	}
}

// howToAnswer says what waits, and how a person answers it from anywhere.
func (p *program) howToAnswer(call client.WaitingCall) string {
	rule, ways := call.Kind.Rule(), []string{}
	for _, answer := range rule.Answers {
		ways = append(ways, "`"+p.again(answer.Command, render.OneLine(call.ID), render.ShortCall(call.ToolExecutionID))+call.AnswerForm()+"`")
	}
	if !rule.Replies {
		ways = append(ways, "--approvals allow lets all calls run")
	}
	return fmt.Sprintf("%s waits for %s: %s", render.OneLine(call.Tool), rule.For, strings.Join(ways, ", "))
}
