package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	answers "everstep/activities/output"
	"everstep/domain"
)

type outputFlags struct {
	price  *domain.Price
	schema string // the file that says what the answer must be
	mode   domain.OutputMode
	final  bool // withholds the tools at the last step that --max-steps allows
}

func (f *outputFlags) register(p *program, command *cobra.Command) {
	set := command.Flags()
	set.Var(textFlag(&f.schema), "output", "the `FILE` of a JSON Schema that the answer must fit; the model is asked again where it does not")
	set.Var(choiceFlag(&f.mode, domain.OutputModes()), "output-mode", "how the model is told of it; chosen for the provider unless given")
	set.BoolVar(&f.final, "final-answer", false, "at the last step that --max-steps allows, withhold the tools and ask for the answer")
	set.Var(priceFlag(&f.price), "price", "what the model costs: dollars for a million tokens, as in input=1.25,output=10[,cache_read=…,cache_write=…]")
	p.completeWith(command, "output", cobra.FixedCompletions([]cobra.Completion{"json"}, cobra.ShellCompDirectiveFilterFileExt))
	p.completeWith(command, "output-mode", cobra.FixedCompletions([]cobra.Completion{
		cobra.CompletionWithDesc(string(domain.OutputNative), "the provider's own feature"),
		cobra.CompletionWithDesc(string(domain.OutputTool), "a tool whose arguments are the answer"),
		cobra.CompletionWithDesc(string(domain.OutputInstruction), "a sentence in the system prompt"),
	}, cobra.ShellCompDirectiveNoFileComp))
}

// apply puts what was asked for into a definition, its price aside.
func (f *outputFlags) apply(d *domain.Definition) error {
	if f.final {
		d.Guards.FinalAnswer = true
	}
	switch {
	case f.schema == "" && f.mode != "":
		return usage("--output-mode: is given without a schema; name one with --output")
	case f.schema == "":
		return nil
	}
	var err error
	d.Format, err = readFormat(f.schema, f.mode)
	return err
}

// priced gives the model its price. One that is priced was asked for.
func (f *outputFlags) priced(definition, given *domain.Definition) error {
	switch {
	case f.price == nil:
		return nil
	case definition.Model.Provider == "":
		return usage("--price: is given without a model; name one with --model")
	}
	definition.Model.Price = f.price
	given.Model = definition.Model
	return nil
}

// readFormat reads the response format that a file with a JSON Schema makes,
// and checks it as a worker would.
func readFormat(path string, mode domain.OutputMode) (domain.ResponseFormat, error) {
	format, err := formatOf(path, mode)
	if err != nil {
		return domain.ResponseFormat{}, usage("--output: %s: %s", path, err)
	}
	return format, nil
}

func formatOf(path string, mode domain.OutputMode) (format domain.ResponseFormat, err error) {
	text, err := readSchema(path)
	if err != nil {
		return format, err
	}
	if len(text) > answers.MaxSchema {
		return format, fmt.Errorf("has more than %d bytes; give a smaller schema", answers.MaxSchema)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return format, errors.New("is no JSON object; give a JSON Schema such as {\"type\": \"object\", …}")
	}
	var schema struct {
		Title any `json:"title"`
	}
	var compact bytes.Buffer
	if json.Unmarshal(text, &schema) == nil && json.Compact(&compact, text) == nil { // else what is wrong is said below
		text = compact.Bytes()
	}
	title, _ := schema.Title.(string)
	format = domain.ResponseFormat{Type: domain.FormatSchema, Name: formatName(title, path), Schema: text, Mode: mode}
	if _, err := answers.Compile(format); err != nil {
		return format, errors.New(strings.TrimPrefix(err.Error(), "response_format.schema: "))
	}
	return format, nil
}

// readSchema reads a little more of a file than a schema may have.
func readSchema(path string) ([]byte, error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, errors.New("there is no such file; check the path")
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, answers.MaxSchema+1))
}

// maxFormatName is how long a provider lets the name of a format be.
const maxFormatName = 64

// formatName is what a format is called: by the title of its schema, else by its
// file, with what providers refuse replaced.
func formatName(title, path string) string {
	name := title
	if name == "" {
		name = filepath.Base(path)
		name = strings.TrimSuffix(strings.TrimSuffix(name, filepath.Ext(name)), ".schema")
	}
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
	if name = strings.Trim(name[:min(len(name), maxFormatName)], "_"); name == "" {
		return "answer"
	}
	return name
}

const priceForm = "give dollars for a million tokens by kind, such as input=1.25,output=10"

func priceFlag(target **domain.Price) flagValue {
	return flagValue{"KIND=DOLLARS,…", "", func(text string) (err error) {
		*target, err = readPrice(text)
		return err
	}}
}

// readPrice reads dollars for a million tokens by kind, such as input=1.25,output=10.
func readPrice(text string) (*domain.Price, error) {
	kinds := []string{"input", "output", "cache_read", "cache_write"}
	given := make(map[string]*int64)
	for part := range strings.SplitSeq(text, ",") {
		kind, dollars, ok := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !ok:
			return nil, fmt.Errorf("has the part %q without =; %s", domain.Shorten(part, 40), priceForm)
		case !slices.Contains(kinds, kind):
			return nil, fmt.Errorf("names %q, which is none of %s; %s", domain.Shorten(kind, 40), strings.Join(kinds, ", "), priceForm)
		case given[kind] != nil:
			return nil, fmt.Errorf("names %s twice; give it once", kind)
		}
		nano, err := readDollars(dollars)
		if err != nil {
			return nil, fmt.Errorf("has %s=%s, which %w", kind, domain.Shorten(dollars, 40), err)
		}
		given[kind] = &nano
	}
	if given["input"] == nil || given["output"] == nil {
		return nil, errors.New("needs both input and output; " + priceForm)
	}
	price := domain.Price{Input: *given["input"], Output: *given["output"], CacheRead: given["cache_read"], CacheWrite: given["cache_write"]}
	if err := price.Check(); err != nil {
		return nil, fmt.Errorf("is not in dollars for a million tokens: %w", err)
	}
	return &price, nil
}
