package wire

import (
	"fmt"

	"everstep/domain"
)

// A Pairing makes the ids of calls and results consistent in what is sent:
// models repeat ids within a message and over turns, and servers refuse that.
// What is recorded stays as it came. The zero value takes any id that is not
// empty. The same conversation gets the same ids each time.
type Pairing struct {
	// Accepts reports whether the API takes an id of that form, as one that
	// comes from another provider may not have. Nil takes all.
	Accepts func(id string) bool

	used    map[string]bool
	waiting []waitingCall
}

type waitingCall struct {
	recorded, sent string
	answered       bool
}

// Begin returns the ids under which the calls of the message at an index are
// sent.
func (p *Pairing) Begin(message int, calls []domain.ToolCall) []string {
	if len(calls) == 0 {
		return nil
	}
	if p.used == nil {
		p.used = make(map[string]bool)
	}
	p.waiting = p.waiting[:0]
	ids := make([]string, len(calls))
	for k, c := range calls {
		ids[k] = p.fresh(c.ID, message, k)
		p.waiting = append(p.waiting, waitingCall{recorded: c.ID, sent: ids[k]})
	}
	return ids
}

func (p *Pairing) fresh(id string, message, position int) string {
	if id != "" && p.Accepts != nil && !p.Accepts(id) {
		id = ""
	}
	for try := 0; id == "" || p.used[id]; try++ {
		id = fmt.Sprintf("call_%d_%d", message, position)
		if try > 0 {
			id = fmt.Sprintf("%s_%d", id, try)
		}
	}
	p.used[id] = true
	return id
}

// Answer returns the id under which a result is sent: that of the first call
// with the recorded id that has none yet, else of the first call that has none.
func (p *Pairing) Answer(recorded string) string {
	found := -1
	for k, w := range p.waiting {
		if w.answered {
			continue
		}
		if w.recorded == recorded {
			found = k
			break
		}
		if found < 0 {
			found = k
		}
	}
	if found < 0 {
		return recorded
	}
	p.waiting[found].answered = true
	return p.waiting[found].sent
}
