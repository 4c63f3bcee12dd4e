package client

import "everstep/domain"

// A TakenBack says of an execution, or of its last steps, that they are no part of the conversation any more: the agent went
// on from before them.
type TakenBack struct {
	// By is the number of the execution that goes on without them; its origin says from where. It may not have begun yet.
	By int `json:"by_execution"`
	// AfterStep is the last step that is a part of the conversation; zero: none is, nor the prompt.
	AfterStep int `json:"after_step,omitzero"`
}

// markTakenBack marks the executions that rewinds have taken back.
func markTakenBack(past []Past) {
	line := conversationLine{told: map[int]*Past{}, numbers: map[domain.ExecutionID]int{}}
	for i, p := range past {
		line.told[p.Number], line.numbers[p.ExecutionID], line.newest = &past[i], p.Number, p.Number
	}
	line.mark()
}

// A conversationLine follows from where each execution went on. What came before one that is gone nobody can tell.
type conversationLine struct {
	told    map[int]*Past
	numbers map[domain.ExecutionID]int
	newest  int
}

// before is from where an execution went on: a step of another one, by a rewind, or the end of the one before. Zero is the
// beginning, or one that is gone.
func (l conversationLine) before(number int) (from, step int, rewound bool) {
	past, newest := l.told[number], l.told[l.newest]
	var origin *domain.Origin
	switch {
	case number > l.newest:
		origin = newest.NextOrigin
	case past == nil:
		return 0, 0, false
	default:
		origin = past.Origin
	}
	if origin == nil || origin.AgentID != newest.AgentID {
		return number - 1, 0, false
	}
	if from = l.numbers[origin.ExecutionID]; from >= number { // a file can say anything
		from = 0
	}
	return from, origin.Step, true
}

// mark goes back from the newest execution, or from where the next goes on. What it skips was taken back.
func (l conversationLine) mark() {
	head := l.newest
	if head == 0 {
		return
	}
	if l.told[head].NextOrigin != nil {
		head++
	}
	last := l.lastWith(head)
	for at := head; at > 0; {
		from, step, rewound := l.before(at)
		for n := from; rewound && n > 0 && n < at; n++ {
			switch past := l.told[n]; {
			case past == nil:
			case n > from || step == 0:
				past.TakenBack = &TakenBack{By: last[n] + 1}
			case past.Steps == nil || step < *past.Steps:
				past.TakenBack = &TakenBack{By: at, AfterStep: step}
			}
		}
		at = from
	}
}

// lastWith is for each execution the newest one of whose conversation it was a part.
func (l conversationLine) lastWith(head int) map[int]int {
	last := map[int]int{}
	for end := head; end > 0; end-- {
		within := true // the beginning of an execution is what came before it
		for at := end; at > 0 && (!within || last[at] == 0); {
			if within {
				last[at] = end
			}
			from, step, rewound := l.before(at)
			at, within = from, !rewound || step > 0
		}
	}
	return last
}
