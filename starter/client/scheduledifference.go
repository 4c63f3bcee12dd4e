package client

import (
	"bytes"
	"encoding/json"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// differing are the fields in which a schedule is another.
func (s Schedule) differing(o Schedule) []ScheduleDifference {
	all := differences{}
	was, is := whens(s.When), whens(o.When)
	for i, key := range whenKeys {
		all.note(key, json.RawMessage(was[i]), json.RawMessage(is[i]))
	}
	all.note("overlap", s.overlap(), o.overlap())
	all.note("catchup_window", contract.Span(s.CatchupWindow), contract.Span(o.CatchupWindow))
	all.note("pause_on_failure", s.PauseOnFailure, o.PauseOnFailure)
	all.note("task_queue", s.TaskQueue, o.TaskQueue)
	all.note("session", s.Start.ID, o.Start.ID)
	all.note("prompt", s.Start.Prompt, o.Start.Prompt)
	all.definitions(s.Start.Definition, o.Start.Definition)
	if s.Start.ID+o.Start.ID != "" { // an agent of a run's own has the definition's
		all.models("session_model", s.Model, o.Model)
	}
	all.budgets(s.Start, o.Start)
	all.note("trusted", s.Start.Trusted, o.Start.Trusted)
	all.note("metadata", s.Start.Metadata, o.Start.Metadata)
	all.note("messages", s.Start.Messages, o.Start.Messages)
	return all
}

var whenKeys = []string{"cron", "every", "offset", "time_zone", "jitter", "start_at", "end_at"}

// whens are the parts of when a schedule runs as JSON, in the order of whenKeys.
func whens(w When) []string {
	var all []string
	for _, part := range []any{w.Cron, w.Every, w.Offset, w.TimeZone, w.Jitter, w.StartAt, w.EndAt} {
		all = append(all, string(shown(part)))
	}
	return all
}

type differences []ScheduleDifference

func (d *differences) note(field string, before, after any) {
	if was, is := shown(before), shown(after); !bytes.Equal(was, is) {
		*d = append(*d, ScheduleDifference{field, was, is})
	}
}

// definitions notes what differs by the keys of a definition, but for its budget.
func (d *differences) definitions(before, after domain.Definition) {
	was, is := fieldsOf(before), fieldsOf(after)
	for _, key := range before.Differing(after) {
		switch key {
		case "budget":
		case "model":
			d.models(key, &before.Model, &after.Model)
		default:
			d.note(key, was[key], is[key])
		}
	}
}

// models notes which models they are, or where that is the same what else of them differs.
func (d *differences) models(field string, before, after *domain.LLMConfig) {
	if before != nil && after != nil && before.String() == after.String() {
		d.note(field, before, after)
		return
	}
	name := func(m *domain.LLMConfig) any {
		if m == nil {
			return nil
		}
		return m.String()
	}
	d.note(field, name(before), name(after))
}

// budgets notes what bounds a run, once: as show tells it, or where that is the same, what of it is another.
func (d *differences) budgets(before, after Start) {
	for _, one := range []struct {
		field   string
		was, is domain.ExecutionBudget
	}{
		{"budget", contract.BudgetOf(before.Definition, before.Budget, nil), contract.BudgetOf(after.Definition, after.Budget, nil)},
		{"budget_asked", before.Budget, after.Budget},
		{"budget_of_definition", before.Definition.Budget, after.Definition.Budget},
	} {
		n := len(*d)
		if d.note(one.field, one.was, one.is); len(*d) > n {
			return
		}
	}
}

func fieldsOf(d domain.Definition) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	if encoded, err := json.Marshal(d); err == nil {
		_ = json.Unmarshal(encoded, &fields) // we have just written it
	}
	return fields
}

// shown is a value as JSON; null where it says nothing.
func shown(value any) json.RawMessage {
	switch v := value.(type) {
	case time.Time:
		if value = v.UTC(); v.IsZero() {
			value = nil
		}
	case contract.Span:
		if v == 0 { // it is no limit elsewhere
			value = nil
		}
	}
	encoded, err := json.Marshal(value)
	if err != nil { // no two that cannot be written are the same
		encoded, _ = json.Marshal(err.Error())
	}
	switch string(encoded) {
	case `""`, `{}`, `[]`, "":
		return json.RawMessage("null")
	}
	return encoded
}
