package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	answers "everstep/activities/output"
	"everstep/domain"
	"everstep/domain/enum"
	"everstep/starter/agentfile"
	"everstep/starter/client"
)

// A flagValue is a flag of a kind, whose text set reads; initial is its default.
type flagValue struct {
	kind, initial string
	set           func(string) error
}

func (f flagValue) String() string        { return f.initial }
func (f flagValue) Type() string          { return f.kind }
func (f flagValue) Set(text string) error { return f.set(text) }

func choiceFlag[E ~string](target *E, among []E) flagValue {
	return flagValue{enum.Names(among, "|"), string(*target), func(text string) error {
		if !slices.Contains(among, E(text)) {
			return fmt.Errorf("is none of %s", enum.Names(among, ", "))
		}
		*target = E(text)
		return nil
	}}
}

// choicesFlag takes several, with commas between them.
func choicesFlag[E ~string](kind string, target *[]E, among []E) flagValue {
	return flagValue{kind, "", func(text string) error {
		var names []string
		if err := readNames(&names, text); err != nil {
			return err
		}
		for _, name := range names {
			switch {
			case slices.Contains(among, E(name)):
				*target = append(*target, E(name))
			case len(names) == 1:
				return fmt.Errorf("is none of %s", enum.Names(among, ", "))
			default:
				return fmt.Errorf("has %q, which is none of %s", name, enum.Names(among, ", "))
			}
		}
		return nil
	}}
}

// textFlag takes no empty text: it is most likely a shell variable that is not set.
func textFlag(target *string) flagValue {
	return flagValue{"string", "", func(text string) error {
		if text == "" {
			return errors.New("is empty; give a name, or leave it out")
		}
		*target = text
		return nil
	}}
}

func durationFlag(target *time.Duration) flagValue {
	return flagValue{"duration", "", func(text string) error {
		d, err := time.ParseDuration(text)
		switch {
		case err != nil:
			return errors.New("is no duration; write it like 30s or 1m30s")
		case d < 0:
			return errors.New("is negative; give a duration from 0 on, such as 30s")
		}
		*target = d
		return nil
	}}
}

func numberFlag(target *int, least, most int) flagValue {
	return flagValue{"number", "", func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return fmt.Errorf("is no whole number from %d to %d", least, most)
		}
		*target = n
		return nil
	}}
}

// rawFlag adds the flag that has answers written as they are.
func rawFlag(command *cobra.Command, p *program) {
	command.Flags().BoolVar(&p.flags.raw, "raw", false, "write the answer as it is: else control characters are taken out, or shown on a terminal")
}

// executionFlag adds the flag that names an execution by its number.
func executionFlag(command *cobra.Command, number *int) {
	command.Flags().Var(numberFlag(number, 1, 1<<31-1), "execution", "which execution; the newest unless given")
}

// saidFlags add the flags that say who does it, the person here unless given, and why.
func saidFlags(command *cobra.Command, by *string, who string, reason *string, why string) {
	command.Flags().StringVar(reason, "reason", "", "a `TEXT` "+why)
	command.Flags().StringVar(by, "by", person(), "`WHO` "+who)
}

// limitFlags add a flag for each limit of a budget.
func (p *program) limitFlags(set *pflag.FlagSet, budget *domain.ExecutionBudget) {
	for _, rule := range domain.LimitRules() {
		kind, help := limitFlag(rule, rule.Help)
		if rule.Limit == domain.LimitSteps {
			kind += "|" + noLimit
			help += fmt.Sprintf("; %d unless something says it, which %s takes away", domain.DefaultMaxSteps, noLimit)
		}
		set.Var(flagValue{kind: kind, set: func(text string) error { return p.readLimit(budget, rule, text) }}, rule.Limit.Flag(), help)
	}
}

// noLimit takes a limit away.
const noLimit = "none"

// totalFlags add flags that set a limit anew, or take it away. The last counts.
func (p *program) totalFlags(set *pflag.FlagSet, totals *client.ExtendOptions) {
	for _, rule := range domain.LimitRules() {
		help, _, _ := strings.Cut(rule.Help, ",")
		if rule.Unit != domain.UnitTime {
			help += " in all"
		}
		kind, help := limitFlag(rule, help)
		set.Var(flagValue{kind: kind + "|" + noLimit, set: func(text string) error { return p.readTotal(totals, rule, text) }}, rule.Limit.Flag(), help)
	}
}

// readTotal reads a new total, or that there is to be none.
func (p *program) readTotal(totals *client.ExtendOptions, rule domain.LimitRule, text string) error {
	totals.Lift = slices.DeleteFunc(totals.Lift, func(l domain.Limit) bool { return l == rule.Limit })
	if text != noLimit {
		return p.readLimit(&totals.Budget, rule, text)
	}
	totals.Budget = totals.Budget.Extended(domain.ExecutionBudget{}, []domain.Limit{rule.Limit})
	totals.Budget.MaxStepsFrom = "" // the lift says it
	totals.Lift = append(totals.Lift, rule.Limit)
	return nil
}

// limitFlag is what the flag of a limit takes, in a word, and its whole help.
func limitFlag(rule domain.LimitRule, help string) (kind, _ string) {
	switch rule.Unit {
	case domain.UnitNanoUSD:
		return "dollars", help
	case domain.UnitMilliseconds:
		return "seconds", help
	case domain.UnitTime:
		return "time", help + ": a time such as 2030-01-31T12:00:00Z, or a duration from now such as 90s"
	default:
		return "count", help
	}
}

// readLimit reads a limit of a budget. Of steps there may be none, not even the default.
func (p *program) readLimit(budget *domain.ExecutionBudget, rule domain.LimitRule, text string) (err error) {
	if rule.Limit == domain.LimitSteps && text == noLimit {
		budget.MaxSteps, budget.MaxStepsFrom = nil, domain.StepsNone
		return nil
	}
	var n int64
	var total domain.Amount
	switch rule.Unit {
	case domain.UnitMilliseconds:
		total, err = readSeconds(text)
	case domain.UnitTime:
		total, err = readDeadline(text, p.now())
	case domain.UnitNanoUSD:
		n, err = readDollars(text)
		total = domain.Count(rule.Unit, n)
	default:
		n, err = readCount(text)
		total = domain.Count(rule.Unit, n)
	}
	if err == nil {
		*budget = rule.With(*budget, total)
	}
	return err
}

func readCount(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("is out of range; give a whole number from 0 to %d, or none for no limit", int64(math.MaxInt64))
	case err != nil:
		return 0, errors.New("is no whole number; give one from 0 on, or none for no limit")
	case n < 0:
		return 0, errors.New("is negative; give a whole number from 0 on, or none for no limit")
	}
	return n, nil
}

// readDollars reads a sum such as 0.5 or $2, as nano-dollars.
func readDollars(text string) (int64, error) { return domain.ParseUSD(strings.TrimSpace(text)) }

func readSeconds(text string) (none domain.Amount, _ error) {
	s, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && s > domain.MaxBudgetSeconds:
		return none, fmt.Errorf("is out of range; give a number from 0 to %.0f, or none for no limit", domain.MaxBudgetSeconds)
	case err != nil || math.IsNaN(s):
		return none, errors.New("is no number of seconds; give one such as 30 or 1.5, or none for no limit")
	case s < 0:
		return none, errors.New("is negative; give a number from 0 on, or none for no limit")
	}
	return domain.Seconds(s), nil
}

func readDeadline(text string, now time.Time) (none domain.Amount, _ error) {
	const fix = "give a time to come such as 2030-01-31T12:00:00Z, or a duration from now such as 90s"
	deadline, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d, err := time.ParseDuration(text)
		if err != nil {
			return none, errors.New("is neither a time nor a duration; " + fix)
		}
		deadline = now.Add(d)
	}
	if !deadline.After(now) {
		return none, errors.New("is in the past; " + fix)
	}
	return domain.Moment(deadline.UTC()), nil
}

// modelFlags name a model, and say what no worker may know of it.
type modelFlags struct {
	model  string
	price  *domain.Price
	window int
}

func (f *modelFlags) registerModel(command *cobra.Command, help string) {
	set := command.Flags()
	set.StringVar(&f.model, "model", "", "`PROVIDER/MODEL`: "+help)
	set.Var(priceFlag(&f.price), "price", "what the model costs: dollars for a million tokens, as in input=1.25,output=10; cache_read and cache_write too, where they differ")
	set.Var(numberFlag(&f.window, 1, agentfile.MaxTokens), "context-window", "how many tokens the model can read, where the worker does not know it")
	completeWith(command, "model", completeModels)
}

// chosen is the model; nil: none is named.
func (f *modelFlags) chosen() (*domain.LLMConfig, error) {
	model, err := f.over(domain.LLMConfig{})
	if err != nil || f.model == "" {
		return nil, err
	}
	return &model, nil
}

// agentFlag adds the flag that names an agent's file.
func (p *program) agentFlag(command *cobra.Command, target *string, help string) {
	command.Flags().Var(textFlag(target), "agent", "the `FILE` that defines "+help)
	completeWith(command, "agent", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return p.agentNames(nil), cobra.ShellCompDirectiveDefault
	})
}

// over is the model that is named, else one that something else names, with the price and the window that are given.
func (f *modelFlags) over(model domain.LLMConfig) (_ domain.LLMConfig, err error) {
	if f.model != "" {
		model, err = instead(model, "model", f.model)
	}
	switch {
	case err != nil:
	case model.Provider != "":
		model.Price = cmp.Or(f.price, model.Price)
		model.ContextWindow = cmp.Or(int64(f.window), model.ContextWindow)
	case f.price != nil:
		err = usage("--price: is given without a model; name one with --model")
	case f.window > 0:
		err = usage("--context-window: is given without a model; name one with --model")
	}
	return model, err
}

type outputFlags struct {
	schema string // the file that says what the answer must be
	mode   domain.OutputMode
	final  bool // withholds the tools at the last step that --max-steps allows
}

func (f *outputFlags) register(command *cobra.Command) {
	set := command.Flags()
	set.Var(textFlag(&f.schema), "output", "the `FILE` of a JSON Schema that the answer must fit; the model is asked again where it does not")
	set.Var(choiceFlag(&f.mode, enum.Known[domain.OutputMode]()), "output-mode", "how the model is told of it; chosen for the provider unless given")
	set.BoolVar(&f.final, "final-answer", false, "at the last step that --max-steps allows, withhold the tools and ask for the answer")
	completeWith(command, "output", cobra.FixedCompletions([]cobra.Completion{"json"}, cobra.ShellCompDirectiveFilterFileExt))
	completeWith(command, "output-mode", cobra.FixedCompletions([]cobra.Completion{
		cobra.CompletionWithDesc(string(domain.OutputNative), "the provider's own feature"),
		cobra.CompletionWithDesc(string(domain.OutputTool), "a tool whose arguments are the answer"),
		cobra.CompletionWithDesc(string(domain.OutputInstruction), "a sentence in the system prompt"),
	}, cobra.ShellCompDirectiveNoFileComp))
}

// apply puts what was asked for into a definition.
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
	if d.Format, err = readFormat(f.schema, f.mode); err != nil {
		return usage("--output: %s: %s", f.schema, err)
	}
	return nil
}

// readFormat makes a response format of a JSON Schema, checked as by a worker.
func readFormat(path string, mode domain.OutputMode) (format domain.ResponseFormat, err error) {
	text, err := readPlain(path, answers.MaxSchema, "the schema")
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
	name, _ := schema.Title.(string)
	if name == "" {
		name = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), ".schema")
	}
	format = domain.ResponseFormat{Type: domain.FormatSchema, Name: answers.NameOf(name), Schema: text, Mode: mode}
	if _, err := answers.Compile(format); err != nil {
		return format, errors.New(strings.TrimPrefix(err.Error(), "response_format.schema: "))
	}
	return format, nil
}

// readPlain reads a file, and a little more of it than it may have.
func readPlain(path string, most int64, what string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil, errors.New("there is no such file; check the path")
	case err == nil && !info.Mode().IsRegular(): // a pipe may have nobody at its other end
		return nil, fmt.Errorf("is no plain file; put %s in one", what)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most+1))
}

const priceForm = "give dollars for a million tokens by kind, such as input=1.25,output=10"

func priceFlag(target **domain.Price) flagValue {
	return flagValue{"KIND=DOLLARS,...", "", func(text string) (err error) {
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
