package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/chat"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func chatCommand(p *program) *cobra.Command {
	var f local.Flags
	var asked startFlags
	command := newCommand("chat [ID]", "Converse with an agent on a terminal", `Converses with a named agent on this terminal: what was said above, the answer
as it is written, tool calls with their state, and a place to type. Calls that wait
for a person are asked about in place, those of sub-agents too, each of which is
shown under the call that has started it. Without an ID a new session is begun,
under a name that is shown; with one that is open it goes on there; a name that was
never used begins a session under it.

What was begun goes on when the terminal is closed, as far as a server and a worker
are up, and chat ID takes it up again, on any machine that reaches the server.
Where none is configured, a dev server and a worker run for as long as this
command does.

Enter sends; Alt-Enter, or Ctrl-J, begins a new line; PgUp, PgDn and the wheel
scroll; Ctrl-R shows what the model thought, Ctrl-T the steps of sub-agents. What
is typed in the middle of a turn joins it at its next step, and can be taken back
until it is read (/unsend); /queue has it begin a turn of its own. While the agent
asks a question, it answers that. Lines that begin with a slash are commands, of
this screen alone: /help lists them. Ctrl-C stops the turn: what the model is
writing is cut off and kept, calls under way finish (/stop now cancels them too).
Pressed twice it leaves, as /quit does.

Flags say what a new agent is, as with run. Of an open session --model replaces the
model; limits hold for each turn; any other that differs is refused, with the first
message.`, `  starter chat --model openai-chat/gpt-5-mini --tool list_files,read_file
  starter chat --agent reviewer
  starter chat notes`, func(ctx context.Context, args []string) error {
		if !p.interactive() || !p.out.Animated {
			return usage("chat: needs a terminal that it can draw on, for input and output; `%s` and `%s` converse without one",
				p.again("run", "--id", "NAME", `"prompt"`), p.again("send", "NAME", `"message"`, "--wait"))
		}
		// What the name of a session ends with that nobody has named keeps two of the same minute apart.
		asked.id = "chat-" + p.now().Format("20060102-1504") + "-" + strings.ToLower(rand.Text()[:3])
		if len(args) > 0 {
			asked.id = args[0]
		}
		return p.chat(ctx, f, &asked, len(args) > 0)
	})
	asked.register(p, command)
	f.Register(command.Flags())
	return command
}

// chat holds a conversation.
func (p *program) chat(ctx context.Context, f local.Flags, asked *startFlags, named bool) error {
	switch _, err := domain.AgentIDOf(asked.id); {
	case strings.Contains(asked.id, client.SessionMark):
		return usage("id: %s is an earlier session, which can only be read: `%s` shows it", render.OneLine(asked.id), p.again("messages", render.OneLine(asked.id)))
	case err != nil:
		return err
	case domain.CheckAgentName(asked.id) != nil:
		return usage("id: %s is an agent without a name, which takes one prompt; `%s` begins a session that stays open", asked.id, p.again("chat"))
	case asked.given.file == fromStdin:
		return usage("--messages: standard input is what is typed in the conversation; name a file")
	}
	start, err := asked.unprompted(ctx, p, "")
	if err != nil {
		return err
	}
	if err := p.machine.CheckLocally(ctx, f, start.Definition, start.Budget); err != nil {
		return err
	}
	var screen atomic.Pointer[chat.Remark] // nil unless the conversation has the terminal
	say := p.machine.Say
	p.machine.Say = func(format string, args ...any) {
		if remark := screen.Load(); remark != nil {
			(*remark)(fmt.Sprintf(format, args...), false)
			return
		}
		say(format, args...)
	}
	s, err := p.machine.Connect(ctx, local.Need{Flags: f, Up: true})
	if err != nil {
		return err
	}
	defer s.Close()
	cfg := chat.Config{
		Agents: s.Agents, ID: asked.id, By: person(), Theme: p.out.Theme, Now: p.now, Budget: asked.budget, Again: p.again, Limits: p.readTotals,
		ReadModel: func(text string) (domain.LLMConfig, error) { return local.ReadModel("model", text) },
	}
	if named {
		if cfg.ID, err = p.meant(ctx, s, cfg.ID); err != nil {
			return err
		}
		start.ID = cfg.ID
	}
	if err := opened(ctx, &cfg, start, named); err != nil {
		return err
	}
	missing := s.MissingFor(ctx, cfg.ID)
	if cfg.Fresh {
		missing = s.Missing(ctx)
	}
	ending, err := chat.Run(ctx, cfg, chat.Terminal{In: p.in, Out: os.Stdout, Environ: p.machine.Env.Environ()}, s.Failed(), func(remark chat.Remark) {
		screen.Store(&remark)
		if missing != "" {
			go remark(missing, true)
		}
	})
	screen.Store(nil)
	return p.left(s, cfg.ID, ending, err)
}

// meant is the name of the session that is meant: that which begins so, where there is one, else a new one.
func (p *program) meant(ctx context.Context, s *local.Stack, name string) (string, error) {
	found, err := s.Agents.Find(ctx, name)
	if err != nil || found == name || domain.CheckAgentName(found) != nil { // one without a name takes no messages
		return name, err
	}
	p.say("%s is %s", name, found)
	return found, nil
}

// opened looks at the session, and notes with what the first message begins.
func opened(ctx context.Context, cfg *chat.Config, start client.Start, named bool) error {
	status, err := cfg.Agents.Status(ctx, cfg.ID)
	// Of a session that only the records tell the name is free.
	switch fresh := client.Is(err, client.NotFound) || err == nil && status.Server.Source == contract.FromRecords; {
	case fresh && start.Definition.Model.Provider == "":
		what := "model: is missing; name one with --model or " + local.VariableModel + ": " + local.ModelForm
		if named {
			what = "model: is missing, and " + cfg.ID + " has no session to take one from; name one with --model or " + local.VariableModel
		}
		return usage("%s", what)
	case fresh:
		cfg.Fresh, cfg.Opening = true, &start
		return nil
	case err != nil:
		return err
	case !status.Open:
		return refused("the session of "+cfg.ID+" has ended, and takes no more messages", "`messages "+cfg.ID+"` shows it, and `run --id "+cfg.ID+"` begins a new one of the name")
	}
	rest := *start.Explicit
	if rest.Model.Provider != "" {
		cfg.Model = &start.Definition.Model
	}
	rest.Model = domain.LLMConfig{}
	if !reflect.ValueOf(rest).IsZero() || len(start.Metadata)+len(start.Messages)+len(start.Trusted) > 0 {
		cfg.Opening = &start
	}
	return nil
}

// readTotals reads totals of limits, such as max_steps=40 and deadline=none.
func (p *program) readTotals(words []string) (totals client.ExtendOptions, _ error) {
	for _, word := range words {
		name, text, _ := strings.Cut(word, "=")
		name = strings.ReplaceAll(name, "-", "_")
		rule := domain.Limit(name).Rule()
		if rule.Limit == "" {
			return totals, fmt.Errorf("%q is none of %s; write it as max_steps=40", domain.Shorten(name, 60), enum.Names(domain.Limits(), ", "))
		}
		if err := p.readTotal(&totals, rule, text); err != nil {
			return totals, fmt.Errorf("%s: %q %w", name, domain.Shorten(text, 100), err)
		}
	}
	return totals, nil
}

// left says how to come back, and hands back what was typed and not sent.
func (p *program) left(s *local.Stack, id string, e chat.Ending, err error) error {
	for _, text := range e.Unsent {
		p.err.Printf("%s", p.err.Fold("not sent:\n")+render.Clean(text)+"\n")
	}
	switch {
	case err != nil:
		return err
	case !e.Begun:
		p.say("nothing was begun")
		return nil
	case e.Over:
		p.say("the session of %s has ended: `%s` shows it", id, p.again("messages", id))
		return nil
	case e.Number == 0:
		p.say("%s stays open: `%s` goes on with it, `%s` ends it", id, p.again("chat", id), p.again("close", id))
		return nil
	}
	p.sayDetached(s, client.Execution{ID: id, Number: e.Number}, [2]string{p.again("chat", id), "take it up again"})
	return detached("")
}
