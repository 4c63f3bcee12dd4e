package main

import (
	"github.com/spf13/cobra"

	"everstep/domain"
)

// wishes are what the flags say about the answer and its price.
type wishes struct {
	price *domain.Price
	// schema is the file that says what the answer must be.
	schema string
	mode   domain.OutputMode
	// final withholds the tools at the last step that --max-steps allows.
	final bool
}

func (w *wishes) register(p *program, command *cobra.Command) {
	set := command.Flags()
	set.Var(filled{&w.schema}, "output", "the `FILE` of a JSON Schema that the answer must fit; the model is asked again where it does not")
	set.Var(choice[domain.OutputMode]{&w.mode, domain.OutputModes()}, "output-mode", "how the model is told of it; chosen for the provider unless given")
	set.BoolVar(&w.final, "final-answer", false, "at the last step that --max-steps allows, withhold the tools and ask for the answer")
	set.Var(priceTag{&w.price}, "price", "what the model costs: dollars for a million tokens, as in input=1.25,output=10[,cache_read=…,cache_write=…]")
	p.completeWith(command, "output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
	})
	p.completeWith(command, "output-mode", completeOutputModes)
}

// apply puts what was asked for into a definition, its price aside.
func (w *wishes) apply(d *domain.Definition) error {
	if w.final {
		d.Guards.FinalAnswer = true
	}
	switch {
	case w.schema == "" && w.mode != "":
		return usage("--output-mode: is given without a schema; name one with --output")
	case w.schema == "":
		return nil
	}
	var err error
	d.Format, err = readFormat(w.schema, w.mode)
	return err
}

// priced gives the model its price. One that is priced was asked for.
func (w *wishes) priced(definition, given *domain.Definition) error {
	switch {
	case w.price == nil:
		return nil
	case definition.Model.Provider == "":
		return usage("--price: is given without a model; name one with --model")
	}
	definition.Model.Price = w.price
	given.Model = definition.Model
	return nil
}

func completeOutputModes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{
		cobra.CompletionWithDesc(string(domain.OutputNative), "the provider's own feature"),
		cobra.CompletionWithDesc(string(domain.OutputTool), "a tool whose arguments are the answer"),
		cobra.CompletionWithDesc(string(domain.OutputInstruction), "a sentence in the system prompt"),
	}, cobra.ShellCompDirectiveNoFileComp
}
