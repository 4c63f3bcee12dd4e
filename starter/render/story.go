package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/account"
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
	mark mark
	step int // zero for what is not of a step
	text string
}

type callKey struct{ step, position int }

// A story puts events into lines.
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

// oneLine is what one line tells of an event.
func oneLine(e client.Event, m mark, text string) []line {
	return []line{{mark: m, step: e.Step, text: text}}
}

func (s *story) thought(e client.Event) []line {
	switch e.Type {
	case client.EventReasoning:
		if s.thinks.IsZero() && e.Skipped == 0 {
			s.thinks = e.Time
		}
	case client.EventText, domain.EventInferenceReceived:
		took, known := e.Time.Sub(s.thinks), !s.thinks.IsZero()
		s.thinks = time.Time{}
		if known && took >= time.Second {
			return oneLine(e, markNotice, "thought for "+Duration(took))
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
			return oneLine(e, markLink, s.ui+e.RunID)
		}
		return nil
	case domain.EventStepStarted:
		return oneLine(e, markStep, fmt.Sprintf("step %d", e.Step))
	case client.EventToolProgress:
		return oneLine(e, markAt, OneLine(e.Tool)+": "+OneLine(e.Text))
	case domain.EventInferenceRequested:
		if r, ok := e.Recorded.Data.(domain.InferenceRequestStarted); ok && r.Summary && e.Attempt == 1 {
			return oneLine(e, markNotice, "making the conversation shorter")
		}
		if e.Attempt > 1 {
			return oneLine(e, markNotice, fmt.Sprintf("it is tried again (attempt %d)", e.Attempt))
		}
		return nil
	case domain.EventInferenceReceived:
		return s.answered(e)
	case domain.EventToolCallStarted:
		c := call{words: CallWords(e.Tool, e.Arguments), since: e.Time}
		s.calls[at] = c
		text := c.words
		if e.Wait != nil {
			text += " · " + WaitWords(*e.Wait)
		}
		return oneLine(e, markCall, text)
	case domain.EventToolCallCompleted:
		return s.toolDone(e, at)
	case domain.EventExecutionCompleted, domain.EventExecutionFailed, client.EventEnded:
		return []line{s.ended(e)}
	case client.EventText, client.EventReasoning:
		return nil // the view shows what arrives
	default:
		m, text := notice(e)
		if text == "" {
			return nil
		}
		return oneLine(e, m, OneLine(text))
	}
}

// answered tells what an inference has said, and why it was cut off. What may be the answer is held back.
func (s *story) answered(e client.Event) (lines []line) {
	text := strings.TrimSpace(Clean(e.Text))
	if text != "" && (e.Error == nil || e.Outcome == contract.Interrupted) {
		lines = oneLine(e, markText, where(e.Error != nil && e.Skipped > 0, "…")+text)
	}
	switch {
	case e.Error != nil:
		m, why := notice(e)
		return append(lines, oneLine(e, m, why)...)
	case len(e.Calls) == 0 && len(lines) > 0:
		s.held = &lines[0]
		return nil
	}
	return lines
}

func (s *story) toolDone(e client.Event, at callKey) []line {
	c, known := s.calls[at]
	delete(s.calls, at)
	text := c.words
	if !known {
		text = OneLine(e.Tool)
	} else if took := e.Time.Sub(c.since); took > 0 {
		text += " · " + Duration(took)
	}
	if e.Error != nil {
		return oneLine(e, markFailed, text+": "+Why(e.Error))
	}
	return oneLine(e, markDone, text)
}

func (s *story) ended(e client.Event) line {
	if e.Ended == nil {
		return line{mark: markEnd, text: "ended"}
	}
	var took time.Duration
	if !s.began.IsZero() {
		took = e.Time.Sub(s.began)
	}
	return line{mark: markEnd, text: Ending(*e.Ended, took)}
}

// Ending says in one line how an execution ended and what it took; a time of zero is not known.
func Ending(o contract.Outcome, took time.Duration) string {
	why := map[domain.ExecutionStatus]string{domain.StatusFailed: string(o.Code), domain.StatusStopped: string(o.StopReason)}[o.Status]
	return OneLine(Joined(" · ", string(o.Status)+Within(" (", why+ofSession(o.SessionLimit), ")"), Counted(o.Steps, "step"), Some(o.Usage.TotalTokens(), "token"),
		paidWords(&o.CostNanoUSD), where(took > 0, Duration(took))))
}

const maxWords = 120

// CallWords name a tool call and how its arguments begin, in one line.
func CallWords(tool, arguments string) string {
	return strings.TrimSpace(OneLine(tool) + " " + shortened(legible(arguments), maxWords))
}

// Notice is an event in one sentence; warns says that somebody should look at it.
func Notice(e client.Event) (text string, warns bool) {
	m, text := notice(e)
	return OneLine(text), m == markWarning
}

// notice is an event that is told in one sentence.
func notice(e client.Event) (mark, string) {
	reason, failed := Within(": ", OneLine(e.Reason), ""), Within(": ", Why(e.Error), "")
	tool, hook := OneLine(e.Tool), fmt.Sprintf("hook %s at %s", OneLine(e.Hook), OneLine(string(e.Trigger)))
	message := value(e.Message)
	switch e.Type {
	case client.EventRetry, domain.EventToolCallRetried, domain.EventInferenceRequested:
		what := cmp.Or(tool, "the inference") + " failed and is tried again"
		if e.Attempt > 1 { // one whose worker was lost does not count
			what += fmt.Sprintf(" (attempt %d)", e.Attempt)
		}
		return markWarning, what + cmp.Or(reason, failed)
	case domain.EventInferenceReceived:
		switch e.Outcome {
		case contract.ShutDown:
			return markNotice, "the worker was told to stop; another goes on"
		case contract.BilledFailure:
			return markWarning, InferenceFailed + failed
		case contract.Answered, contract.Interrupted:
		}
		return markWarning, "the inference was cut off" + failed
	case domain.EventToolCallWaiting:
		waiting, _ := e.Recorded.Data.(domain.ToolCallWaiting)
		if !waiting.Until.IsZero() {
			return markAt, tool + " waits until " + moment(waiting.Until)
		}
		return markAt, tool + " goes on at its server" + Within(": ", OneLine(waiting.Status), "")
	case domain.EventToolCallBlocked:
		by := ""
		if e.Error != nil {
			by = Within(" (", OneLine(e.Error.Source), ")")
		}
		return markWarning, CallWords(e.Tool, e.Arguments) + cmp.Or(failed, ": not run") + by
	case domain.EventHookCalled:
		return markNotice, hook
	case domain.EventHookFailed:
		return markWarning, hook + " failed" + failed
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
		if asked, _ := e.Recorded.Data.(domain.StopEvent); asked.Reason == domain.UserRequested || asked.Reason == domain.StopRequested {
			return markWarning, "asked to stop" + Within(" by ", OneLine(asked.Source), "") + reason
		}
		return markWarning, "" // that a limit or the end of the work stops it says the end
	case domain.EventWaitOpened:
		return markWarning, opened(e)
	case domain.EventWaitClosed:
		return markNotice, closed(e)
	case domain.EventMessageWaiting:
		return markNotice, "message " + MessageText(message) + waitsFor(message)
	case domain.EventMessageReceived:
		return markNotice, "message " + MessageText(message) + " has joined the conversation"
	case domain.EventMessageUnsent:
		return markNotice, "message " + MessageText(message) + " was taken back"
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
		return markNotice, Joined(" ", "sub-agent", OneLine(e.ChildName), e.ChildID.String(), "begins")
	case domain.EventHandedOver:
		handed, _ := e.Recorded.Data.(domain.ConversationHandedOver)
		return markNotice, "the conversation is handed over to " + OneLine(handed.Agent)
	case domain.EventMCPSessionLost:
		lost, _ := e.Recorded.Data.(domain.MCPSessionEvent)
		return markWarning, "the session with MCP server " + OneLine(lost.Server) + " is lost" + Within(": ", OneLine(lost.Why), "")
	default: // what else is noted shows in what comes of it
		return markNotice, ""
	}
}

// InferenceFailed is how it is told that one did.
const InferenceFailed = "the inference failed"

// Why is why something failed, in one line. Of an error that is no longer known it is what is left of that.
func Why(err *domain.Error) string {
	if err == nil {
		return ""
	}
	return OneLine(cmp.Or(err.Message, Joined(", ", string(err.Kind), string(err.Code))))
}

// A family tells what the sub-agents of a story do, each in a story of its own. What they say is shown in one line.
type family struct {
	members map[domain.AgentID]*member
}

// A member is one sub-agent.
type member struct {
	story *story
	// name is what it is called, and depth how deep it is.
	name  string
	depth int
}

// join notes that a call has started a sub-agent.
func (f *family) join(e client.Event) {
	if e.Type != domain.EventSubagentSpawning {
		return
	}
	if f.members == nil {
		f.members = map[domain.AgentID]*member{}
	}
	id := e.ChildID.String()
	f.members[e.ChildID] = &member{story: newStory(id, ""), name: Joined(" ", OneLine(e.ChildName), shortAgent(id)), depth: e.Depth() + 1}
}

// tell returns the lines of an event of a sub-agent. Of one that nobody knows there are none.
func (f *family) tell(e client.Event) (*member, []line) {
	m := f.members[e.AgentID]
	if m == nil {
		return nil, nil
	}
	var lines []line
	for _, l := range m.story.Tell(e) {
		switch l.mark {
		case markBegan, markLink:
			continue
		case markText:
			l.text = shortened(OneLine(l.text), maxWords)
		default:
		}
		lines = append(lines, l)
	}
	return m, lines
}

// deep is how far what is below the agent stands to the right.
func (m *member) deep() string { return strings.Repeat("  ", m.depth) }

// messageWords says for what a message waits that was not read yet.
func messageWords(w contract.WaitingView, v account.Status) string {
	if v.Status.Terminal() && !v.Open {
		return MessageText(w) + " was never read: the execution ended before"
	}
	return MessageText(w) + waitsFor(w)
}

func waitsFor(w contract.WaitingView) string {
	if w.Delivery == contract.QueueIfBusy {
		return " waits to begin an execution of its own"
	}
	return " waits for the next step"
}

// MessageText is how a message begins, as it is quoted.
func MessageText(w contract.WaitingView) string {
	if w.Text == "" {
		return "whose text is not kept"
	}
	return `"` + OneLine(w.Text) + where(w.Cut, "…") + `"`
}
