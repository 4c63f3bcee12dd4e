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

// A beginning is what the flags that begin an execution say.
type beginning struct {
	id     string
	agent  string
	model  string
	system string
	tools  []string
	wishes wishes
	limits limits
}

func (b *beginning) register(p *program, command *cobra.Command) {
	set := command.Flags()
	set.SortFlags = false
	set.Var(filled{&b.agent}, "agent", "the `FILE` that defines the agent, or its name where it lies in ./agents or ./.everstep/agents; flags override it, limits cap it")
	set.StringVar(&b.model, "model", "", "`PROVIDER/MODEL`: who answers ("+local.VariableModel+")")
	set.StringVar(&b.system, "system", "", "system prompt")
	set.StringSliceVar(&b.tools, "tool", nil, "tool that the agent may use; once for each, or separated by commas")
	set.Var(filled{&b.id}, "id", "the agent's `NAME`, under which it stays open for more; without one it takes this prompt alone")
	b.limits.register(set, p.now)
	b.wishes.register(p, command)
	p.completeWith(command, "agent", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return p.agentNames(nil), cobra.ShellCompDirectiveDefault
	})
	p.completeWith(command, "model", completeModels)
	p.completeWith(command, "tool", completeTools)
}

// request reads and checks all that can be told without a server.
func (b *beginning) request(p *program, argument string) (client.Start, error) {
	given, err := b.definition(p)
	// The file's time-outs hold for whatever model is named instead of its own.
	definition, timeouts := given, given.Model.Timeouts
	switch {
	case err != nil:
	case b.model != "":
		given.Model, err = local.ReadModel("model", b.model)
		given.Model.Timeouts = timeouts
		definition.Model = given.Model
	case given.Model.Provider != "": // the file names it
	case p.machine.Env.Value(local.VariableModel) != "":
		definition.Model, err = local.ReadModel(local.VariableModel, p.machine.Env.Value(local.VariableModel))
		definition.Model.Timeouts = timeouts
	case b.id == "":
		err = usage("model: is missing; name one with --model or " + local.VariableModel + ": " + local.ModelForm)
	}
	if err == nil {
		err = b.wishes.priced(&definition, &given)
	}
	if err != nil {
		return client.Start{}, err
	}
	if b.id != "" {
		if _, err := domain.AgentIDOf(b.id); err != nil {
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
	return client.Start{ID: b.id, Prompt: prompt, Definition: definition, Given: &given, Budget: given.Budget.CappedBy(b.limits.budget)}, nil
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
func (b *beginning) definition(p *program) (domain.Definition, error) {
	var d domain.Definition
	if b.agent != "" {
		file, err := p.loadAgent("", b.agent)
		if err != nil {
			return domain.Definition{}, err
		}
		d = file.Definition
	}
	if b.system != "" {
		d.SystemPrompt = b.system
	}
	if b.tools != nil {
		d.Tools = b.tools
	}
	return d, b.wishes.apply(&d)
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
