package chat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/render"
)

// A kind says what a part of the conversation is.
type kind int

const (
	said     kind = iota // by a person
	answered             // by the model
	thought              // by the model, before it answers
	called               // a tool
	noted                // something to know
	warned               // something to look at
	ended                // an execution
	stepped              // by a sub-agent, in one line
)

// A callState says how far a tool call is.
type callState int

const (
	callWaits callState = iota // for a person
	callAllowed
	callDenied // by a person; that it is blocked is still to be told
	callRuns
	callDone
	callFailed
	callUnknown // nobody knows whether it took effect
	callNotRun
)

// A callKey names a call of the execution that is followed.
type callKey struct{ number, step, position int }

// A part is one thing in the conversation. Its text is as it came; it is cleaned where it is drawn.
type part struct {
	kind kind
	text string
	// number is the execution of whose events it comes; zero: it was read back, or is of none.
	number int
	// live: more of it arrives. cut: its beginning is not known, or not kept.
	live, cut bool
	began     time.Time
	took      time.Duration
	call      callState
	// started says that a call was made: it may have taken effect, also while it waits for an answer.
	started bool
	key     callKey
	// at is how far a call is, or what came of it.
	at     string
	status domain.ExecutionStatus
	// sub is the sub-agent that a call has started; nil: it has started none. step is that of a call that was read back.
	sub  *subagent
	step domain.StepID
	// lines are what it looks like at a width; none where width is zero.
	lines []string
	width int
}

const (
	// maxParts bounds what is kept of a conversation, and maxText each text of the model's that arrives.
	maxParts = 2000
	maxText  = 1 << 20
)

// A conversation is the conversation as far as it is shown.
type conversation struct {
	parts []*part
	// dropped says that the beginning is not here.
	dropped bool
	// unfolded shows what the model thought.
	unfolded bool
	// began is since when the execution whose events come is in progress, as far as is known.
	began time.Time
	// results are calls that were read back whose results follow, in their order.
	results []*part
	// brief says that it is of a sub-agent: its steps are told by one line each.
	brief bool
	// below says that those of sub-agents are shown.
	below bool
	// inline says that it is drawn without a screen, below lines that stay; above is the part that they end with.
	inline bool
	above  *part
	// answer is what may be the answer, which stands elsewhere once an execution that is drawn inline has ended.
	answer *part
}

func (t *conversation) add(p *part) *part {
	t.parts = append(t.parts, p)
	if excess := len(t.parts) - maxParts; excess > 0 {
		t.parts, t.dropped = t.parts[excess:], true
	}
	return p
}

func (t *conversation) note(text string) { t.add(&part{kind: noted, text: text}) }
func (t *conversation) warn(text string) { t.add(&part{kind: warned, text: text}) }

// fold shows what the model thought in one line, or as it is.
func (t *conversation) fold() {
	t.unfolded = !t.unfolded
	for _, p := range t.parts {
		if p.kind == thought {
			p.width = 0
		}
	}
}

// recall adds a message that was read back.
func (t *conversation) recall(m domain.Message) {
	switch {
	case m.ToolResult != nil:
		if len(t.results) == 0 {
			return
		}
		p := t.results[0]
		t.results = t.results[1:]
		if p.call = callDone; m.ToolResult.IsError {
			p.call, p.at = callFailed, m.ToolResult.Content
		}
		p.width = 0
	case m.Role == domain.RoleUser:
		t.add(&part{kind: said, text: textOf(m)})
	case m.Role == domain.RoleAssistant:
		var thoughts []string
		for _, p := range m.Parts {
			if p.Type == domain.PartReasoning && p.Text != "" {
				thoughts = append(thoughts, p.Text)
			}
		}
		if len(thoughts) > 0 {
			t.add(&part{kind: thought, text: strings.Join(thoughts, "\n\n")})
		}
		if text := textOf(m); text != "" {
			t.add(&part{kind: answered, text: text})
		}
		t.results = nil
		for i, call := range m.ToolCalls {
			t.results = append(t.results, t.add(&part{
				kind: called, text: render.CallWords(call.Name, call.Arguments), call: callNotRun, key: callKey{position: i}, step: domain.TagOf(m).StepID,
			}))
		}
	}
}

// textOf is a message's text, with a note for each part that is none.
func textOf(m domain.Message) string {
	var texts []string
	for _, p := range m.Parts {
		switch p.Type {
		case domain.PartText:
			texts = append(texts, p.Text)
		case domain.PartReasoning:
		default:
			texts = append(texts, p.Note())
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// heard takes an event of the execution that is followed.
func (t *conversation) heard(e client.Event) {
	before := len(t.parts)
	t.shows(e)
	for _, p := range t.parts[min(before, len(t.parts)):] {
		p.number = e.Number
	}
}

func (t *conversation) shows(e client.Event) {
	switch e.Type {
	case domain.EventExecutionStarted:
		t.began = e.Time
		t.parts = slices.DeleteFunc(t.parts, func(p *part) bool { return p.number == e.Number }) // one that is followed once more is told anew
	case client.EventReasoning:
		t.arrives(thought, e)
	case client.EventText:
		t.settle(thought, e.Time)
		t.arrives(answered, e)
	case client.EventWithdrawn:
		t.withdraw()
	case domain.EventInferenceReceived:
		t.replied(e)
	case domain.EventToolCallStarted:
		p := t.callAt(e)
		p.call, p.began, p.started = callRuns, e.Time, true
		if e.Arguments != "" { // those that run may be a person's own
			p.text = render.CallWords(e.Tool, e.Arguments)
		}
	case client.EventToolProgress:
		t.callAt(e).at = e.Text
	case domain.EventToolCallCompleted:
		t.callAt(e).done(e)
	case domain.EventToolCallBlocked:
		p := t.callAt(e)
		if p.call != callDenied { // else it is known by whom
			p.at = render.Why(e.Error)
		}
		p.call = callNotRun
	case domain.EventWaitOpened, domain.EventWaitClosed:
		t.heardWait(e)
	case client.EventRetry:
		t.retried(e)
	case domain.EventInferenceRequested:
		if e.Attempt > 1 {
			t.retried(e)
		} else if t.inline {
			t.told(e)
		}
	case domain.EventToolCallRetried, domain.EventToolCallWaiting:
		t.callAt(e).at, _ = render.Notice(e)
	case domain.EventExecutionCompleted, domain.EventExecutionFailed, client.EventEnded:
		t.over(e)
	case domain.EventStepStarted:
		t.answer = nil // the execution goes on
	case domain.EventSubagentSpawning:
	case domain.EventHookCalled, client.EventContinued, domain.EventMessageWaiting, domain.EventMessageReceived, domain.EventMessageUnsent:
		if t.inline { // else the screen shows as much as a reader needs
			t.told(e)
		}
	default:
		t.told(e)
	}
}

func (t *conversation) told(e client.Event) {
	text, warns := render.Notice(e)
	if text == "" {
		return
	}
	if e.Type == domain.EventPaused && !t.brief && !t.inline {
		text += "; /resume ends that"
	}
	if warns {
		t.warn(text)
		return
	}
	t.note(text)
}

// live is the newest part of a kind of which more arrives; nil: there is none.
func (t *conversation) live(k kind) *part {
	for _, p := range slices.Backward(t.parts) {
		if p.live && p.kind == k {
			return p
		}
	}
	return nil
}

// arrives adds what has arrived of the model's text.
func (t *conversation) arrives(k kind, e client.Event) {
	p := t.live(k)
	if p == nil {
		p = t.add(&part{kind: k, live: true, began: e.Time})
	}
	if e.Skipped > 0 {
		p.text, p.cut = "", true
	}
	p.text, p.width = p.text+e.Text, 0
	if excess := len(p.text) - maxText; excess > 0 {
		p.text, p.cut = p.text[excess:], true
	}
}

// settle ends what arrives of a kind.
func (t *conversation) settle(k kind, at time.Time) *part {
	p := t.live(k)
	if p != nil {
		p.live, p.took, p.width = false, at.Sub(p.began), 0
	}
	return p
}

// withdraw takes back what arrived of an attempt that does not count.
func (t *conversation) withdraw() {
	for _, k := range []kind{thought, answered} {
		if p := t.live(k); p != nil {
			p.live, p.kind, p.text, p.width = false, noted, "an attempt failed; what came of it is withdrawn", 0
		}
	}
}

func (t *conversation) replied(e client.Event) {
	t.settle(thought, e.Time)
	p := t.settle(answered, e.Time)
	text := strings.TrimSpace(e.Text)
	if e.Error != nil && e.Outcome != contract.Interrupted {
		text = ""
	}
	if text != "" {
		if p == nil {
			p = t.add(&part{kind: answered})
		}
		p.text, p.cut, p.width = text, e.Skipped > 0, 0
	}
	if e.Error != nil {
		t.told(e)
	} else if len(e.Calls) == 0 {
		t.answer = p
	}
}

// retried tells that an inference is made again. The same was told with why.
func (t *conversation) retried(e client.Event) {
	if at := len(t.parts) - 1; at >= 0 && t.parts[at].kind == warned && strings.HasPrefix(t.parts[at].text, render.InferenceFailed) {
		t.parts[at].text, t.parts[at].width = fmt.Sprintf("%s; it is tried again (attempt %d)", t.parts[at].text, e.Attempt), 0
		return
	}
	t.told(e)
}

// closes has nothing more come of an execution.
func (t *conversation) closes(e client.Event) {
	t.settle(thought, e.Time)
	t.settle(answered, e.Time)
	for _, p := range t.parts {
		if p.kind == called && p.key.number == e.Number && p.open() {
			if p.call != callDenied {
				p.at = ""
			}
			if p.call, p.width = callNotRun, 0; p.started {
				p.call = callUnknown
			}
		}
	}
}

// open reports whether more of a part is to come.
func (p *part) open() bool { return p.live || p.kind == called && p.call <= callRuns }

// over ends an execution.
func (t *conversation) over(e client.Event) {
	t.closes(e)
	if t.inline {
		t.parts = slices.DeleteFunc(t.parts, func(p *part) bool { return p == t.answer })
	}
	p := &part{kind: ended, text: "ended"}
	if e.Ended != nil {
		took := time.Duration(0)
		if !t.began.IsZero() {
			took = e.Time.Sub(t.began)
		}
		p.text, p.status = render.Ending(*e.Ended, took), e.Ended.Status
	}
	t.add(p)
}

// callAt is the call of an event, which is begun where it was not known, and drawn anew.
func (t *conversation) callAt(e client.Event) *part {
	t.answer = nil
	key := callKey{e.Number, e.Step, e.Position}
	for _, p := range slices.Backward(t.parts) {
		if p.kind == called && p.key == key {
			p.width = 0
			return p
		}
	}
	p := t.add(&part{kind: called, key: key, text: render.CallWords(e.Tool, e.Arguments), began: e.Time})
	for i := len(t.parts) - 1; i > 0; i-- {
		before := t.parts[i-1]
		if before.kind != called || before.key.number != key.number || before.key.step != key.step || before.key.position < key.position {
			break
		}
		t.parts[i-1], t.parts[i] = p, before // a later call of the step, which waited for a person, was told of before
	}
	return p
}

// heardWait takes what a call waits for, or what came of that. Of an outcome that is unknown the end of the call tells.
func (t *conversation) heardWait(e client.Event) {
	rule := e.Wait.Kind.Rule()
	if rule.Outlasts {
		t.told(e)
		return
	}
	switch p, a := t.callAt(e), e.Wait.Answer; {
	case e.Type == domain.EventWaitOpened:
		p.call, p.at = callWaits, rule.For
	case rule.Replies:
		p.call, p.at = callRuns, ""
		t.told(e)
	case !rule.Grants(a.Verdict):
		p.call = callDenied
		p.at = string(a.Verdict) + render.Within(" by ", a.By, "") + render.Within(": ", a.Reason, "")
	default:
		p.call, p.at = callAllowed, ""
		if t.inline { // by whom stays to be read
			t.told(e)
		}
	}
}

// done takes the end of a call.
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
	at := render.Within(": ", p.at, "")
	switch p.call {
	case callWaits:
		return " · waits for " + p.at
	case callAllowed:
		return " · approved"
	case callRuns:
		return took(now.Sub(p.began).Truncate(time.Second)) + at
	case callDone, callFailed:
		return took(p.took) + at
	case callUnknown:
		return " · outcome unknown" + at
	case callDenied, callNotRun:
		return " · not run" + strings.TrimPrefix(at, ": not run")
	}
	return ""
}
