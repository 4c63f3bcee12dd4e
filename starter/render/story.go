package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
)

type mark string

const (
	markBegan   mark = "began"
	markLink    mark = "link"
	markStep    mark = "step"
	markText    mark = "text" // what the model wrote; may have many lines
	markCall    mark = "call" // a tool call begins
	markDone    mark = "done" // a tool call went well
	markFailed  mark = "failed"
	markAt      mark = "at" // how far a tool call is
	markNotice  mark = "notice"
	markWarning mark = "warning"
	markEnd     mark = "end"
)

// A line is a part of a story. Its text has been cleaned.
type line struct {
	mark   mark
	step   int // zero for what is not of a step
	text   string
	call   callKey                // names a tool call, for markCall, markAt, markDone and markFailed
	at     string                 // how far the call is, for markCall
	status domain.ExecutionStatus // the execution's, for markEnd
}

type callKey struct{ step, position int }

// A story puts events into words. What views have in common is here.
type story struct {
	id string
	ui string // where a person looks at the agent, a run's id aside; empty for nowhere

	calls map[callKey]call
	// headed says that the line was told which names the execution.
	headed bool
	began  time.Time
	// thinks is since when the model thinks; zero: it does not, or nobody knows.
	thinks time.Time
	// held is the newest text, a line only if the story goes on: the answer is elsewhere.
	held *line
	// below are its sub-agents.
	below family
}

type call struct {
	words string
	since time.Time
}

func newStory(id, ui string) *story {
	return &story{id: id, ui: ui, calls: make(map[callKey]call)}
}

// Tell returns the lines of an event.
func (s *story) Tell(e client.Event) []line {
	var lines []line
	if !s.headed && e.Number > 0 {
		s.headed = true
		lines = append(lines, line{mark: markBegan, text: fmt.Sprintf("%s · execution %d", OneLine(s.id), e.Number)})
	}
	if s.held != nil && e.Type == domain.EventStepStarted {
		lines = append(lines, *s.held)
		s.held = nil
	}
	return append(append(lines, s.thought(e)...), s.tell(e)...)
}

func (s *story) thought(e client.Event) []line {
	switch e.Type {
	case client.EventReasoning:
		if s.thinks.IsZero() && e.Skipped == 0 {
			s.thinks = e.Time
		}
	case client.EventText, domain.EventInferenceReceived:
		took := e.Time.Sub(s.thinks)
		known := !s.thinks.IsZero()
		s.thinks = time.Time{}
		if known && took >= time.Second {
			return []line{{mark: markNotice, step: e.Step, text: "thought for " + Duration(took)}}
		}
	case domain.EventStepStarted, client.EventWithdrawn:
		s.thinks = time.Time{}
	default:
	}
	return nil
}

func (s *story) tell(e client.Event) []line {
	at := callKey{e.Step, e.Position}
	switch e.Type {
	case domain.EventExecutionStarted:
		s.began = e.Time
		if s.ui != "" {
			return []line{{mark: markLink, text: s.ui + e.RunID}}
		}
		return nil
	case domain.EventStepStarted:
		return []line{{mark: markStep, step: e.Step, text: fmt.Sprintf("step %d", e.Step)}}
	case client.EventToolProgress:
		return []line{{mark: markAt, step: e.Step, call: at, text: OneLine(e.Tool) + ": " + OneLine(e.Text)}}
	case domain.EventInferenceRequested:
		return s.requested(e)
	case domain.EventInferenceReceived:
		if e.Error == nil {
			return s.answered(e)
		}
		return s.cut(e)
	case domain.EventToolCallStarted:
		c := call{words: CallWords(e.Tool, e.Arguments), since: e.Time}
		s.calls[at] = c
		text := c.words
		if e.Wait != nil {
			text += " · " + WaitWords(*e.Wait)
		}
		return []line{{mark: markCall, step: e.Step, call: at, text: text}}
	case domain.EventToolCallCompleted:
		return []line{s.toolDone(e, at)}
	case domain.EventToolCallWaiting:
		_, text := notice(e)
		return []line{{mark: markAt, step: e.Step, call: at, text: OneLine(text)}}
	case domain.EventExecutionCompleted, domain.EventExecutionFailed, client.EventEnded:
		return []line{s.ended(e)}
	case client.EventText, client.EventReasoning:
		return nil // each view shows in its own way what arrives
	default:
		m, text := notice(e)
		if text == "" {
			return nil
		}
		return []line{{mark: m, step: e.Step, text: OneLine(text)}}
	}
}

// requested tells of an inference that is not a step's first.
func (s *story) requested(e client.Event) []line {
	if r, ok := e.Recorded.Data.(domain.InferenceRequestStarted); ok && r.Summary && e.Attempt == 1 {
		return []line{{mark: markNotice, step: e.Step, text: "making the conversation shorter"}}
	}
	if e.Attempt > 1 {
		return []line{{mark: markNotice, step: e.Step, text: fmt.Sprintf("it is tried again (attempt %d)", e.Attempt)}}
	}
	return nil
}

func (s *story) answered(e client.Event) []line {
	text := line{mark: markText, step: e.Step, text: strings.TrimSpace(Clean(e.Text))}
	switch {
	case text.text == "":
		return nil
	case len(e.Calls) == 0:
		s.held = &text
		return nil
	}
	return []line{text}
}

func (s *story) cut(e client.Event) []line {
	var lines []line
	if text := strings.TrimSpace(Clean(e.Text)); text != "" && e.Outcome == contract.Interrupted {
		if e.Skipped > 0 {
			text = "…" + text
		}
		lines = append(lines, line{mark: markText, step: e.Step, text: text})
	}
	words := "the inference was cut off"
	switch e.Outcome {
	case contract.ShutDown:
		return append(lines, line{mark: markNotice, step: e.Step, text: "the worker was told to stop; another goes on"})
	case contract.BilledFailure:
		words = "the inference failed"
	case contract.Answered, contract.Interrupted:
	}
	return append(lines, line{mark: markWarning, step: e.Step, text: words + within(": ", Why(e.Error), "")})
}

func (s *story) toolDone(e client.Event, at callKey) line {
	c, known := s.calls[at]
	delete(s.calls, at)
	l := line{mark: markDone, step: e.Step, call: at, text: c.words}
	if !known {
		l.text = OneLine(e.Tool)
	} else if took := e.Time.Sub(c.since); took > 0 {
		l.text += " · " + Duration(took)
	}
	if e.Error != nil {
		l.mark = markFailed
		l.text += ": " + Why(e.Error)
	}
	return l
}

func (s *story) ended(e client.Event) line {
	if e.Ended == nil {
		return line{mark: markEnd, text: "ended"}
	}
	var took time.Duration
	if !s.began.IsZero() {
		took = e.Time.Sub(s.began)
	}
	return line{mark: markEnd, text: Ending(*e.Ended, took), status: e.Ended.Status}
}

// Ending says in one line how an execution ended and what it took; a time of zero is not known.
func Ending(o contract.Outcome, took time.Duration) string {
	why := map[domain.ExecutionStatus]string{domain.StatusFailed: string(o.Code), domain.StatusStopped: string(o.StopReason)}[o.Status]
	return OneLine(joined(" · ", string(o.Status)+within(" (", why+ofSession(o.SessionLimit), ")"), Counted(int64(o.Steps), "step"), some(o.Usage.TotalTokens(), "token"),
		paidWords(&o.CostNanoUSD), where(took > 0, Duration(took))))
}

const maxWords = 120

// CallWords name a tool call and how its arguments begin, in one line.
func CallWords(tool, arguments string) string {
	return strings.TrimSpace(OneLine(tool) + " " + shortened(OneLine(arguments), maxWords))
}

// Notice is an event in one sentence; warns says that somebody should look at it.
func Notice(e client.Event) (text string, warns bool) {
	m, text := notice(e)
	return OneLine(text), m == markWarning
}

// notice is an event that is told in one sentence.
func notice(e client.Event) (mark, string) {
	reason := within(": ", OneLine(e.Reason), "")
	hook := fmt.Sprintf("hook %s at %s", OneLine(e.Hook), OneLine(string(e.Trigger)))
	switch e.Type {
	case client.EventRetry, domain.EventToolCallRetried, domain.EventInferenceRequested:
		what := cmp.Or(OneLine(e.Tool), "the inference")
		if e.Attempt > 1 { // one whose worker was lost does not count
			what = fmt.Sprintf("%s failed and is tried again (attempt %d)", what, e.Attempt)
		} else {
			what += " failed and is tried again"
		}
		return markWarning, what + cmp.Or(reason, within(": ", Why(e.Error), ""))
	case domain.EventToolCallWaiting:
		return markNotice, waitingCall(e)
	case domain.EventToolCallBlocked:
		return markWarning, notRun(e)
	case domain.EventHookCalled:
		return markNotice, hook
	case domain.EventHookFailed:
		return markWarning, hook + " failed" + within(": ", Why(e.Error), "")
	case client.EventWithdrawn:
		return markNotice, fmt.Sprintf("what came so far of attempt %d is withdrawn", max(e.Attempt, 1))
	case client.EventWithheld:
		return markNotice, fmt.Sprintf("what the model says is withheld: hook %s may rewrite it", OneLine(e.Hook))
	case client.EventNoWorker:
		return markWarning, "no worker has taken the work for 5 s; waiting until one is up" + reason
	case client.EventRateLimited:
		return markNotice, "under a rate limit what is next has to wait for its turn" + reason
	case client.EventTrouble:
		return markWarning, "a worker cannot carry this on, and tries again" + reason
	case domain.EventStopSignalReceived:
		return markWarning, stopAsked(e)
	case domain.EventWaitOpened:
		return markWarning, opened(e)
	case domain.EventWaitClosed:
		return markNotice, closed(e)
	case domain.EventMessageWaiting, domain.EventMessageReceived, domain.EventMessageUnsent:
		return markNotice, messageNotice(e)
	case domain.EventPaused:
		return markWarning, "paused: nothing new starts until it is resumed"
	case domain.EventResumed:
		return markNotice, "resumed"
	case client.EventContinued:
		return markNotice, "the history goes on in a new run"
	case client.EventReconnecting:
		return markWarning, "the server is away; reconnecting" + reason
	case client.EventReconnected:
		return markNotice, "the server is back"
	case client.EventGone:
		return markWarning, "what it does cannot be read" + reason
	case domain.EventSubagentSpawning:
		return markNotice, joined(" ", "sub-agent", OneLine(e.ChildName), e.ChildID.String(), "begins")
	case domain.EventHandedOver:
		handed, _ := e.Recorded.Data.(domain.ConversationHandedOver)
		return markNotice, "the conversation is handed over to " + OneLine(handed.Agent)
	case domain.EventMCPSessionLost:
		lost, _ := e.Recorded.Data.(domain.MCPSessionEvent)
		return markWarning, "the session with MCP server " + OneLine(lost.Server) + " is lost" + within(": ", OneLine(lost.Why), "")
	default: // what else is noted shows in what comes of it
		return markNotice, ""
	}
}

// stopAsked tells that somebody has asked to stop. That a limit or the end of the work did says the end.
func stopAsked(e client.Event) string {
	asked, _ := e.Recorded.Data.(domain.StopEvent)
	if asked.Reason != domain.UserRequested && asked.Reason != domain.StopRequested {
		return ""
	}
	return "asked to stop" + within(" by ", OneLine(asked.Source), "") + within(": ", OneLine(e.Reason), "")
}

func notRun(e client.Event) string {
	words := CallWords(e.Tool, e.Arguments) + ": " + cmp.Or(Why(e.Error), "not run")
	if e.Error == nil {
		return words
	}
	return words + within(" (", OneLine(e.Error.Source), ")")
}

// waitingCall says for what a call waits that was made.
func waitingCall(e client.Event) string {
	waiting, _ := e.Recorded.Data.(domain.ToolCallWaiting)
	if !waiting.Until.IsZero() {
		return OneLine(e.Tool) + " waits until " + moment(waiting.Until)
	}
	return OneLine(e.Tool) + " goes on at its server" + within(": ", OneLine(waiting.Status), "")
}

// Why is why something failed, in one line. Of an error that is no longer known it is what is left of that.
func Why(err *domain.Error) string {
	if err == nil {
		return ""
	}
	return OneLine(cmp.Or(err.Message, joined(", ", string(err.Kind), string(err.Code))))
}
