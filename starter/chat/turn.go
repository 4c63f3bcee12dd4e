package chat

import (
	"fmt"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/starter/client"
	"everstep/starter/render"
)

// A phase says what a turn is at.
type phase int

const (
	unknown phase = iota // nobody has said yet
	fresh                // no session has begun
	idle
	thinks
	writes
	calls
	over // the session has ended
)

// A turn is what the agent does now, and what that has cost.
type turn struct {
	phase  phase
	number int
	// execution is the one in progress; zero: it is not known by its id yet.
	execution domain.ExecutionID
	step      int
	began     time.Time
	// running counts the calls under way, by their places in the step.
	running map[int]string
	// stops says that a stop was asked for.
	stops  bool
	paused bool
	// away says that the server does not answer, and stalled what else it waits for.
	away, stalled string
	// tokens are those of the inferences that were heard to end.
	tokens int64
	// view is what the agent has said of itself the last time.
	view account.Status
}

func (t *turn) busy() bool { return t.phase == thinks || t.phase == writes || t.phase == calls }

// told takes what the agent says of itself.
func (t *turn) told(v account.Status) {
	t.view, t.away, t.paused = v, "", v.Paused
	switch {
	case v.Status == domain.StatusInProgress:
		t.begins(v.Number)
		if t.number == v.Number && !v.ExecutionID.IsZero() {
			t.execution = v.ExecutionID
		}
		t.step = max(t.step, v.Steps)
	case !v.Open:
		t.phase = over
	case t.number <= v.Number: // else it is behind what was heard
		if t.number < v.Number {
			t.step, t.tokens = v.Steps, 0
		}
		t.phase, t.number = idle, v.Number
	}
}

// begins notes that an execution is in progress.
func (t *turn) begins(number int) {
	if t.busy() && t.number == number {
		return
	}
	t.phase, t.number, t.step, t.tokens, t.stops, t.running = thinks, number, 0, 0, false, nil
	t.began, t.stalled, t.execution = time.Time{}, "", domain.ExecutionID{}
}

// heard takes an event of the execution that is followed.
func (t *turn) heard(e client.Event) {
	t.stalled, t.away = "", ""
	if t.running == nil {
		t.running = map[int]string{}
	}
	switch e.Type {
	case domain.EventExecutionStarted:
		t.begins(e.Number)
		t.began, t.tokens = e.Time, 0
	case domain.EventStepStarted, domain.EventInferenceRequested, client.EventReasoning, client.EventRetry:
		t.phase, t.step = thinks, max(e.Step, t.step)
	case client.EventText:
		t.phase = writes
	case domain.EventInferenceReceived:
		t.phase, t.tokens = thinks, t.tokens+e.Usage.TotalTokens()
	case domain.EventToolCallStarted:
		t.phase, t.running[e.Position] = calls, e.Tool
	case domain.EventToolCallCompleted, domain.EventToolCallBlocked:
		delete(t.running, e.Position)
		if len(t.running) == 0 {
			t.phase = thinks
		}
	case domain.EventStopSignalReceived:
		if asked, ok := e.Recorded.Data.(domain.StopEvent); ok && (asked.Reason == domain.UserRequested || asked.Reason == domain.StopRequested) {
			t.stops = true
		}
	case domain.EventPaused, domain.EventResumed:
		t.paused = e.Type == domain.EventPaused
	case client.EventNoWorker, client.EventTrouble:
		t.stalled = "no worker takes what is next"
	case client.EventRateLimited:
		t.stalled = "a rate limit has it wait for its turn"
	case client.EventReconnecting:
		t.away = "the server is away; trying again"
	case domain.EventExecutionCompleted, domain.EventExecutionFailed, client.EventEnded:
		t.phase, t.stops, t.running, t.paused = idle, false, nil, false
		if o := e.Ended; o != nil {
			t.tokens = max(t.tokens, o.Usage.TotalTokens())
			if o.Closed {
				t.phase = over
			}
		}
	default:
	}
}

// words say what goes on; waits counts the calls that wait for the person.
func (t *turn) words(now time.Time, waits int) string {
	doing := map[phase]string{
		unknown: "connecting", fresh: "new session", over: "the session has ended", idle: "your turn",
		thinks: "thinking", writes: "writing", calls: "runs " + render.Counted(len(t.running), "tool"),
	}[t.phase]
	switch {
	case t.away != "":
		return t.away
	case t.phase == idle && t.view.Suspended != nil:
		return strings.TrimSuffix("suspended: "+render.OneLine(t.view.Suspended.Reason), ": ")
	case !t.busy():
		return doing
	}
	for _, tool := range t.running {
		if t.phase == calls && len(t.running) == 1 {
			doing = "runs " + render.OneLine(tool)
		}
	}
	switch {
	case t.stops:
		doing = "stopping"
	case waits > 0:
		doing = "waits for your word"
	case t.paused:
		doing = "paused"
	case t.stalled != "":
		doing = t.stalled
	}
	if !t.began.IsZero() && now.Sub(t.began) >= time.Second {
		doing += " · " + render.Duration(now.Sub(t.began).Truncate(time.Second))
	}
	return doing
}

// used says how far the newest execution is, and at what cost.
func (t *turn) used() string {
	step, tokens, cost := "", t.tokens, ""
	if t.step > 0 {
		step = fmt.Sprintf("step %d", t.step)
	}
	if t.view.Number == t.number {
		tokens = max(tokens, t.view.Usage.TotalTokens())
		if t.view.CostNanoUSD != 0 {
			cost = "$" + domain.USD(t.view.CostNanoUSD)
		}
	}
	return render.Joined(" · ", step, render.Some(tokens, "token"), cost)
}
