package contract

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"everstep/domain"
)

// A Change says how a configuration differs from the one before it. It is what status, explain, diff and update show.
type Change struct {
	// Number is of the execution from which on it holds, At when that was resolved; zero: it was not yet.
	Number int       `json:"execution_number"`
	At     time.Time `json:"at,omitzero"`
	// Agent is the one to which the model has handed the conversation over, from Step on. Absent: it did not.
	Agent string `json:"agent,omitzero"`
	Step  int    `json:"step,omitzero"`
	// ToolsAdded and ToolsRemoved are by name, ToolsChanged those that are another under the same name.
	ToolsAdded   []string     `json:"tools_added,omitempty"`
	ToolsRemoved []string     `json:"tools_removed,omitempty"`
	ToolsChanged []ToolChange `json:"tools_changed,omitempty"`
	// MoreTools counts those beyond MaxChangedTools.
	MoreTools int `json:"more_tools,omitzero"`
	// Fields are what else differs, by the keys of Resolved and of its definition.
	Fields []string `json:"fields"`
	// UpdateNotes are of whoever gave the session another definition; none: nobody has, the workers have changed.
	UpdateNotes
}

// A ToolChange names what differs of a tool, by the keys of domain.ToolSpec.
type ToolChange struct {
	Name   string   `json:"name"`
	Fields []string `json:"fields"`
}

// A ChangeNote says who has given a session another definition, when and why.
type ChangeNote struct {
	By     string    `json:"by,omitzero"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitzero"`
	// Asked are the keys that were given; none: all of the definition.
	Asked []string `json:"asked,omitempty"`
}

// UpdateNotes are of the updates that take effect together.
type UpdateNotes struct {
	// Updates are the newest, the newest last, and MoreUpdates counts the others.
	Updates     []ChangeNote `json:"updates,omitempty"`
	MoreUpdates int          `json:"more_updates,omitzero"`
}

const (
	// MaxChanges bounds how many changes a session remembers, the newest.
	MaxChanges = 8
	// MaxChangedTools bounds how many tools of each kind a change names.
	MaxChangedTools = 16
	// MaxUpdates bounds how many updates a change names, the newest.
	MaxUpdates = 5
	// maxToolName bounds what is kept of a tool's name.
	maxToolName = 64
)

// And are the notes with later ones.
func (n UpdateNotes) And(later UpdateNotes) UpdateNotes {
	all := slices.Concat(n.Updates, later.Updates)
	for i := range max(len(all)-1, 0) {
		all[i].Reason = domain.Shorten(all[i].Reason, 200)
	}
	more := max(len(all)-MaxUpdates, 0)
	return UpdateNotes{all[more:], n.MoreUpdates + later.MoreUpdates + more}
}

// Diff compares two configurations: as workers have resolved them, or by their definitions where one of them was not. Limits
// of rate and the timing are no part of it: they are the worker's, and come and go. What differs in nothing has no notes of
// updates, if both are resolved: an update that another one has taken back is no change.
func Diff(before, after Config) Change {
	was, is := before.Resolved, after.Resolved
	if was == nil || is == nil {
		return Change{Fields: append([]string{}, before.Definition.Differing(after.Definition)...), UpdateNotes: after.UpdateNotes}
	}
	var change Change
	for _, now := range is.Tools {
		then, there := was.Tool(now.Name)
		switch fields := domain.Differing(then, now); {
		case !there:
			change.ToolsAdded = append(change.ToolsAdded, domain.Shorten(now.Name, maxToolName))
		case len(fields) > 0:
			change.ToolsChanged = append(change.ToolsChanged, ToolChange{domain.Shorten(now.Name, maxToolName), fields})
		}
	}
	for _, then := range was.Tools {
		if _, there := is.Tool(then.Name); !there {
			change.ToolsRemoved = append(change.ToolsRemoved, domain.Shorten(then.Name, maxToolName))
		}
	}
	change.MoreTools = cut(&change.ToolsAdded) + cut(&change.ToolsRemoved) + cut(&change.ToolsChanged)
	change.Fields = slices.Concat([]string{}, domain.Differing(*was, *is, "definition", "tools", "rate_limit", "tool_limits", "timing", "digest", "listed", "unchanged"),
		domain.Differing(was.Definition, is.Definition, "tools", "source"))
	slices.Sort(change.Fields)
	change.Fields = slices.Compact(change.Fields)
	if !change.IsZero() {
		change.UpdateNotes = after.UpdateNotes
	}
	return change
}

// cut shortens a list to what a change names, and counts the rest.
func cut[T any](list *[]T) int {
	more := max(len(*list)-MaxChangedTools, 0)
	*list = (*list)[:len(*list)-more]
	return more
}

// IsZero reports whether nothing differs and nobody has updated anything.
func (c Change) IsZero() bool {
	return len(c.ToolsAdded)+len(c.ToolsRemoved)+len(c.ToolsChanged)+len(c.Fields)+len(c.Updates) == 0 && c.Agent == ""
}

// String is what differs, in a line. Names are those of tools, which others choose.
func (c Change) String() string {
	var tools, parts []string
	for _, name := range c.ToolsAdded {
		tools = append(tools, "+ "+name)
	}
	for _, name := range c.ToolsRemoved {
		tools = append(tools, "- "+name)
	}
	for _, tool := range c.ToolsChanged {
		tools = append(tools, tool.Name+" ("+strings.Join(tool.Fields, ", ")+")")
	}
	if c.MoreTools > 0 {
		tools = append(tools, "more tools")
	}
	if len(tools) > 0 {
		parts = append(parts, "tools "+strings.Join(tools, ", "))
	}
	if len(c.Fields) > 0 {
		parts = append(parts, strings.Join(c.Fields, ", "))
	}
	return strings.Join(parts, "; ")
}

// An UpdateRequest gives an open session another definition, from its next execution on. It is answered with what differs.
type UpdateRequest struct {
	Definition domain.Definition `json:"definition"`
	// Fields are the keys of the definition that are taken from it, or of their parts, such as budget.max_steps. None: all
	// of it takes the place of the session's.
	Fields []string `json:"fields,omitempty"`
	// By says who asks for it.
	By     string `json:"by,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// Check says what is wrong with the request in itself: a part of a definition names no model.
func (r UpdateRequest) Check() error {
	for _, key := range r.Fields {
		if !slices.Contains(domain.DefinitionKeys(), key) {
			return domain.Invalidf("fields: a definition has no %q", domain.Shorten(key, 64))
		}
	}
	whole := r.Definition
	if len(r.Fields) > 0 && !slices.Contains(r.Fields, "model") {
		whole.Model.Provider, whole.Model.Model = "any", "any"
	}
	return cmp.Or(CheckSaid(r.By, r.Reason), whole.Check(), domain.CheckFits("definition", r.Definition, domain.MaxResolved))
}

// Asks reports whether the request gives a field, or a part of it.
func (r UpdateRequest) Asks(key string) bool { return asks(r.Fields, key) }

// Over is the configuration that waits once the request was taken: what it asks for over the definition that the next
// execution would begin with, together with what waits already.
func (r UpdateRequest) Over(d domain.Definition, waiting *Config, at time.Time) Config {
	asked := slices.Compact(slices.Sorted(slices.Values(r.Fields)))
	next := Config{Definition: r.Definition, Asked: asked, UpdateNotes: UpdateNotes{Updates: []ChangeNote{{r.By, at, r.Reason, asked}}}}.Over(d)
	if waiting == nil {
		return next
	}
	next.UpdateNotes = waiting.UpdateNotes.And(next.UpdateNotes)
	if len(asked) > 0 {
		next.Asked = nil
		if len(waiting.Asked) > 0 {
			next.Asked = slices.Compact(slices.Sorted(slices.Values(slices.Concat(waiting.Asked, asked))))
		}
	}
	return next
}
