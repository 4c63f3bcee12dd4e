package agentfile

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"everstep/activities/document"
	"everstep/domain"
)

// A File is an agent as a file defines it.
type File struct {
	// Path is the file's name as it was given.
	Path string
	// Name is the agent's; the file's name without its ending unless given.
	Name        string
	Description string
	// Definition has no provider and no name of a model where the file names
	// none. What is absent in the file is zero: the worker that resolves the
	// definition sets the defaults.
	Definition domain.Definition
	// Dialect is the tool in whose form the file was read; empty: our own.
	Dialect string
	// Notes are what is to be known of a file of another tool, each with the file's name: what is ignored, and why.
	Notes []string
	// Doubts are what counts as it stands, and is most likely a mistake.
	Doubts document.Problems
	// Providers are the providers that it names, each at its place.
	Providers []Provider
}

// A Provider is one that a file names; whether there is such a one is known to workers alone.
type Provider struct {
	Name string
	// Place is a problem that says nothing yet.
	Place document.Problem
}

// Load reads an agent's file. Its error is of type document.Problems and holds
// all that is wrong; the File is then what could be read of it, good for showing
// only.
func (s Settings) Load(path string) (File, error) {
	data, err := readAgent(path)
	if err != nil {
		return File{Path: path, Name: stem(path)}, document.Problems{{File: path, Message: err.Error()}}
	}
	return s.Parse(path, data)
}

// Parse is Load for what the file holds. The path says which form it has, and
// from where on the files that it names are found.
func (s Settings) Parse(path string, data []byte) (File, error) {
	return newFamily(s).read(path, data).done()
}

// done is the file once it was read, and all that is wrong with it. What the rules find that every start has to pass has no
// place of its own.
func (a *agent) done() (File, error) {
	if len(a.Problems) == 0 {
		a.family.settle(&a.Definition)
		d := a.Definition
		if d.Model.Provider == "" {
			d.Model.Provider, d.Model.Model = "none", "none" // it may come from a flag
		}
		if err := d.Check(); err != nil {
			a.Problems = document.Problems{{File: a.Path, Message: err.Error()}}
		}
	}
	return a.File, a.Err()
}

func newAgent(path string, family *family) *agent {
	file, _, _ := within(path) // the name comes from the file itself, and leads nowhere
	a := &agent{folder: filepath.Dir(file), family: family, Reader: document.Reader{File: path, Form: document.Form{
		MaxSize: MaxSize, Needs: "give it at least `model: PROVIDER/NAME`", Keys: "`starter help agent-files` has all keys",
		Second: "keep one agent in a file, and put a system prompt below front matter into a file that ends in .md",
	}}}
	a.Path, a.Name, a.Definition.Source = path, stem(path), path
	return a
}

// Schema is the JSON Schema of an agent's file in YAML, for editors. A file
// that fits it may still have problems that only Load finds.
func Schema() *jsonschema.Schema {
	s := new(agent).keys().Schema()
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "Everstep agent"
	s.Description = "An agent in a file: YAML, or the front matter of Markdown, where the text below is the system prompt."
	return s
}

// fenced is front matter, and the text below.
var fenced = regexp.MustCompile(`(?s)^---[ \t]*\n((?:[^\n]*\n)*?)---[ \t]*(?:\n(?:\s*\n)?(.*))?$`)

// frontMatter parts a Markdown file into the YAML, and what is below, which
// begins at a line of the file.
func (a *agent) frontMatter(text string) (front, body string, bodyLine int, ok bool) {
	text, above := unwrapped(text)
	if found := fenced.FindStringSubmatch(text); found != nil {
		front, body, a.Offset = found[1], found[2], above+1
		return front, strings.TrimRight(body, " \t\n"), above + strings.Count(strings.TrimSuffix(text, body), "\n") + 1, true
	}
	parts := regexp.MustCompile(`(?m)^---\s*$`).Split(text, 3)
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	switch {
	case parts[0] == "":
		a.ProblemAt(1, 1, "", "the front matter has no end; put a line --- below its last key")
	case dialectOf(a.Path) == "":
		a.ProblemAt(1, 1, "", "has no front matter; let the first line be ---, then keys such as `model: PROVIDER/NAME`, then ---, then the system prompt")
	case len(parts) == 3 && limiting.MatchString(parts[1]):
		a.ProblemAt(1, 1, "", "stands above the front matter; let the first line be ---")
	case limiting.MatchString(first):
		a.ProblemAt(1, 1, "", "has a key that limits the agent, and no front matter; let the first line be ---, and another such line follow the keys")
	default:
		return "", strings.TrimSpace(text), 1, true
	}
	return "", "", 0, false
}

// An agent is a file that is being read.
type agent struct {
	document.Reader
	File
	// folder is where files are found that this one names.
	folder string
	// servers are the names of tools that the key mcp stands for.
	servers []string
	// family are its sub-agents.
	family *family
	// timeouts are of a request, to any of the models.
	timeouts domain.Timeouts
}

func (a *agent) keys() document.Keys {
	d := &a.Definition
	return document.Keys{
		{Name: "name", Doc: "The name by which commands find the agent; the file's name unless given.",
			Value: document.Text(&a.Name, checkName).Pattern(validName)},
		{Name: "description", Doc: "What the agent is for, shown in lists.", Value: document.Text(&a.Description)},
		{Name: "model", Doc: "Who answers: PROVIDER/NAME, or a mapping that says more. May be left out where --model is given.",
			Value: a.model(&d.Model)},
		{Name: "fallbacks", Doc: "Models that take over, in this order, where the one before fails for good: each PROVIDER/NAME, or a mapping that says more.",
			Value: document.ListOf(&d.Fallbacks, a.fallback)},
		{Name: "system_prompt", Doc: "The system prompt. In Markdown it is the text below the front matter instead.",
			Value: document.Text(&d.SystemPrompt, checkPrompt)},
		{Name: "show_trusted", Doc: "The trusted values that the model is shown, after the system prompt, each by name: a list, or a text with commas. It sees no other.",
			Value: document.Names(&d.ShowTrusted, "trusted value", validTrusted, matches(validTrusted, "name of a trusted value; use 1 to 64 of a-z, 0-9 and _"))},
		{Name: "tools", Doc: "The tools that the agent may use, each by name: a list, a text with commas, or what is allowed less what is denied. There are no wildcards.",
			Value: tools(&d.Tools, &a.Doubts)},
		{Name: "mcp", Doc: "MCP servers of the worker, by name, whose tools the agent may use: a list, or a text with commas, for all tools that each has when an execution begins, or a mapping from each to a list of its tools.",
			Value: servers(&a.servers)},
		{Name: "hooks", Doc: "Hooks of the worker that the agent uses, each by name: a list, or a text with commas.",
			Value: document.Names(&d.Hooks, "hook", "")},
		{Name: "approvals", Doc: "Which tool calls run by themselves, wait for a person or never run: a word for all of them, or rules, of which the first that matches decides. What no rule matches runs where the tool only reads, and else waits. Unless given, the worker says.",
			Value: approvals(&d.Approvals)},
		{Name: "budget", Doc: "The limits of one execution. One that is left out does not limit, max_steps aside; zero lets nothing happen.",
			Value: budget(&d.Budget, false)},
		{Name: "session_budget", Doc: "The limits of all executions of a session together, sub-agents included, where each has its own in budget. There is none of time: a session may be idle for days.",
			Value: budget(&d.SessionBudget, true)},
		{Name: "guards", Doc: "What stops an agent that has lost its way.", Value: guards(&d.Guards)},
		{Name: "response_format", Doc: "What the answer has to be: text, json_object, or a mapping with a schema.",
			Value: a.format(&d.Format)},
		{Name: "compiler", Doc: "What of the conversation the model sees: whole_conversation, current_trace, selected_sections, or a worker's own; `starter help hooks` tells them apart.",
			Value: compiler(&d.Compiler)},
		{Name: "sections", Doc: "The sections that the compiler selected_sections shows, in order: a list, or a text with commas.",
			Value: document.Names(&d.Sections, "section", "")},
		{Name: "compaction", Doc: "When a conversation is made shorter for the model, in percent of its context window. off never does it.",
			Value: compaction(&d.Compaction)},
		{Name: "retry", Doc: "How often a try that failed is made again.", Value: document.Mapping(document.Keys{
			{Name: "attempts", Doc: "At most so many tries of one inference, workers that are lost with it aside, or of one repeatable tool call.",
				Value: count(&d.Attempts, 1, maxAttempts).Default(domain.DefaultAttempts)},
		})},
		{Name: "timeouts", Doc: "Bounds of one attempt, as durations such as 30s or 5m.", Value: document.Mapping(document.Keys{
			{Name: "inference", Doc: "For one answer of the model.", Value: duration(&d.InferenceTimeout).Default(span(domain.DefaultInferenceTimeout))},
			{Name: "tool", Doc: "For tools that set no bound themselves.", Value: duration(&d.ToolTimeout).Default(span(domain.DefaultToolTimeout))},
			{Name: "connect", Doc: "Until a connection to the model is ready; the worker's unless given.", Value: duration(&a.timeouts.Connect)},
			{Name: "first_byte", Doc: "Until the model's answer begins; the worker's unless given.", Value: duration(&a.timeouts.FirstByte)},
			{Name: "idle", Doc: "The longest pause inside an answer; the worker's unless given.", Value: duration(&a.timeouts.Idle)},
		})},
		{Name: "idle_timeout", Doc: "After so long without an execution, or a word of people such as unsuspend or update, a session closes itself, unless calls of unknown outcome are unresolved: a duration such as 72h. Unless given it stays open.",
			Value: duration(&d.IdleTimeout)},
		{Name: "subagents", Doc: "Other agents that it may start, each by a name: a file, or a mapping that says more.", Value: a.others(spawned)},
		{Name: "agents", Doc: "Other agents that it may start as tools of their own, each with a description: a list of files, or of names of files beside this one, or a mapping as in subagents.",
			Value: a.listedOthers(asTools)},
		{Name: "handoffs", Doc: "Other agents to which it may hand the conversation over for good, each with a description: as in agents.",
			Value: a.listedOthers(handedTo)},
		{Name: "subagent_policy", Doc: "What sub-agents may have, and theirs in turn.", Value: subagentPolicy(&d.SubagentPolicy).ShownIf(len(d.Subagents) > 0)},
	}
}

const (
	validName   = `^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`
	maxAttempts = 1000
	// maxTimes bounds how many steps in a row are too many.
	maxTimes = 1_000_000
)

func checkName(name string) string {
	return matches(validName, "name; use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first")(name)
}

// matches returns what is wrong with a text that a pattern does not match.
func matches(pattern, what string) func(text string) string {
	return func(text string) string {
		if regexp.MustCompile(pattern).MatchString(text) {
			return ""
		}
		return fmt.Sprintf("%q is no %s", document.Shorten(text), what)
	}
}

func duration(into *time.Duration) document.Value {
	return document.Duration(func(d time.Duration) { *into = d }).Shows(span(*into))
}

func count[N int | int64](into *N, least, most int64) document.Value {
	return document.Count(least, most, func(n int64) { *into = N(n) }).Shows(*into)
}

func number(into **float64, most float64) document.Value {
	return document.Number(most, func(n float64) { *into = &n }).Shows(*into)
}

func truth(into *bool) document.Value {
	return document.Truth(func(yes bool) { *into = yes }).Shows(*into)
}

func (a *agent) read(text string) {
	if _, name, ok := within(a.Path); ok {
		if root := a.settings(text); root != nil {
			a.readSettings(root, name)
		}
		return
	}
	body, bodyLine, markdown, either, titled := "", 0, ends(a.Path, ".md, .markdown"), false, false
	if markdown {
		var ok bool
		if text, body, bodyLine, ok = a.frontMatter(text); !ok {
			return
		}
		words := newVocabulary()
		front := words.mended(text)
		if a.Dialect = words.dialect(a.Path, front); a.Dialect != "" {
			a.readForeign(words, front, body, bodyLine)
			return
		}
		name := document.Member(front.node, "name")
		titled = name != nil && checkName(name.Value) != ""
		either = front.broken == "" && len(front.names) > 0 && !slices.ContainsFunc(front.names, words.ours)
	}
	given := a.Read(text, a.keys())
	if either && (given == nil || titled) {
		a.Problems[0].Message += "; one of another tool is read as it is where that has its agents, such as .claude/agents"
	}
	if given == nil {
		return
	}
	d := &a.Definition
	d.Tools = append(d.Tools, a.servers...)
	d.Model.Timeouts = a.timeouts
	for i := range d.Fallbacks {
		d.Fallbacks[i].Model.Timeouts = a.timeouts
	}
	if markdown {
		if len(a.Problems) == 0 && given["description"] != nil && (len(given) == 1 || len(given) == 2 && given["name"] != nil) {
			a.Notes = append(a.Notes, a.Path+": could be another tool's, too; read as ours it has no tools, and in .claude/agents it would have all of the worker's")
		}
		if prompt := given["system_prompt"]; prompt != nil {
			a.At("system_prompt", prompt).Problem("belongs below the front matter in Markdown; move its text there")
		}
		a.prompt(body, bodyLine)
	}
	a.selected(given)
	for _, sub := range d.Handoffs { // those that stand in this file see the conversation as the agent itself does
		if own := a.family.agents[sub.Agent]; strings.HasPrefix(sub.Agent, a.Path+"#") {
			own.Compiler, own.Sections = d.Compiler, d.Sections
			a.family.agents[sub.Agent] = own
		}
	}
	a.family.inherits[a.Path] = given["tools"] == nil && given["mcp"] == nil
}

// prompt takes the text below front matter, which begins at a line.
func (a *agent) prompt(body string, line int) {
	if wrong := checkPrompt(body); wrong != "" {
		a.ProblemAt(line, 1, "system_prompt", "%s", wrong)
	}
	a.Definition.SystemPrompt = body
}

// selected checks that sections are listed where they are shown, and only there.
func (a *agent) selected(given document.Given) {
	d, sections, compiler := a.Definition, given["sections"], given["compiler"]
	switch wanted := d.Compiler == domain.SelectedSections; {
	case wanted && (sections == nil || d.Sections != nil && len(d.Sections) == 0):
		a.At("sections", cmp.Or(sections, compiler)).Problem("has to name the sections that compiler %s shows", domain.SelectedSections)
	case !wanted && sections != nil && (compiler == nil || d.Compiler != ""):
		a.At("sections", sections).Problem("has a meaning with `compiler: %s` alone; add that or leave sections out", domain.SelectedSections)
	}
}

// budget are limits of an execution, or of all executions of a session.
func budget(b *domain.ExecutionBudget, session bool) document.Value {
	var keys document.Keys
	for _, rule := range domain.LimitRules() {
		key := document.Key{Name: string(rule.Limit), Doc: strings.ToUpper(rule.Help[:1]) + rule.Help[1:] + ".", Value: limit(b, rule)}
		switch {
		case session && !slices.Contains(domain.SessionLimits(), rule.Limit):
			continue
		case session:
			key.Doc = "Over all its executions, " + rule.Help + "."
		case rule.Limit == domain.LimitSteps:
			key.Doc += fmt.Sprintf(" Where neither the file nor who starts the agent says it, %d; none takes that away. A sub-agent draws from those of the agent that starts it.", domain.DefaultMaxSteps)
			key.Value = document.OrNone(key.Value, func() { b.MaxSteps, b.MaxStepsFrom = nil, domain.StepsNone })
			if b.MaxStepsFrom == domain.StepsNone {
				key.Value.Shown = domain.StepsNone
			}
		}
		keys = append(keys, key)
	}
	return document.Mapping(keys)
}

// limit is one limit, in the words of its unit.
func limit(b *domain.ExecutionBudget, rule domain.LimitRule) (v document.Value) {
	then := func(total domain.Amount) { *b = rule.With(*b, total) }
	counted := func(n int64) { then(domain.Count(rule.Unit, n)) }
	total, limited := rule.Total(*b)
	switch rule.Unit {
	case domain.UnitNanoUSD:
		v = document.Dollars("dollars", document.USD, counted)
		v.Shown = domain.USD(total.Int())
	case domain.UnitMilliseconds:
		v = document.Number(domain.MaxBudgetSeconds, func(s float64) { then(domain.Seconds(s)) })
		v.Shown = total.Seconds()
	case domain.UnitTime:
		v = document.Time(func(t time.Time) { then(domain.Moment(t)) })
		v.Shown = total.Time()
	default:
		v = document.Count(0, math.MaxInt64, counted)
		v.Shown = total.Int()
	}
	return v.ShownIf(limited)
}

func guards(g *domain.Guards) document.Value {
	var keys document.Keys
	for _, rule := range domain.GuardRules() {
		if rule.Key != "" {
			keys = append(keys, document.Key{Name: rule.Key, Doc: rule.Help, Value: guard(rule, g)})
		}
	}
	return document.Mapping(keys)
}

// guard is what one of them is set to.
func guard(rule domain.GuardRule, g *domain.Guards) (v document.Value) {
	switch into := rule.Value(g).(type) {
	case *[]domain.FinishReason:
		v = document.ListOf(into, wordOf)
		v.Shown = append([]domain.FinishReason{}, *into...) // where there are none, too
	case **domain.Repetition:
		v = repetition(into)
	case **int:
		v = document.Count(0, int64(rule.Most), func(n int64) { *into = new(int(n)) }).Shows(*into).Default(rule.Default)
	case *bool:
		v = truth(into).Default(false)
	}
	return v
}

// repetition is off, or when a model that repeats itself is told and stopped.
// What is left out has its default.
func repetition(into **domain.Repetition) document.Value {
	watch := *cmp.Or(*into, &domain.Repetition{Nudge: domain.DefaultNudge, Stop: domain.DefaultStop})
	return document.OffOr(watch == domain.Repetition{}, func() { *into = &domain.Repetition{} }, "nudge_after and stop_after",
		document.Mapping(document.Keys{
			{Name: "nudge_after", Doc: "2 or more; 0 for never.", Value: times(&watch.Nudge)},
			{Name: "stop_after", Doc: "2 or more; 0 for never.", Value: times(&watch.Stop)},
		}).Then(func(at document.Place) {
			if watch.Stop > 0 && watch.Nudge >= watch.Stop {
				at.Problem("nudge_after is %d and stop_after %d; the nudge has to come first", watch.Nudge, watch.Stop)
				return
			}
			*into = &watch
		}))
}

// times is how many steps in a row are too many: 2 or more, or 0 for never.
func times(into *int) document.Value {
	return count(into, 0, maxTimes).Not(1).Default(*into).Then(func(at document.Place) {
		if *into == 1 {
			at.Problem("is 1; give 2 or more, or 0 for never")
		}
	})
}

func compaction(into *domain.Compaction) document.Value {
	c := *into
	defaults := c.WithDefaults()
	return document.OffOr(c.Off, func() { into.Off = true }, "trigger_percent and target_percent",
		document.Mapping(document.Keys{
			{Name: "trigger_percent", Doc: "What a conversation has to fill before it is made shorter.", Value: count(&c.TriggerPercent, 10, 95).Default(defaults.TriggerPercent)},
			{Name: "target_percent", Doc: "What it fills afterwards, about; below trigger_percent.", Value: count(&c.TargetPercent, 1, 94).Default(defaults.TargetPercent)},
		}).Then(func(at document.Place) {
			if d := c.WithDefaults(); d.TargetPercent >= d.TriggerPercent {
				at.Problem("target_percent is %d and trigger_percent %d; the target has to be below", d.TargetPercent, d.TriggerPercent)
				return
			}
			*into = c
		}))
}
