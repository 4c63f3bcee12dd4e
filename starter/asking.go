package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/render"
)

// An asker asks the person at this terminal about the tool calls that wait, and what they ask, one after the other, while
// the execution is followed beside it.
type asker struct {
	program *program
	agents  *client.Client
	id      string
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	// typed is what the person has typed, a line at a time; nil until there is a question.
	typed <-chan string
	// news holds one where calls have changed.
	news  chan struct{}
	mu    sync.Mutex
	calls []waitingCall // those about which nobody has decided, in the order in which they began to wait
}

// A waitingCall is the event by which a call began to wait. over is closed when it waits no more.
type waitingCall struct {
	client.Event
	over chan struct{}
}

// tooSoon is within what time nobody has read a call: what comes then was typed for something else.
const tooSoon = 500 * time.Millisecond

// interactive reports whether a person reads and types here.
func (p *program) interactive() bool {
	in, ok := p.in.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && p.out.Terminal && p.err.Terminal && !p.flags.json
}

// newAsker begins to ask; nil: nobody is there to be asked.
func (p *program) newAsker(ctx context.Context, agents *client.Client, id string) *asker {
	if !p.interactive() {
		return nil
	}
	a := &asker{program: p, agents: agents, id: id, news: make(chan struct{}, 1)}
	ctx, a.cancel = context.WithCancel(ctx)
	a.ended.Go(func() { a.run(ctx) })
	return a
}

// close ends a question that is open. The call goes on waiting.
func (a *asker) close() {
	if a != nil {
		a.cancel()
		a.ended.Wait()
	}
}

// of is the agent whose call an event is about: the one that is followed, or a sub-agent below it.
func (a *asker) of(e client.Event) string { return agentOf(a.id, e) }

// agentOf is the agent whose event it is, where one is followed with the sub-agents below it.
func agentOf(id string, e client.Event) string {
	if e.AgentID.IsZero() {
		return id
	}
	return e.AgentID.String()
}

// take notes that a call waits, or that somebody has decided.
func (a *asker) take(e client.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(e.ToolExecutionID)
	if e.Type == domain.EventWaitOpened {
		a.calls = append(a.calls, waitingCall{e, make(chan struct{})})
	}
	select {
	case a.news <- struct{}{}:
	default:
	}
}

func (a *asker) drop(id domain.ToolExecutionID) {
	a.calls = slices.DeleteFunc(a.calls, func(c waitingCall) bool {
		if c.ToolExecutionID == id {
			close(c.over)
		}
		return c.ToolExecutionID == id
	})
}

func (a *asker) first() (waitingCall, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.calls) == 0 {
		return waitingCall{}, false
	}
	return a.calls[0], true
}

func (a *asker) run(ctx context.Context) {
	for ctx.Err() == nil {
		asked, ok := a.first()
		next := a.news
		if ok && a.about(ctx, asked) {
			next = asked.over // what was decided is shown before there is another question
		} else if ok {
			a.mu.Lock()
			a.drop(asked.ToolExecutionID)
			a.mu.Unlock()
			continue
		}
		select {
		case <-ctx.Done():
		case <-next:
		}
	}
}

// about asks about what waits, and reports whether the person has said something about it. They may leave it for later.
func (a *asker) about(ctx context.Context, asked waitingCall) (said bool) {
	about, err := a.look(ctx, asked.Event)
	if err != nil && ctx.Err() == nil {
		a.program.warn(err.Error())
		a.program.warn(a.program.howToAnswer(a.of(asked.Event), asked.Event))
	}
	if about.IsZero() {
		return false // somebody was faster
	}
	hear, prompt := a.decide, client.DecisionKeys(about.Wait, "e JSON", true)+": "
	if about.Ask != nil {
		hear, prompt = a.reply, promptFor(*about.Ask)
	}
	if a.typed == nil {
		a.typed = linesOf(a.program.in)
	}
	screen := a.program.err
	screen.Hold(render.Waiting([]client.WaitingCall{about}, a.program.now()))
	defer screen.Resume()
	forgetTyped(a.program.in)
	for shown := a.program.now(); ; {
		screen.Printf("%s", prompt)
		line, typed := a.read(ctx, asked)
		if !typed {
			screen.Printf("\n")
			return false
		}
		if a.program.now().Sub(shown) < tooSoon {
			screen.Printf("that was typed before anybody could read it; look at it, and answer again\n")
			continue
		}
		if done, said := hear(ctx, asked.Event, about, line); done {
			return said
		}
	}
}

// look is the call that waits, as the workflow says; zero: it does not wait any more, or nobody can be asked about it here.
func (a *asker) look(ctx context.Context, asked client.Event) (client.WaitingCall, error) {
	for call, err := range a.agents.AllWaiting(ctx, a.of(asked)) {
		switch {
		case err != nil:
			return client.WaitingCall{}, err
		case call.ToolExecutionID != asked.ToolExecutionID || call.Kind != asked.Wait.Kind:
		case !seeable(call): // nobody says yes to what they cannot see
			a.program.warn(a.program.howToAnswer(a.of(asked), asked))
			return client.WaitingCall{}, nil
		default:
			return call, nil
		}
	}
	return client.WaitingCall{}, nil
}

// decide does what a line says about a call.
func (a *asker) decide(ctx context.Context, asked client.Event, call client.WaitingCall, line string) (done, said bool) {
	word, key := client.TypedDecision(call.Wait, line)
	word.By = person()
	switch {
	case key == 'd':
		return a.later(asked)
	case key == 0, key == 'e' && word.Arguments == "":
		return false, false
	case key != 'e' && call.Kind.Rule().Grants(word.Verdict):
		if cut := a.program.notWhole(a.of(asked), call); cut != "" {
			a.program.err.Printf("%s\n", a.program.err.Fold(cut))
			return false, false
		}
	}
	_, err := a.agents.Answer(ctx, a.of(asked), word)
	return a.heard(ctx, err)
}

// reply gives what was typed as the answer to a question.
func (a *asker) reply(ctx context.Context, asked client.Event, question client.WaitingCall, line string) (done, said bool) {
	if strings.TrimSpace(line) == "" {
		return a.later(asked)
	}
	word, err := client.TypedReply(question.Wait, line)
	if err != nil {
		a.program.err.Printf("%s\n", err)
		return false, false
	}
	word.By = person()
	_, err = a.agents.Answer(ctx, a.of(asked), word)
	return a.heard(ctx, err)
}

// heard reports what came of the person's word.
func (a *asker) heard(ctx context.Context, err error) (done, said bool) {
	if err != nil && ctx.Err() == nil {
		a.program.report(err) // it says who was faster, too
	}
	return err == nil || ctx.Err() != nil || client.Is(err, client.Refused), err == nil
}

// later leaves it for later, and says how it is answered then.
func (a *asker) later(asked client.Event) (done, said bool) {
	a.program.err.Printf("%s\n", a.program.err.Fold(a.program.howToAnswer(a.of(asked), asked)))
	return true, false
}

// read waits for a line about a call. None comes where standard input has ended, somebody else has decided, or the
// execution is left.
func (a *asker) read(ctx context.Context, asked waitingCall) (line string, typed bool) {
	select {
	case <-ctx.Done():
	case <-asked.over:
	case line, typed = <-a.typed:
	}
	return line, typed
}

// linesOf reads what is typed. It ends with the process, since nothing ends the reading of a terminal.
func linesOf(in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// howToAnswer says what waits, and how a person answers it from anywhere.
func (p *program) howToAnswer(id string, e client.Event) string {
	id, call := render.OneLine(id), render.ShortCall(e.ToolExecutionID)
	rule, ways := e.Wait.Kind.Rule(), []string{}
	for _, answer := range rule.Answers {
		ways = append(ways, "`"+p.again(answer.Command, id, call)+e.Wait.AnswerForm()+"`")
	}
	if !rule.Replies {
		ways = append(ways, "--approvals allow lets all calls run")
	}
	return fmt.Sprintf("%s waits for %s: %s", render.OneLine(e.Tool), rule.For, strings.Join(ways, ", "))
}
