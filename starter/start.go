package main

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func startCommand(p *program) *cobra.Command {
	var need local.Need
	command := p.starting(&need, `start [flags] "prompt"`, "Start an execution and return", `Starts an execution, prints the agent's id, and returns. The server must be up;
a worker may come later. The prompt - is read from standard input.`, `  id=$(starter start --model openai-chat/gpt-5-mini "Write a haiku")
  starter start --id notes --json "What is new?"
  starter start --agent reviewer "Review the newest file"
  starter result "$id"`, func(_ context.Context, _ *local.Stack, execution client.Execution) error {
		return p.show(execution, render.OneLine(execution.ID)+"\n")
	})
	command.Flags().StringVar(&need.TaskQueue, "task-queue", "", "the task queue's `NAME`, where workers listen ("+local.VariableTaskQueue+")")
	return command
}

func runCommand(p *program) *cobra.Command {
	need := local.Need{Up: true}
	command := p.starting(&need, `run [flags] "prompt"`, "Start an execution and follow it to the end", `Starts an execution and follows it to the end: the answer goes to standard
output, everything else to standard error.

Where no server is configured, a dev server is joined or started, and a worker
runs for as long as this command does. An execution that is left in the middle
goes on when a worker runs again: watch, run and dev bring one up.

A tool call that waits for a person is asked about on a terminal; elsewhere this
says how to answer. Ctrl-C leaves the execution as it is; stop ends it. extend raises a limit at which
it stopped, and goes on from there; explain says why it ended, and what it cost.
The prompt - is read from standard input.`, `  starter run --model scripted/hello.yaml "Say hello"
  starter run --model openai-chat/gpt-5-mini --tool list_files "What is here?"
  starter run --id notes --max-tokens 20000 --deadline 5m "Sum up the newest"
  starter run --agent agents/reviewer.md --max-cost 0.25 "Review it"
  starter messages notes --json |
    starter run --model openai-chat/gpt-5-mini --messages - "And now?"
  git diff | starter run --system "You review Go code." - > review.txt`, p.followNew)
	rawFlag(command, p)
	need.Register(command.Flags())
	return command
}

// starting is newCommand of one that starts an execution.
func (p *program) starting(
	need *local.Need, use, short, long, example string, then func(context.Context, *local.Stack, client.Execution) error,
) *cobra.Command {
	var asked startFlags
	command := newCommand(use, short, long, example, func(ctx context.Context, args []string) error {
		request, err := asked.request(ctx, p, args[0])
		if err != nil {
			return err
		}
		if err := p.machine.CheckLocally(ctx, need.Flags, request.Definition, request.Budget); err != nil {
			return err
		}
		s, err := p.machine.Connect(ctx, *need)
		if err != nil {
			return err
		}
		defer s.Close()
		execution, err := begin(ctx, s.Agents, request)
		if err != nil {
			return err
		}
		return then(ctx, s, execution)
	})
	asked.register(p, command)
	command.Flags().Var(textFlag(&asked.id), "id", "the agent's `NAME`, under which it stays open for more; without one it takes this prompt alone")
	return command
}

// begin starts the execution. Without a model it is the next one of an open session.
func begin(ctx context.Context, agents *client.Client, request client.Start) (none client.Execution, _ error) {
	switch {
	case request.Definition.Model.Provider != "":
		return agents.Start(ctx, request)
	case !reflect.ValueOf(*request.Explicit).IsZero():
		return none, usage("model: is missing; name one with --model or " + local.VariableModel + " where --agent, --system, --tool, --output or --final-answer is given")
	}
	execution, err := agents.Send(ctx, request.ID, client.SendOptions{
		Prompt: request.Prompt, Budget: request.Budget, Metadata: request.Metadata, Messages: request.Messages, Trusted: request.Trusted,
	})
	gone := client.Is(err, client.NotFound)
	if client.Is(err, client.Refused) {
		status, unread := agents.Status(ctx, request.ID)
		gone = unread == nil && !status.Open
	}
	if gone {
		return none, usage("model: is missing, and %s has no open session to take one from; name one with --model or %s", request.ID, local.VariableModel)
	}
	return execution, err
}

func sendCommand(p *program) *cobra.Command {
	var model modelFlags
	need := followable()
	var options client.SendOptions
	var given givenFlags
	var queue, refuse bool
	command := newCommand(`send ID "message"`, "Give an agent a message", `Gives an agent a message. An idle session begins its next execution with it.
While one is in progress the message joins it before its next step, also where
the model has just given its last answer; status shows what waits, and unsend
takes it back. A message that a stop leaves unread begins the next execution of
a session. An agent without a name takes messages while it works.

It needs a server that is up and a worker; --wait brings them up, as run does.
Where nobody knows whether a message has arrived, send it again with the
--request-id that it had: it counts once. The message - is read from standard
input.`, `  starter send notes "And which file is the newest?" --wait
  starter send notes "Leave the tests alone" --request-id 2026-11-23/7
  starter send notes --queue --max-steps 5 "When you are done: sum up"
  starter send notes --model openai-chat/gpt-5 --max-steps 5 "Think again"`, func(ctx context.Context, args []string) error {
		if err := client.CheckID(args[0]); err != nil {
			return err
		}
		var err error
		if options.Messages, err = given.onlyMessages(ctx, p, args[1]); err != nil {
			return err
		}
		options.Metadata, options.Trusted = given.metadata, given.trusted
		switch {
		case queue:
			options.IfBusy = contract.QueueIfBusy
		case refuse:
			options.IfBusy = contract.RefuseIfBusy
		default:
			options.IfBusy = contract.SteerIfBusy
		}
		var unknown error // to our workers: those of another queue may know it
		if options.Model, err = model.chosen(); err != nil {
			return err
		}
		if options.Model != nil {
			unknown = p.machine.CheckLocally(ctx, local.Flags{}, domain.Definition{Model: *options.Model}, options.Budget)
		}
		if options.Prompt, err = p.prompt(ctx, args[1]); err != nil {
			return err
		}
		reached := false
		err = p.onAgent(ctx, args, need, func(ctx context.Context, s *local.Stack, id string) error {
			if reached = true; unknown != nil && s.Own(ctx, id) {
				return unknown
			}
			execution, err := s.Agents.Send(ctx, id, options)
			if err == nil && need.Up && queue { // the one that it is to begin is followed
				execution, err = s.Agents.Reads(ctx, execution)
			}
			switch {
			case err != nil:
				return err
			case need.Up:
				return p.followNew(ctx, s, execution)
			}
			return p.sent(execution, queue)
		})
		if !reached {
			return cmp.Or(unknown, err)
		}
		return err
	})
	set := command.Flags()
	set.BoolVar(&queue, "queue", false, "while an execution is in progress: wait, and begin one of its own")
	set.BoolVar(&refuse, "refuse", false, "while an execution is in progress: be refused")
	command.MarkFlagsMutuallyExclusive("queue", "refuse")
	set.BoolVar(&need.Up, "wait", false, "follow the execution to its end, as run does; with --queue the one that it begins")
	set.Var(textFlag(&options.RequestID), "request-id", "an `ID` of yours: what is sent again under it counts once")
	rawFlag(command, p)
	model.registerModel(command, "who answers from now on")
	p.limitFlags(set, &options.Budget)
	given.register(set)
	return command
}

// followable is the need of a command by which an agent goes on. Where that is followed, Up has what is missing brought up, as by run.
func followable() local.Need { return local.Need{Brings: "this command with --wait"} }

type startFlags struct {
	modelFlags
	id     string
	agent  string
	system string
	tools  []string
	// approvals is a word for all calls.
	approvals string
	output    outputFlags
	budget    domain.ExecutionBudget
	given     givenFlags
}

func (f *startFlags) register(p *program, command *cobra.Command) {
	f.registerDefinition(p, command)
	f.given.register(command.Flags())
}

// registerDefinition adds the flags that say what an agent is.
func (f *startFlags) registerDefinition(p *program, command *cobra.Command) {
	p.agentFlag(command, &f.agent, "the agent, or its name where it lies in ./agents, ./.everstep/agents or a folder of another tool; flags override it, limits cap it")
	f.registerModel(command, "who answers ("+local.VariableModel+")")
	set := command.Flags()
	set.StringVar(&f.system, "system", "", "system prompt")
	set.StringSliceVar(&f.tools, "tool", nil, "tool that the agent may use; once for each, or separated by commas")
	set.Var(choiceFlag(&f.approvals, domain.ApprovalWords()), "approvals", "which tool calls run by themselves: writes has those wait for a person that do not only read, ask all")
	p.limitFlags(set, &f.budget)
	f.output.register(command)
	completeWith(command, "tool", completeTools)
}

// request reads and checks all that can be told without a server.
func (f *startFlags) request(ctx context.Context, p *program, argument string) (client.Start, error) {
	start, err := f.unprompted(ctx, p, argument)
	if err == nil {
		start.Prompt, err = p.prompt(ctx, argument)
	}
	return start, err
}

// unprompted is request but for the prompt.
func (f *startFlags) unprompted(ctx context.Context, p *program, argument string) (start client.Start, _ error) {
	given, err := f.definition(p)
	if err == nil {
		start, err = f.given.over(ctx, p, given, argument)
		given = start.Definition
	}
	definition := given
	switch variable := p.machine.Env.Value(local.VariableModel); {
	case err != nil || f.model != "" || given.Model.Provider != "": // a flag names it, or the file
	case variable != "":
		definition.Model, err = instead(given.Model, local.VariableModel, variable)
	case f.id == "":
		err = usage("model: is missing; name one with --model or " + local.VariableModel + ": " + local.ModelForm)
	}
	if err == nil {
		definition.Model, err = f.over(definition.Model)
	}
	if f.model != "" || f.price != nil || f.window > 0 {
		given.Model = definition.Model
	}
	if err == nil && f.id != "" {
		_, err = domain.AgentIDOf(f.id)
	}
	if err == nil && definition.Model.Provider != "" {
		err = definition.Check()
	}
	if err != nil {
		return start, err
	}
	start.ID, start.Definition, start.Explicit = f.id, definition, &given
	start.Budget = given.Budget.CappedBy(f.budget)
	return start, nil
}

// instead is a model that is named in place of a file's, whose time-outs hold for it too.
func instead(of domain.LLMConfig, named, text string) (domain.LLMConfig, error) {
	model, err := local.ReadModel(named, text)
	model.Timeouts = of.Timeouts
	return model, err
}

// definition is what the agent's file says, with the flags over it.
func (f *startFlags) definition(p *program) (d domain.Definition, _ error) {
	if f.agent != "" {
		file, err := p.loadAgent("", f.agent)
		if err != nil {
			return d, err
		}
		p.sayNotes(file)
		d = file.Definition
	}
	d.SystemPrompt = cmp.Or(f.system, d.SystemPrompt)
	if f.approvals != "" {
		d.Approvals = domain.ApprovalsOf(f.approvals)
	}
	for i, tool := range f.tools {
		if slices.Contains(f.tools[:i], tool) {
			return d, usage("--tool: %q is named twice; name it once", domain.Shorten(tool, 100))
		}
	}
	if f.tools != nil {
		d.Tools = f.tools
	}
	return d, f.output.apply(&d)
}

const fromStdin = "-"

func (p *program) prompt(ctx context.Context, argument string) (string, error) {
	if argument == fromStdin {
		data, err := readGiven(ctx, p.in, domain.MaxMessage)
		if err != nil {
			return "", fmt.Errorf("prompt: reading standard input: %w", err)
		}
		if len(data) > domain.MaxMessage { // nobody has read how long it is
			return "", usage("prompt: standard input has more than %d bytes, and no message may; put it in a file, and have a tool read that", domain.MaxMessage)
		}
		argument = string(data)
	}
	return argument, domain.CheckPrompt(argument)
}
