package main

import (
	"context"
	"fmt"
	"io"
	"reflect"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
)

// startFlags are those that say what is to be started.
type startFlags struct {
	id     string
	agent  string
	model  string
	system string
	tools  []string
	output outputFlags
	budget budgetFlags
}

func (f *startFlags) register(p *program, command *cobra.Command) {
	set := command.Flags()
	set.Var(textFlag{&f.agent}, "agent", "the `FILE` that defines the agent, or its name where it lies in ./agents or ./.everstep/agents; flags override it, limits cap it")
	set.StringVar(&f.model, "model", "", "`PROVIDER/MODEL`: who answers ("+local.VariableModel+")")
	set.StringVar(&f.system, "system", "", "system prompt")
	set.StringSliceVar(&f.tools, "tool", nil, "tool that the agent may use; once for each, or separated by commas")
	set.Var(textFlag{&f.id}, "id", "the agent's `NAME`, under which it stays open for more; without one it takes this prompt alone")
	f.budget.register(set, p.now)
	f.output.register(p, command)
	p.completeWith(command, "agent", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return p.agentNames(nil), cobra.ShellCompDirectiveDefault
	})
	p.completeWith(command, "model", completeModels)
	p.completeWith(command, "tool", completeTools)
}

// request reads and checks all that can be told without a server.
func (f *startFlags) request(p *program, argument string) (client.Start, error) {
	given, err := f.definition(p)
	// The file's time-outs hold for whatever model is named instead of its own.
	definition, timeouts := given, given.Model.Timeouts
	switch {
	case err != nil:
	case f.model != "":
		given.Model, err = local.ReadModel("model", f.model)
		given.Model.Timeouts = timeouts
		definition.Model = given.Model
	case given.Model.Provider != "": // the file names it
	case p.machine.Env.Value(local.VariableModel) != "":
		definition.Model, err = local.ReadModel(local.VariableModel, p.machine.Env.Value(local.VariableModel))
		definition.Model.Timeouts = timeouts
	case f.id == "":
		err = usage("model: is missing; name one with --model or " + local.VariableModel + ": " + local.ModelForm)
	}
	if err == nil {
		err = f.output.priced(&definition, &given)
	}
	if err != nil {
		return client.Start{}, err
	}
	if f.id != "" {
		if _, err := domain.AgentIDOf(f.id); err != nil {
			return client.Start{}, err
		}
	}
	if definition.Model.Provider != "" {
		if err := definition.Check(); err != nil {
			return client.Start{}, err
		}
	}
	prompt, err := p.prompt(argument)
	if err != nil {
		return client.Start{}, err
	}
	return client.Start{ID: f.id, Prompt: prompt, Definition: definition, Given: &given, Budget: given.Budget.CappedBy(f.budget.budget)}, nil
}

// begin starts the execution. Without a model it can only be the next one of a
// session that is open.
func begin(ctx context.Context, agents *client.Client, request client.Start) (client.Execution, error) {
	if request.Definition.Model.Provider != "" {
		return agents.Start(ctx, request)
	}
	missing := fmt.Sprintf("model: is missing, and %s has no open session to take one from; name one with --model or %s", request.ID, local.VariableModel)
	if !reflect.ValueOf(*request.Given).IsZero() {
		return client.Execution{}, usage("model: is missing; name one with --model or " + local.VariableModel + " where --agent, --system, --tool, --output or --final-answer is given")
	}
	execution, err := agents.Send(ctx, request.ID, client.SendOptions{Prompt: request.Prompt, Budget: request.Budget})
	if exitCode(err) == exitNotFound {
		return client.Execution{}, usage(missing)
	}
	if exitCode(err) == exitRefused {
		if status, statusErr := agents.Status(ctx, request.ID); statusErr == nil && !status.Open {
			return client.Execution{}, usage(missing)
		}
	}
	return execution, err
}

// definition is what the agent's file says, with the flags over it. A model that
// a flag names replaces all that the file says of its model.
func (f *startFlags) definition(p *program) (domain.Definition, error) {
	var d domain.Definition
	if f.agent != "" {
		file, err := p.loadAgent("", f.agent)
		if err != nil {
			return domain.Definition{}, err
		}
		d = file.Definition
	}
	if f.system != "" {
		d.SystemPrompt = f.system
	}
	if f.tools != nil {
		d.Tools = f.tools
	}
	return d, f.output.apply(&d)
}

// fromStdin is the prompt that stands for what standard input holds.
const fromStdin = "-"

// prompt is a prompt as it was given on the command line, or what standard
// input holds in its place.
func (p *program) prompt(argument string) (string, error) {
	text := argument
	if argument == fromStdin {
		data, err := io.ReadAll(io.LimitReader(p.in, domain.MaxMessage+1))
		if err != nil {
			return "", fmt.Errorf("prompt: reading standard input: %w", err)
		}
		text = string(data)
	}
	return text, domain.CheckPrompt(text)
}
