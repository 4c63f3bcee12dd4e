package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"everstep/activities/document"
	"everstep/domain"
	"everstep/domain/spelling"
	"everstep/starter/agentfile"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/worker/host"
)

func agentsCommand(p *program) *cobra.Command {
	return family(newCommand("agents", "List, show and check agents in files", `An agent can be defined in a file: YAML, or Markdown whose front matter has the
keys and whose text is the system prompt. run and start take it with --agent, by
its path, or by its name where it lies in ./agents or ./.everstep/agents, or
where Claude Code, opencode, GitHub Copilot, VS Code, Gemini CLI, Cursor or Qwen
Code have theirs, which are read as they are. What runs is what the file said at
the start: editing it changes no running agent.`,
		`  starter agents list
  starter agents check agents/reviewer.md
  starter run --agent reviewer "Review the newest file"`, nil), agentsListCommand(p), agentsShowCommand(p), agentsCheckCommand(p), agentsSchemaCommand(p))
}

type listedAgent struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Model       string `json:"model"` // provider/name; empty where the file names none
	File        string `json:"file"`
	Problems    int    `json:"problems"` // counts what is wrong with the file, as check does
	broken      bool   // it cannot run
}

func agentsListCommand(p *program) *cobra.Command {
	var dir string
	command := newCommand("list", "List the agents in the usual folders", `Lists the agents in the folders agents and .everstep/agents of the current
folder, and those of other tools in theirs. A file with problems is listed with their number; check names them, and
one that is broken does not run.`, `  starter agents list
  starter agents list --dir ~/work --json | jq -r '.[].name'`, func(context.Context, []string) error {
		listed, err := p.listAgents(dir)
		if err != nil {
			return err
		}
		t := render.Table{Head: []string{"NAME", "CHECK", "MODEL", "FILE", "DESCRIPTION"}}
		for _, a := range listed {
			check := "ok"
			if a.Problems > 0 {
				check = render.Counted(a.Problems, "problem")
			}
			if a.broken {
				check = "broken: " + check
			}
			t.Rows = append(t.Rows, []string{render.OneLine(a.Name), check, cmp.Or(render.ModelName(a.Model), "-"), render.OneLine(a.File), render.OneLine(a.Description)})
		}
		return p.table(listed, t, "there is no agent's file "+agentfile.Where)
	})
	registerFolder(command, &dir)
	return command
}

func (p *program) listAgents(dir string) ([]listedAgent, error) {
	settings, err := p.settings()
	if err != nil {
		return nil, err
	}
	found, err := settings.List(cmp.Or(dir, p.here))
	if err != nil {
		return nil, err
	}
	listed := []listedAgent{}
	for _, l := range found {
		problems, _ := problemsOf(l.File, l.Problems)
		agent := listedAgent{Name: l.File.Name, Description: l.File.Description, File: l.File.Path, Problems: len(problems), broken: len(l.Problems) > 0}
		if model := l.File.Definition.Model; model.Provider != "" {
			agent.Model = model.String()
		}
		listed = append(listed, agent)
	}
	return listed, nil
}

func agentsSchemaCommand(p *program) *cobra.Command {
	return newCommand("schema", "Print the JSON Schema of agents' files, for editors", `Prints the JSON Schema of an agent's file. An editor that knows YAML completes
and checks keys with it, where the file's first line names it:

  # yaml-language-server: $schema=agent.schema.json`, `  starter agents schema > agents/agent.schema.json`, func(context.Context, []string) error {
		text, err := json.MarshalIndent(agentfile.Schema(), "", "  ")
		p.out.Printf("%s\n", text)
		return err
	})
}

func agentsCheckCommand(p *program) *cobra.Command {
	var dir string
	command := newCommand("check [FILE|NAME]…", "Check agents' files, and say all that is wrong", `Checks agents' files, by path or name; without one, those that list lists. Each
problem is a line on standard output: file:line:column: field: what is wrong, and
what to do. Exits 1 where there is any. A tool that run would refuse is noted, as
workers of your own may have it; whether those have hooks, model and tools is
known to them alone.`, `  starter agents check
  starter agents check agents/reviewer.md agents/writer.yaml
  starter agents check --json | jq -r '.[].message'`, func(_ context.Context, args []string) error {
		settings, err := p.settings()
		if err != nil {
			return err
		}
		var found []agentfile.Listed
		if len(args) == 0 {
			if found, err = settings.List(cmp.Or(dir, p.here)); err != nil {
				return err
			}
			if len(found) == 0 {
				return usage("agent: there is none %s; give a file, as in: %s", agentfile.Where, p.again("agents", "check", "reviewer.md"))
			}
		}
		all := document.Problems{}
		for _, text := range args {
			path, err := agentfile.Find(cmp.Or(dir, p.here), text)
			if err != nil {
				all = append(all, document.Problem{File: text, Message: err.Error()})
				continue
			}
			file, err := settings.Load(path)
			wrong, _ := errors.AsType[document.Problems](err)
			found = append(found, agentfile.Listed{File: file, Problems: wrong})
		}
		for _, one := range found {
			file, path := one.File, one.File.Path
			problems, notes := problemsOf(file, one.Problems)
			if len(problems) == 0 {
				p.say("%s: nothing is wrong", path)
			}
			p.sayNotes(file)
			for _, note := range notes {
				p.say("%s", note)
			}
			for _, doubt := range p.machine.DoubtedTools(file.Definition.Tools) { // a worker of the user's own may have them
				p.say("%s: note: %s", path, doubt)
			}
			all = append(all, problems...)
		}
		var text strings.Builder
		for _, problem := range all {
			text.WriteString(render.OneLine(problem.String()) + "\n")
		}
		if err := p.show(all, text.String()); err != nil || len(all) == 0 {
			return err
		}
		return &exitError{code: exitOther, text: render.Counted(len(all), "problem")}
	})
	command.Args = cobra.ArbitraryArgs
	command.ValidArgsFunction = p.completeAgents
	registerFolder(command, &dir)
	return command
}

// settings are what this machine says to files of other tools.
func (p *program) settings() (agentfile.Settings, error) {
	models, err := p.machine.ModelNames()
	tools, lacks := p.machine.WorkerTools()
	return agentfile.Settings{Tools: tools.All, Unstarted: tools.Unstarted, Lacks: lacks, Models: models}, err
}

func (p *program) sayNotes(file agentfile.File) {
	for _, note := range file.Notes {
		p.say("%s", note)
	}
}

// problemsOf are all that is wrong with a file, or most likely is: among them providers that are
// none of ours, but much like one. The notes name those that a worker of the user's own has to have.
func problemsOf(file agentfile.File, wrong document.Problems) (problems, notes document.Problems) {
	problems = slices.Concat(wrong, file.Doubts)
	known := host.ProviderNames()
	for _, provider := range file.Providers {
		at := provider.Place
		switch near, much := spelling.Nearest(provider.Name, known); {
		case slices.Contains(known, provider.Name):
		case much:
			at.Message = fmt.Sprintf("there is no provider %q; did you mean %s?", provider.Name, near)
			problems = append(problems, at)
		default:
			at.Message = fmt.Sprintf("note: %s is no provider of ours; there are %s, and others on workers of your own", provider.Name, strings.Join(known, ", "))
			notes = append(notes, at)
		}
	}
	problems.Sort()
	return problems, notes
}

func agentsShowCommand(p *program) *cobra.Command {
	var dir string
	command := newCommand("show FILE|NAME", "Show an agent as it would run", `Shows an agent as it would run, with the defaults of all that its file leaves
out, as YAML that is an agent's file itself. What only a worker knows is not
there, such as the price of a model that the file gives none.`, `  starter agents show reviewer
  starter agents show agents/reviewer.md --json | jq .budget`, func(_ context.Context, args []string) error {
		file, err := p.loadAgent(dir, args[0])
		if err != nil {
			return err
		}
		from := ""
		if file.Dialect != "" {
			from = "# read as an agent of " + file.Dialect + "\n"
		}
		for _, note := range file.Notes {
			from += "# " + render.OneLine(note) + "\n"
		}
		for _, doubt := range p.machine.DoubtedTools(file.Definition.Tools) {
			from += "# note: " + render.OneLine(doubt) + "\n"
		}
		if variable := p.machine.Env.Value(local.VariableModel); file.Definition.Model.Provider == "" && variable != "" {
			if file.Definition.Model, err = instead(file.Definition.Model, local.VariableModel, variable); err != nil {
				return err
			}
			from += "# model: from " + local.VariableModel + "\n"
		}
		if steps := file.Definition.Budget; steps.MaxSteps == nil && steps.MaxStepsFrom != domain.StepsNone {
			from += "# budget.max_steps: the default, which a number or none in the file or --max-steps replaces\n"
		}
		resolved := file.Resolve()
		if p.flags.json {
			return p.out.JSON(resolved)
		}
		text, err := resolved.YAML()
		if err != nil {
			return fmt.Errorf("%s: write YAML: %w", file.Path, err)
		}
		if file.Definition.Model.Provider == "" {
			from += "# model: none; name one with --model or " + local.VariableModel + "\n"
		}
		p.out.Printf("# %s, as it would run\n%s%s", render.OneLine(file.Path), from, render.Clean(string(text)))
		return nil
	})
	command.Args = arguments("starter agents show agents/reviewer.md", "agent")
	command.ValidArgsFunction = p.completeAgents
	registerFolder(command, &dir)
	return command
}

func registerFolder(command *cobra.Command, dir *string) {
	command.Flags().StringVar(dir, "dir", "", "the `FOLDER` in which to look for agents and .everstep/agents; the current one unless given")
}

// loadAgent reads an agent by file or name. Its error is all that is wrong.
func (p *program) loadAgent(dir, named string) (none agentfile.File, _ error) {
	path, err := agentfile.Find(cmp.Or(dir, p.here), named)
	if err != nil {
		return none, usage("agent: %s", err)
	}
	settings, err := p.settings()
	if err != nil {
		return none, err
	}
	file, err := settings.Load(path)
	if err != nil {
		if wrong, ok := errors.AsType[document.Problems](err); ok {
			err, _ = problemsOf(file, wrong)
		}
		return none, &exitError{code: exitUsage, text: err.Error(), cause: err}
	}
	return file, nil
}

// completeAgents offers names of agents in files, else the shell offers files.
func (p *program) completeAgents(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return p.agentNames(args), cobra.ShellCompDirectiveDefault
}

func (p *program) agentNames(besides []string) []string {
	listed, err := p.listAgents("")
	if err != nil || len(besides) > 0 {
		return nil
	}
	var names []string
	for _, a := range listed {
		names = append(names, cobra.CompletionWithDesc(render.OneLine(a.Name), domain.Shorten(render.OneLine(a.Description), 60)))
	}
	return names
}
