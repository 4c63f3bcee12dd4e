package chat

import (
	"time"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/render"
)

// callAt is the call of an event, which is begun where it was not known, and drawn anew.
func (t *talk) callAt(key callKey, e client.Event) *part {
	for i := len(t.parts) - 1; i >= 0; i-- {
		if p := t.parts[i]; p.kind == called && p.key == key {
			p.width = 0
			return p
		}
	}
	p := t.add(&part{kind: called, key: key, text: render.CallWords(e.Tool, e.Arguments), began: e.Time})
	for i := len(t.parts) - 1; i > 0 && t.parts[i-1].follows(key); i-- { // one that waited for a person was told of before
		t.parts[i-1], t.parts[i] = t.parts[i], t.parts[i-1]
	}
	return p
}

// follows reports whether a part is a later call of the same step.
func (p *part) follows(key callKey) bool {
	return p.kind == called && p.key.number == key.number && p.key.step == key.step && p.key.position > key.position
}

func (t *talk) heardCall(key callKey, e client.Event) {
	p := t.callAt(key, e)
	switch e.Type {
	case domain.EventToolCallStarted:
		p.call, p.began = callRuns, e.Time
		if e.Arguments != "" { // those that run may be a person's own
			p.text = render.CallWords(e.Tool, e.Arguments)
		}
	case client.EventToolProgress:
		p.at = e.Text
	case domain.EventToolCallCompleted:
		p.done(e)
	case domain.EventToolCallBlocked:
		p.call, p.at = callNotRun, ""
		if e.Error != nil {
			p.at = render.Why(e.Error)
		}
	default:
	}
}

// heardWait takes what a call waits for, or what came of that. Of an outcome that is unknown the end of the call tells.
func (t *talk) heardWait(key callKey, e client.Event) {
	opened := e.Type == domain.EventWaitOpened
	switch e.Wait.Kind {
	case domain.WaitApproval:
		p := t.callAt(key, e)
		if p.call, p.at = callWaits, ""; !opened {
			p.decided(*e.Wait.Answer)
		}
	case domain.WaitQuestion:
		if p := t.callAt(key, e); opened {
			p.call, p.at = callAsks, ""
			return
		}
		t.callAt(key, e).call = callRuns
		t.told(e)
	case domain.WaitOutcome:
		t.told(e)
	}
}

func (p *part) decided(a domain.Answer) {
	if p.call, p.at = callAllowed, ""; a.Verdict == domain.Approved {
		return
	}
	p.call = callNotRun
	p.at = string(a.Verdict)
	if a.By != "" {
		p.at += " by " + a.By
	}
	if a.Reason != "" {
		p.at += ": " + a.Reason
	}
}

func (p *part) done(e client.Event) {
	p.call, p.at, p.took = callDone, "", e.Time.Sub(p.began)
	if e.Error == nil {
		return
	}
	p.call, p.at = callFailed, render.Why(e.Error)
	if e.Error.Code == domain.CodeOutcomeUnknown {
		p.call = callUnknown
	}
}

// words say how far a call is, behind what it is.
func (p *part) words(now time.Time) string {
	took := func(d time.Duration) string {
		if p.began.IsZero() || d < time.Second {
			return ""
		}
		return " · " + render.Duration(d)
	}
	at := ""
	if p.at != "" {
		at = ": " + p.at
	}
	switch p.call {
	case callWaits:
		return " · waits for approval"
	case callAsks:
		return " · waits for an answer"
	case callAllowed:
		return " · approved"
	case callRuns:
		return took(now.Sub(p.began).Truncate(time.Second)) + at
	case callDone:
		return took(p.took)
	case callFailed:
		return took(p.took) + at
	case callUnknown:
		return " · outcome unknown" + at
	case callNotRun:
		return " · not run" + at
	}
	return ""
}
