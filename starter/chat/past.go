package chat

import (
	"fmt"
	"strconv"
	"strings"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/render"
)

// slashFork begins another agent with what this one had come to, which goes on as it was.
func (m *Model) slashFork(rest string) []want {
	first, message, _ := strings.Cut(rest, " ")
	step, err := strconv.Atoi(first)
	if err != nil {
		step, message = -1, rest
	}
	message = strings.TrimSpace(message)
	if err := domain.CheckPrompt(message); err != nil || message == "" {
		m.talk.warn("/fork: takes a message, with which the other agent begins, as in: /fork try it in another way; with a step of this turn before it, as in: /fork 2 try it")
		return nil
	}
	if m.turn.number == 0 {
		m.talk.note("nothing was said yet that could be forked")
		return nil
	}
	return []want{wantFork{client.Point{ID: m.cfg.ID, Execution: strconv.Itoa(m.turn.number), Step: stepOf(step)}, message}}
}

// stepOf is a step of a point; nil: the last that is complete.
func stepOf(step int) *int {
	if step < 0 {
		return nil
	}
	return &step
}

// slashRewind has the session go on from the end of a turn, or from a step of it; without words from before the newest.
func (m *Model) slashRewind(rest string) []want {
	words := strings.Fields(rest)
	turn, step, ok := m.turn.number, 0, len(words) <= 2
	if len(words) > 0 {
		var err error
		turn, err = strconv.Atoi(words[0])
		step, ok = -1, ok && err == nil && turn > 0
	}
	if len(words) == 2 {
		var err error
		step, err = strconv.Atoi(words[1])
		ok = ok && err == nil && step >= 0
	}
	switch {
	case !ok:
		m.talk.warn("/rewind: takes a turn and a step of it, as in: /rewind 2, or /rewind 2 1; without either it takes the newest turn back")
		return nil
	case turn == 0:
		m.talk.note("nothing was said yet that could be taken back")
		return nil
	case m.turn.busy() || len(m.outbox.letters)+len(m.inbox.waiting) > 0:
		m.talk.warn("/rewind: a turn is in progress, or messages wait; /stop it first, and /unsend them")
		return nil
	}
	m.rewinds = true
	return []want{wantRewind{client.Point{ID: m.cfg.ID, Execution: strconv.Itoa(turn), Step: stepOf(step)}}}
}

// rewound takes what came of it.
func (m *Model) rewound(msg rewound) []want {
	if m.rewinds = false; msg.err != nil {
		m.talk.warn("not rewound: " + m.trouble(msg.err))
		return m.look()
	}
	x := msg.done
	m.stands = x.To
	m.talk.note(fmt.Sprintf("the next turn goes on after step %d of turn %d; messages that are taken back, which the model sees no more: %d; /rewind %d undoes it",
		x.To.Step, x.ToNumber, x.TakenBack, x.Undo))
	if n := len(x.Since); n > 0 || x.Untold {
		var tools []string
		for _, call := range x.Since[:min(n, 8)] {
			tools = append(tools, fmt.Sprintf("%s (turn %d, step %d)", render.OneLine(call.Tool), call.Number, call.Step))
		}
		text := fmt.Sprintf("not undone, since only the conversation is rewound: %s that may have had effects: %s", render.Counted(int64(n), "call"), strings.Join(tools, ", "))
		if x.Untold {
			text += "; there may be more, in steps that can no longer be read"
		}
		m.talk.warn(text)
	}
	return m.look()
}

// standsAt notes that somebody else has rewound the session.
func (m *Model) standsAt(to *domain.Origin) {
	if to == nil {
		m.stands = domain.Origin{}
		return
	}
	if m.stands != *to && !m.rewinds {
		m.stands = *to
		m.talk.note(fmt.Sprintf("the session was rewound: the next turn goes on after step %d of execution %s", to.Step, to.ExecutionID))
	}
}
