package render

import (
	"cmp"
	"fmt"
	"strings"

	"everstep/starter/client"
)

// Difference shows where two executions part.
func Difference(t Theme, d client.Difference) string {
	var b strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	for _, side := range []struct {
		name string
		of   client.DiffSide
	}{{"A", d.A}, {"B", d.B}} {
		before := where(side.of.Before > 0, fmt.Sprintf(" after %s of its origins", Counted(side.of.Before, "step")))
		line("%s  %s · execution %d · %s%s", t.Head(side.name), OneLine(side.of.ID), side.of.Number, Counted(side.of.Steps, "step"), before)
	}
	if d.Shared > 0 {
		line("%s", t.Faint(Counted(d.Shared, "step")+" in common, of one origin"))
	}
	for _, change := range d.Definitions {
		line("%s", "the definition differs: "+Change(change))
	}
	if len(d.Steps) == 0 {
		line("no step differs")
		return b.String()
	}
	line("they part at step %d, after %s without a difference", d.Steps[0].Step, Counted(d.Equal, "step"))
	for _, step := range d.Steps {
		line("step %d  %s %s · %s %s", step.Step, t.Head("A"), place(d.A, step.A), t.Head("B"), place(d.B, step.B))
		for _, one := range step.Differences {
			line("  %-13s %s %s", one.What, t.Bad("A"), compared(one.A))
			line("  %-13s %s %s", "", t.Good("B"), compared(one.B))
		}
	}
	return b.String()
}

// place is where a step stands, as seen from the execution that has it.
func place(side client.DiffSide, at *client.StepPlace) string {
	switch {
	case at == nil:
		return "has none"
	case at.ExecutionID != side.ExecutionID:
		id, _, _ := strings.Cut(at.ExecutionID.String(), "-")
		return fmt.Sprintf("step %d of its origin %s", at.Number, id)
	}
	return fmt.Sprintf("step %d", at.Number)
}

func compared(text string) string {
	return cmp.Or(shortened(OneLine(text), 200), "-")
}
