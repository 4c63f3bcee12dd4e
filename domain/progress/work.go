package progress

import (
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// asked opens work that the workflow asks for, and has the step begin that it is of.
func (a Agent) asked(f Asked, at time.Time) Agent {
	id := f.Execution()
	if f.Hook != nil {
		id = f.Hook.ExecutionID
	}
	// It may be recorded before the answer to the message that began it.
	if !id.IsZero() && id == a.executionID(a.Execution.Number+1) {
		a = a.beginsWaiting(a.Execution.Number+1, at)
	}
	a = a.opened(f.Work)
	if f.Step() < 1 {
		return a
	}
	if step := id.Step(f.Step()); step != a.stepped {
		a.stepped = step
		a.Run.Steps++
	}
	if id != a.Execution.ID {
		return a
	}
	if a.Execution.StartedAt.IsZero() {
		a.Execution.StartedAt = at
	}
	if now := a.Execution.Now; now == nil || now.Number != f.Step() {
		c := a.closing(at)
		a = a.takesOver()
		a.Execution = a.Execution.turnsTo(f.Step(), c).heldBy(a.Holder())
	}
	if f.Tool != nil && f.Tool.Stopped {
		a.Execution = a.Execution.halts(at)
	}
	if f.Model != nil {
		a = a.shows(f.Model.Edits).hears(f.Model.Heard)
	}
	a.Execution = a.Execution.with(f, a.at(at))
	return a
}

// shows notes what an inference is no longer shown, other than by a summary.
func (a Agent) shows(edits domain.Edits) Agent {
	before := a.edits
	a.edits = edits
	if edits.Cleared > max(before.Cleared, edits.Hidden) {
		s := *a.Execution.Now
		s.Compactions = append(slices.Clip(s.Compactions), Compaction{Before: edits.Cleared})
		a.Execution.Now = &s
	}
	return a
}

func (a Agent) opened(w Work) Agent {
	a.Open = slices.Clone(a.Open)
	i := slices.IndexFunc(a.Open, func(o Work) bool { return o.ID == w.ID })
	if i < 0 {
		i, a.Open = len(a.Open), append(a.Open, w)
	}
	a.Open[i] = w
	return a
}

// ended takes work off the list, and lets its step know.
func (a Agent) ended(w Work, fact Fact, at time.Time) Agent {
	a.Open = slices.DeleteFunc(slices.Clone(a.Open), func(o Work) bool { return o.ID == w.ID })
	a = a.worked(w, fact, at)
	if a.Execution.Now != nil {
		a.Execution = a.Execution.seen(at)
	}
	return a
}

// worked lets the step that asked for work know of it, and take its answer.
func (a Agent) worked(w Work, fact Fact, at time.Time) Agent {
	if now := a.Execution.Now; now == nil || w.Execution() != a.Execution.ID || w.Step() != now.Number {
		return a
	}
	a.Execution = a.Execution.with(fact, a.at(at))
	f, replied := fact.(ModelReplied)
	if !replied || f.Model.Summary != nil {
		return a
	}
	if f.Reply.Outcome == contract.Answered {
		s := a.Execution.Now.take(f.Reply, a.at(at))
		a.Execution.Now = &s
	}
	if f.Reply.Outcome == contract.Answered || f.Reply.Outcome == contract.Interrupted {
		a.Execution.Fill = f.Reply.Response.Usage.TotalTokens()
	}
	return a
}

// heard lets the step in progress know of what is no work.
func (a Agent) heard(fact Fact, at time.Time) Agent {
	if a.Execution.Now != nil {
		a.Execution = a.Execution.with(fact, a.at(at)).seen(at)
	}
	return a
}
