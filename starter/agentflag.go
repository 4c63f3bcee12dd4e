package main

import (
	"fmt"

	"everstep/domain"
)

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

// checkOwnWorker says at once what a worker of this program has not, whatever
// a definition asks for.
func checkOwnWorker(d domain.Definition) error {
	const elsewhere = "; run a worker of your own that has it, and name its --task-queue"
	if len(d.Hooks) > 0 {
		return usage(fmt.Sprintf("hooks: the worker that this command starts has none, and the agent uses %q%s", domain.Shorten(d.Hooks[0], 100), elsewhere))
	}
	if !d.Compiler.Builtin() {
		return usage(fmt.Sprintf("compiler: the worker that this command starts has no %q%s", d.Compiler, elsewhere))
	}
	return nil
}
