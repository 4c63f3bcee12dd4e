package client

// inference notes that an inference was begun: a step's first, another try, or
// one for a summary.
func (f *fold) inference(work *activity) {
	again, summary := work.step == f.step, work.model.Summary != nil
	if !again {
		f.unbegun()
		f.step, f.cut, f.summing = work.step, nil, false
		f.emit(Event{Type: EventStep, Step: work.step})
		f.withhold(work.step)
	}
	switch {
	case summary && !f.summing:
		f.emit(Event{Type: EventSummary, Step: work.step})
	case again && summary == f.summing && work.model.Attempts > 0:
		f.emit(Event{Type: EventRetry, Step: work.step, Attempt: work.model.Attempts + 1, Reason: reasonOf(f.cut), Error: f.cut})
	}
	f.summing = summary
}

// hook notes that a hook was called.
func (f *fold) hook(work *activity) {
	f.noted(work.hook.ExecutionID)
	f.emit(Event{Type: EventHook, Step: work.hook.Step, Hook: work.hook.Hook.Name, Trigger: work.hook.Hook.Trigger})
}

// unbegun notes, when a step is over, the calls that the model asked for and
// that nobody began. History does not say why.
func (f *fold) unbegun() {
	for i, call := range f.asked {
		if !f.begun[i] {
			f.emit(Event{Type: EventNotRun, Step: f.step, Position: i, Tool: call.Name, Arguments: call.Arguments, RunID: f.askedIn})
		}
	}
	f.asked = nil
}
