package contract

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"everstep/domain"
)

// A DefinitionChange says how what is in force for an execution differs from what was for the one before it.
type DefinitionChange struct {
	// Number is of the execution from which on it holds, At when that was resolved.
	Number int       `json:"execution_number"`
	At     time.Time `json:"at"`
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
	Fields []string `json:"fields,omitempty"`
	// Word is of whoever gave the session another definition; absent: nobody has, the workers have changed.
	Word *UpdateNote `json:"update,omitempty"`
}

// A ToolChange names what differs of a tool, by the keys of domain.ToolSpec.
type ToolChange struct {
	Name   string   `json:"name"`
	Fields []string `json:"fields"`
}

const (
	// MaxDefinitionChanges bounds how many changes a session remembers, the newest.
	MaxDefinitionChanges = 8
	// MaxChangedTools bounds how many tools of each kind a change names.
	MaxChangedTools = 16
	// maxToolName bounds what is kept of a tool's name.
	maxToolName = 64
)

// ChangeOf compares what was in force with what is. Limits of rate and the timing are no part of it: they are the
// worker's, and come and go.
func ChangeOf(before, after Resolved) DefinitionChange {
	var change DefinitionChange
	for _, now := range after.Tools {
		was, there := before.Tool(now.Name)
		switch fields := differing(was, now); {
		case !there:
			change.ToolsAdded = append(change.ToolsAdded, domain.Shorten(now.Name, maxToolName))
		case len(fields) > 0:
			change.ToolsChanged = append(change.ToolsChanged, ToolChange{domain.Shorten(now.Name, maxToolName), fields})
		}
	}
	for _, was := range before.Tools {
		if _, there := after.Tool(was.Name); !there {
			change.ToolsRemoved = append(change.ToolsRemoved, domain.Shorten(was.Name, maxToolName))
		}
	}
	change.MoreTools = over(&change.ToolsAdded) + over(&change.ToolsRemoved) + over(&change.ToolsChanged)
	change.Fields = slices.Concat(differing(before, after, "definition", "tools", "rate_limit", "tool_limits", "timing", "digest", "listed", "unchanged"),
		differing(before.Definition, after.Definition, "tools", "source"))
	slices.Sort(change.Fields)
	change.Fields = slices.Compact(change.Fields)
	return change
}

// over cuts a list to what a change names, and counts the rest.
func over[T any](list *[]T) int {
	more := max(len(*list)-MaxChangedTools, 0)
	*list = (*list)[:len(*list)-more]
	return more
}

// differing are the keys of the fields that two values differ in, some aside.
func differing[T any](before, after T, aside ...string) (fields []string) {
	was, now := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range was.NumField() {
		key, _, _ := strings.Cut(was.Type().Field(i).Tag.Get("json"), ",")
		if !slices.Contains(aside, key) && !same(was.Field(i), now.Field(i)) {
			fields = append(fields, key)
		}
	}
	return fields
}

// same takes an absent list for an empty one.
func same(was, now reflect.Value) bool {
	if was.Kind() == reflect.Slice && was.Len()+now.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(was.Interface(), now.Interface())
}

// FirstChange is of a session's first definition that a worker could say the meaning of, where an update has made it one;
// what it differs in is what the update says. Zero: none has.
func FirstChange(number int, at time.Time, word *UpdateNote) DefinitionChange {
	if word == nil {
		return DefinitionChange{}
	}
	return DefinitionChange{Number: number, At: at, Fields: word.Fields, Word: word}
}

// IsZero reports whether nothing differs.
func (c DefinitionChange) IsZero() bool {
	return len(c.ToolsAdded)+len(c.ToolsRemoved)+len(c.ToolsChanged)+len(c.Fields) == 0 && c.Agent == ""
}

// String is what differs, in a line. Names are those of tools, which others choose.
func (c DefinitionChange) String() string {
	var parts []string
	for _, name := range c.ToolsAdded {
		parts = append(parts, "+ "+name)
	}
	for _, name := range c.ToolsRemoved {
		parts = append(parts, "- "+name)
	}
	for _, tool := range c.ToolsChanged {
		parts = append(parts, tool.Name+" ("+strings.Join(tool.Fields, ", ")+")")
	}
	if c.MoreTools > 0 {
		parts = append(parts, "more tools")
	}
	said := ""
	if c.Agent != "" {
		said = "handed over to " + c.Agent
		if len(parts)+len(c.Fields) > 0 {
			said += ": "
		}
	}
	handed := said
	if len(parts) > 0 {
		said += "tools " + strings.Join(parts, ", ")
	}
	if len(c.Fields) > 0 {
		if said != handed {
			said += "; "
		}
		said += strings.Join(c.Fields, ", ")
	}
	return said
}

// KeptChanges are the newest changes with one more, where it is one.
func KeptChanges(all []DefinitionChange, change DefinitionChange) []DefinitionChange {
	if change.IsZero() {
		return all
	}
	return append(slices.Clip(all[max(len(all)-MaxDefinitionChanges+1, 0):]), change)
}
