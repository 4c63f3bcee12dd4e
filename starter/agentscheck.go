package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"everstep/activities/document"
	"everstep/activities/files"
	"everstep/domain/spelling"
	"everstep/starter/agentfile"
)

func agentsCheckCommand(p *program) *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "check [FILE|NAME]…",
		Short: "Check agents' files, and say all that is wrong",
		Long: `Checks agents' files, by path or name; without one, those that list lists. Each
problem is a line on standard output: file:line:column: field: what is wrong, and
what to do. Exits 1 where there is any. Whether a worker has the tools, hooks and
model is known to the worker alone.`,
		Example: `  starter agents check
  starter agents check agents/reviewer.md agents/writer.yaml
  starter agents check --json | jq -r '.[].message'`,
		ValidArgsFunction: p.completeAgents,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				listed, err := p.listAgents(dir)
				if err != nil {
					return err
				}
				if len(listed) == 0 {
					return usage("agent: there is none in ./agents or ./.everstep/agents; give a file, as in: starter agents check reviewer.md")
				}
				for _, a := range listed {
					args = append(args, a.File)
				}
			}
			return p.showProblems(p.checkAgents(dir, args))
		},
	}
	registerFolder(command, &dir)
	return command
}

// checkAgents is all that is wrong with agents, which are named by file or name.
func (p *program) checkAgents(dir string, named []string) document.Problems {
	all := document.Problems{}
	for _, text := range named {
		path, err := agentfile.Find(p.agentsIn(dir), text)
		if err != nil {
			all = append(all, document.Problem{File: text, Message: err.Error()})
			continue
		}
		file, err := agentfile.Load(path)
		problems, _ := errors.AsType[document.Problems](err)
		if len(problems) == 0 {
			p.say("%s: nothing is wrong", path)
		}
		p.noteTools(path, file.Definition.Tools)
		all = append(all, problems...)
	}
	return all
}

// noteTools says of tools that are none of ours and look like one what was most
// likely meant. It is no problem: a worker may have tools of its own.
func (p *program) noteTools(path string, tools []string) {
	var builtin []string
	for _, t := range new(files.Root).Tools() {
		builtin = append(builtin, t.Spec().Name)
	}
	for _, tool := range tools {
		if slices.Contains(builtin, tool) {
			continue
		}
		if near, ok := spelling.Nearest(tool, builtin); ok {
			p.say("%s: note: tools: %s is not built in; did you mean %s? A worker of your own may have it", path, tool, near)
		}
	}
}

func (p *program) showProblems(problems document.Problems) error {
	if p.flags.json {
		if err := p.json(problems); err != nil {
			return err
		}
	} else {
		for _, problem := range problems {
			p.out.printf("%s\n", oneLine(problem.String()))
		}
	}
	if len(problems) > 0 {
		return &exitError{code: exitOther}
	}
	return nil
}
