package workflows_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// messagesAreReadOnce: each that was taken is one message of the conversation, waits still, or was taken back.
func (s *simulation) messagesAreReadOnce() error {
	unsent, said := map[domain.MessageID]bool{}, map[string]int{}
	silent := map[domain.MessageID]bool{} // taken back while no execution was in progress: events are of executions
	for _, w := range s.requests {
		if r, ok := w.value.(contract.UnsendReply); ok && w.taken() {
			unsent[r.MessageID] = true
			silent[r.MessageID] = silent[r.MessageID] || s.endedBy(w.executionID, w.at)
		}
	}
	for _, e := range s.entries {
		if e.Message.Role == domain.RoleUser {
			said[e.Message.Text()]++
		}
	}
	waiting := map[domain.MessageID]bool{}
	for _, m := range s.last.Unread {
		waiting[m.ID] = true
	}
	came, over := map[domain.MessageID]int{}, map[domain.MessageID]int{}
	for _, e := range s.events {
		switch data := e.Data.(type) {
		case domain.MessageWaiting:
			came[data.MessageID]++
		case domain.MessageReceived:
			over[data.MessageID]++
		case domain.MessageUnsent:
			over[data.MessageID]++
		}
	}
	for id, n := range came {
		if over[id] == 0 && silent[id] {
			over[id] = 1
		}
		if n != 1 || over[id] > 1 || (over[id] == 1) == waiting[id] {
			return fmt.Errorf("message %s waited %d times and was read or taken back %d times; it waits still: %t", id, n, over[id], waiting[id])
		}
	}
	for _, w := range s.requests {
		var prompt string
		var id domain.MessageID
		switch r := w.request.(type) {
		case contract.SendRequest:
			prompt = r.Prompt
			if reply, ok := s.everTaken(w).(contract.SendReply); ok {
				id = reply.Waits
			}
		case contract.RewindRequest:
			prompt = r.Prompt
		}
		if prompt == "" || w.again != nil {
			continue
		}
		want := 1
		if s.everTaken(w) == nil || unsent[id] || waiting[id] {
			want = 0
		}
		if n := said[prompt]; n != want {
			return fmt.Errorf("%q was said %d times, and %d were to be read", prompt, n, want)
		}
	}
	return nil
}

// messagesKeepTheirOrder: of those that steer, and of those that are queued, none overtakes another.
func (s *simulation) messagesKeepTheirOrder() error {
	said := map[string]int{}
	for i, e := range s.entries {
		said[e.Message.Text()] = i
	}
	newest := map[contract.Delivery]int{}
	var place int64
	for _, w := range s.requests {
		request, ok := w.request.(contract.SendRequest)
		if !ok || !w.taken() || w.again != nil {
			continue
		}
		if reply := w.value.(contract.SendReply); !reply.Began {
			if reply.Place <= place {
				return fmt.Errorf("%q came after one of place %d, and has place %d", request.Prompt, place, reply.Place)
			}
			place = reply.Place
		}
		at, read := said[request.Prompt]
		if !read || request.IfBusy == "" {
			continue
		}
		if at < newest[request.IfBusy] {
			return fmt.Errorf("%q overtook another message", request.Prompt)
		}
		newest[request.IfBusy] = at
	}
	return nil
}

// nothingBeginsInBetween: from a pause until it ends the agent asks no model and makes no call anew, and from a stop on the execution
// begins no step; from one of mode after_inference no call, from one of mode now nothing at all.
func (s *simulation) nothingBeginsInBetween() error {
	type beginning struct {
		at        time.Duration
		seq, step int
		what      string
		execution domain.ExecutionID
		// newCall says that it is the first attempt at a call.
		newCall bool
	}
	var begun []beginning
	called := map[domain.ToolExecutionID]bool{}
	for _, a := range s.asked {
		if a.agent == s.input.WorkflowID() && a.attempt == 1 {
			begun = append(begun, beginning{a.at, a.seq, a.request.Step, "the model is asked", a.request.ExecutionID, false})
		}
	}
	for _, one := range s.ran {
		first := !called[one.request.ID()]
		if called[one.request.ID()] = true; one.agent == s.input.WorkflowID() && one.request.Pending == nil {
			begun = append(begun, beginning{one.at, one.seq, one.request.Step, one.request.Name + " is called", one.request.ExecutionID, first})
		}
	}
	type place struct {
		execution domain.ExecutionID
		step      int
	}
	began := map[place]time.Duration{} // when each step did
	for _, b := range begun {
		in := place{b.execution, b.step}
		if at, ok := began[in]; !ok || b.at < at {
			began[in] = b.at
		}
	}
	for _, b := range begun {
		for _, w := range s.requests {
			if w.at >= b.at || w.executionID != b.execution {
				continue // what comes at the same time may come later
			}
			stop, ok := w.request.(contract.StopRequest)
			next := b.step > w.step && began[place{b.execution, b.step}] > w.at // a step that has begun at the same time goes on
			if ok && (stop.Mode == contract.StopNow || next || stop.Mode == contract.AfterInference && b.newCall) {
				return fmt.Errorf("step %d: %s after a stop %s in step %d", b.step, b.what, stop.Mode, w.step)
			}
			if _, ok := w.request.(contract.PauseRequest); ok && w.what == "pause" && w.taken() && w.again == nil && !s.resumed(w, b.seq) && !s.signalled(b.execution, b.at) {
				return fmt.Errorf("step %d: %s in the pause of %s", b.step, b.what, w.id)
			}
		}
	}
	return nil
}

// endedBy reports whether an execution had ended by a time; the zero one is none.
func (s *simulation) endedBy(id domain.ExecutionID, at time.Duration) bool {
	return id.IsZero() || slices.ContainsFunc(s.events, func(e domain.Event) bool {
		return e.ExecutionID == id && e.Type == domain.EventExecutionCompleted && e.Time.Sub(s.began) <= at
	})
}

// signalled reports whether something had asked an execution to stop, which a step is still to finish for.
func (s *simulation) signalled(id domain.ExecutionID, by time.Duration) bool {
	return slices.ContainsFunc(s.events, func(e domain.Event) bool {
		return e.ExecutionID == id && e.Type == domain.EventStopSignalReceived && e.Time.Sub(s.began) <= by
	})
}

// resumed reports whether a pause was over when something began, or held nothing back since the execution was stopped.
func (s *simulation) resumed(pause *personRequest, before int) bool {
	return slices.ContainsFunc(s.requests, func(w *personRequest) bool {
		if w.seq > before || w.executionID != pause.executionID {
			return false
		}
		what := strings.TrimSuffix(w.what, " once more") // what was refused may be taken then
		return w.what == "stop" || w.seq > pause.seq && (what == "resume" || what == "extend") && w.taken()
	})
}

// everTaken is the answer to a request that was taken when it came, or when it came once more; nil: it was refused.
func (s *simulation) everTaken(w *personRequest) any {
	at := slices.IndexFunc(s.requests, func(one *personRequest) bool { return one.taken() && (one == w || one.again == w) })
	if at < 0 {
		return nil
	}
	return s.requests[at].value
}

// requestsAreDoneOnce: a request that comes once more, in the same run or in another one, is answered as it was.
func (s *simulation) requestsAreDoneOnce() error {
	for _, w := range s.requests {
		if w.agent != s.input.WorkflowID() || w.again == nil || !w.again.taken() || w.value == nil && w.rejected == nil && w.err == nil {
			continue
		}
		if !reflect.DeepEqual(w.value, w.again.value) {
			return fmt.Errorf("%s was answered with %+v, and once more with %+v, %w", w.id, w.again.value, w.value, errors.Join(w.rejected, w.err))
		}
	}
	return nil
}

// moved reports whether somebody has changed where the session stands.
func (s *simulation) moved(from, to time.Duration) bool {
	return slices.ContainsFunc(s.requests, func(w *personRequest) bool {
		return from <= w.at && w.at <= to && (strings.HasPrefix(w.what, "clear") || strings.HasPrefix(w.what, "rewind")) && w.taken()
	})
}

// marksAreTheNextRequest: what no mark says that the model sees no more is how its next request begins.
func (s *simulation) marksAreTheNextRequest() error {
	if s.window > 0 {
		return nil // compactions change the marks in between
	}
	at := 0
	for _, a := range s.asked {
		if a.agent != s.input.WorkflowID() {
			continue
		}
		for ; at < len(s.views) && s.views[at].seq < a.seq; at++ {
			l := s.views[at]
			if !l.idle || s.moved(l.at, a.at) {
				continue
			}
			var want []domain.Message
			for _, e := range s.entries[:min(l.head.Position.Length, len(s.entries))] {
				if l.head.Position.Edits.Mark(&e) == "" {
					want = append(want, e.Message)
				}
			}
			sent := s.sent(a)
			for i, m := range want {
				if i >= len(sent) || m.ID != sent[i].ID {
					return fmt.Errorf("step %d is asked with %d messages, and message %d of %d without a mark is not the same: %q", a.request.Step, len(sent), i, len(want), m.Text())
				}
			}
		}
	}
	return nil
}

// requestsBeginWithTheOneBefore, as long as nothing was compacted, rewound or cleared.
func (s *simulation) requestsBeginWithTheOneBefore() error {
	before := map[string]asked{}
	for _, a := range s.asked {
		last, is := before[a.agent]
		if before[a.agent] = a; !is || s.window > 0 || a.request.Log.Length == 0 || s.moved(last.at, a.at) {
			continue
		}
		sent, was := s.sent(a), s.sent(last)
		for i, m := range was {
			if i >= len(sent) || !m.Equal(sent[i]) {
				return fmt.Errorf("step %d: message %d is another one than in the request before: %q", a.request.Step, i, m.Text())
			}
		}
	}
	return nil
}

// isHandedOn: the next run says of the session what the one before said, and was handed no more than the server takes.
func (s *simulation) isHandedOn() error {
	for _, h := range s.handovers {
		if h.bytes > domain.MaxPayload {
			return fmt.Errorf("the next run is handed %d bytes", h.bytes)
		}
		if h.after == nil {
			continue
		}
		known := func(head account.Head) (calls []string) {
			for _, w := range head.Waits {
				if w.Kind == domain.WaitOutcome { // the next run may know more of them already
					calls = append(calls, w.ToolExecutionID.String())
				}
			}
			return calls
		}
		session := func(head account.Head) *domain.ExecutionBudget {
			if head.Ledger.Session == nil {
				return nil
			}
			return &head.Ledger.Session.Limit
		}
		for what, pair := range map[string][2]any{
			"suspended":              {h.before.Suspended, h.after.Suspended},
			"paused":                 {h.before.Paused, h.after.Paused},
			"standing approvals":     {encode(s.t, h.before.AlwaysAllowed), encode(s.t, h.after.AlwaysAllowed)},
			"unknown outcomes":       {fmt.Sprint(known(h.before)), fmt.Sprint(known(*h.after)[:min(len(known(*h.after)), len(known(h.before)))])},
			"messages":               {h.before.Position.Length <= h.after.Position.Length, true},
			"taken back":             {fmt.Sprint(h.before.Position.Edits.TakenBack), fmt.Sprint(h.after.Position.Edits.TakenBack)},
			"session budget":         {session(h.before), session(*h.after)},
			"changes of definitions": {len(h.before.Configuration.Changes) <= len(h.after.Configuration.Changes), true},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				return fmt.Errorf("%s: %+v before the next run, %+v in it", what, pair[0], pair[1])
			}
		}
	}
	return nil
}
