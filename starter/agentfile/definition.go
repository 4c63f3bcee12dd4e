package agentfile

import (
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
)

var validName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

func checkName(name string) string {
	if !validName.MatchString(name) {
		return fmt.Sprintf("%q is no name; use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first", shorten(name))
	}
	return ""
}

// definition reads the keys of the file.
func (r *reader) definition(root *yaml.Node, s source, f *File) {
	d := &f.Definition
	var parts domain.Timeouts // of a request, to any of the models
	keys := r.mapping("", root,
		r.text("name", &f.Name, checkName),
		r.text("description", &f.Description),
		key{"model", func(field string, node *yaml.Node) { r.model(field, node, &d.Model) }},
		key{"fallbacks", func(field string, node *yaml.Node) { d.Fallbacks = r.fallbacks(field, node) }},
		r.text("system_prompt", &d.SystemPrompt, checkPrompt),
		key{"tools", func(field string, node *yaml.Node) { d.Tools = r.tools(field, node) }},
		key{"hooks", func(field string, node *yaml.Node) { d.Hooks = r.names(field, node, "hook") }},
		key{"budget", func(field string, node *yaml.Node) { r.budget(field, node, &d.Budget) }},
		key{"guards", func(field string, node *yaml.Node) { r.guards(field, node, &d.Guards) }},
		key{"response_format", func(field string, node *yaml.Node) { r.format(field, node, &d.Format) }},
		key{"compiler", func(field string, node *yaml.Node) { r.compiler(field, node, &d.Compiler) }},
		key{"sections", func(field string, node *yaml.Node) { d.Sections = r.names(field, node, "section") }},
		key{"compaction", func(field string, node *yaml.Node) { r.compaction(field, node, &d.Compaction) }},
		key{"retry", func(field string, node *yaml.Node) {
			r.mapping(field, node, r.count("attempts", 1, maxAttempts, func(n int64) { d.Attempts = int(n) }))
		}},
		key{"timeouts", func(field string, node *yaml.Node) { r.timeouts(field, node, d, &parts) }},
		key{"subagents", r.subagents},
	)
	d.Model.Timeouts = parts
	for i := range d.Fallbacks {
		d.Fallbacks[i].Model.Timeouts = parts
	}
	r.prompt(keys["system_prompt"], s, d)
	r.selected(keys, *d)
	if len(r.problems) == 0 {
		r.whole(*d)
	}
}

// maxAttempts bounds the tries of one inference.
const maxAttempts = 1000

func checkPrompt(text string) string {
	if len(text) > domain.MaxSystemPrompt {
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(text), domain.MaxSystemPrompt)
	}
	return ""
}

// prompt takes the text below the front matter.
func (r *reader) prompt(given *yaml.Node, s source, d *domain.Definition) {
	const field = "system_prompt"
	if !s.markdown {
		return
	}
	if given != nil {
		r.problem(given, field, "belongs below the front matter in Markdown; move its text there")
		return
	}
	if wrong := checkPrompt(s.body); wrong != "" {
		r.problemAt(s.bodyLine, 1, field, "%s", wrong)
		return
	}
	d.SystemPrompt = s.body
}

// selected checks that sections are listed where they are shown, and only there.
func (r *reader) selected(keys map[string]*yaml.Node, d domain.Definition) {
	sections, compiler := keys["sections"], keys["compiler"]
	switch wanted := d.Compiler == domain.SelectedSections; {
	case wanted && sections == nil:
		r.problem(compiler, "sections", "is missing; compiler %s needs the names of the sections to show", domain.SelectedSections)
	case wanted && d.Sections != nil && len(d.Sections) == 0:
		r.problem(sections, "sections", "is empty; compiler %s needs the names of the sections to show", domain.SelectedSections)
	case !wanted && sections != nil && (compiler == nil || d.Compiler != ""):
		r.problem(sections, "sections", "has a meaning with `compiler: %s` alone; add that or leave sections out", domain.SelectedSections)
	}
}

// whole is a last look at the definition with the rules that every start has
// to pass. What it finds has no place of its own.
func (r *reader) whole(d domain.Definition) {
	if d.Model.Provider == "" {
		d.Model.Provider, d.Model.Model = "none", "none" // it may come from a flag
	}
	if err := d.Check(); err != nil {
		r.problems = append(r.problems, Problem{File: r.file, Message: err.Error()})
	}
}

// compiler reads the name of one of ours, or of a worker's own.
func (r *reader) compiler(field string, node *yaml.Node, into *domain.Compiler) {
	text, ok := r.scalarText(field, node)
	if !ok {
		return
	}
	var c domain.Compiler
	if err := c.UnmarshalText([]byte(text)); err != nil {
		r.problem(node, field, "%q is no name of a compiler; use lower-case letters, digits and underscores, %d at most", shorten(text), domain.MaxCompilerName)
		return
	}
	if !c.Builtin() {
		builtin := make([]string, len(domain.Compilers()))
		for i, known := range domain.Compilers() {
			builtin[i] = string(known)
		}
		if near, ok := nearName(text, builtin); ok {
			r.problem(node, field, "%q is too like one of ours; did you mean %s?", text, near)
			return
		}
	}
	*into = c
}

// compaction reads off, or its percentages.
func (r *reader) compaction(field string, node *yaml.Node, into *domain.Compaction) {
	if off(node) {
		into.Off = true
		return
	}
	if node.Kind == yaml.ScalarNode {
		r.problem(node, field, "is %q; give off, or a mapping with trigger_percent and target_percent", shorten(node.Value))
		return
	}
	var c domain.Compaction
	before := len(r.problems)
	r.mapping(field, node,
		r.count("trigger_percent", 10, 95, func(n int64) { c.TriggerPercent = int(n) }),
		r.count("target_percent", 1, 94, func(n int64) { c.TargetPercent = int(n) }),
	)
	if d := c.WithDefaults(); len(r.problems) == before && d.TargetPercent >= d.TriggerPercent {
		r.problem(node, field, "target_percent is %d and trigger_percent %d; the target has to be below", d.TargetPercent, d.TriggerPercent)
		return
	}
	*into = c
}

// subagents checks the form of what this version cannot obey.
func (r *reader) subagents(field string, node *yaml.Node) {
	if r.is(field, node, yaml.SequenceNode) {
		r.list(field, node, func(field string, node *yaml.Node) { r.scalarText(field, node) })
	}
	r.problem(node, field, "this version cannot run sub-agents; leave the key out")
}
