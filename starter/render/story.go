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

// Ending says in one line how an execution ended and what it took; a time of zero is not known.
func Ending(o contract.Outcome, took time.Duration) string {
	why := map[domain.ExecutionStatus]string{domain.StatusFailed: string(o.Code), domain.StatusStopped: string(o.StopReason)}[o.Status]
	return OneLine(Joined(" · ", string(o.Status)+Within(" (", why+where(o.SessionLimit, " of the session"), ")"), Counted(o.Steps, "step"), where(o.Usage.TotalTokens() > 0, tokens(o.Usage)),
		paidWords(&o.CostNanoUSD, o.Usage), where(took > 0, Duration(took))))
}

const maxWords = 120

// CallWords name a tool call and how its arguments begin, in one line.
func CallWords(tool, arguments string) string {
	return strings.TrimSpace(OneLine(tool) + " " + shortened(legible(arguments), maxWords))
}

// Notice is an event in one sentence; warns says that somebody should look at it. Empty: what it notes shows in what comes of it.
func Notice(e client.Event) (text string, warns bool) {
	text, warns = notice(e)
	return OneLine(text), warns
}

// notice is Notice before it is cleaned.
func notice(e client.Event) (text string, warns bool) {
	reason, failed := Within(": ", e.Reason), Within(": ", Why(e.Error))
	tool, hook := e.Tool, fmt.Sprintf("hook %s at %s", e.Hook, e.Trigger)
	message := value(e.Message)
	switch e.Type {
	case domain.EventInferenceRequested:
		if e.Attempt <= 1 {
			requested, _ := e.Recorded.Data.(domain.InferenceRequestStarted)
			return where(requested.Summary, "making the conversation shorter"), false
		}
		fallthrough
	case client.EventRetry, domain.EventToolCallRetried:
		what := cmp.Or(tool, "the inference") + " failed and is tried again"
		if e.Attempt > 1 { // one whose worker was lost does not count
			what += fmt.Sprintf(" (attempt %d)", e.Attempt)
		}
		return what + cmp.Or(reason, failed), true
	case domain.EventInferenceReceived:
		switch e.Outcome {
		case contract.ShutDown:
			return "the worker was told to stop; another goes on", false
		case contract.BilledFailure:
			return InferenceFailed + failed, true
		case contract.Answered, contract.Interrupted:
		}
		return "the inference was cut off" + failed, true
	case domain.EventToolCallWaiting:
		waiting, _ := e.Recorded.Data.(domain.ToolCallWaiting)
		if !waiting.Until.IsZero() {
			return tool + " waits until " + moment(waiting.Until), false
		}
		return tool + " goes on at its server" + Within(": ", waiting.Status), false
	case domain.EventToolCallBlocked:
		by := ""
		if e.Error != nil {
			by = Within(" (", e.Error.Source, ")")
		}
		return CallWords(e.Tool, e.Arguments) + cmp.Or(failed, ": not run") + by, true
	case domain.EventHookCalled:
		return hook, false
	case domain.EventHookFailed:
		return hook + " failed" + failed, true
	case client.EventWithdrawn:
		return fmt.Sprintf("what came so far of attempt %d is withdrawn", max(e.Attempt, 1)), false
	case client.EventWithheld:
		return fmt.Sprintf("what the model says is withheld: hook %s may rewrite it", e.Hook), false
	case client.EventNoWorker:
		return "no worker has taken the work for 5 s; waiting until one is up" + reason, true
	case client.EventRateLimited:
		return "under a rate limit what is next has to wait for its turn" + reason, false
	case client.EventTrouble:
		return "a worker cannot carry this on, and tries again" + reason, true
	case domain.EventStopSignalReceived:
		if asked, _ := e.Recorded.Data.(domain.StopEvent); asked.Reason == domain.UserRequested || asked.Reason == domain.StopRequested {
			return "asked to stop" + Within(" by ", asked.Source) + reason, true
		}
		return "", true // that a limit or the end of the work stops it says the end
	case domain.EventWaitOpened:
		return opened(e), true
	case domain.EventWaitClosed:
		return closed(e), false
	case domain.EventMessageWaiting:
		return "message " + MessageText(message) + waitsFor(message), false
	case domain.EventMessageReceived:
		return "message " + MessageText(message) + " has joined the conversation", false
	case domain.EventMessageUnsent:
		return "message " + MessageText(message) + " was taken back", false
	case domain.EventPaused:
		return "paused: nothing new starts until it is resumed", true
	case domain.EventResumed:
		return "resumed", false
	case client.EventContinued:
		return "the history goes on in a new run", false
	case client.EventReconnecting:
		return "the server is away; reconnecting" + reason, true
	case client.EventReconnected:
		return "the server is back", false
	case client.EventGone:
		return "what it does cannot be read" + reason, true
	case domain.EventSubagentSpawning:
		return Joined(" ", "sub-agent", e.ChildName, e.ChildID.String(), "begins"), false
	case domain.EventHandedOver:
		handed, _ := e.Recorded.Data.(domain.ConversationHandedOver)
		return "the conversation is handed over to " + handed.Agent, false
	case domain.EventMCPSessionLost:
		lost, _ := e.Recorded.Data.(domain.MCPSessionEvent)
		return "the session with MCP server " + lost.Server + " is lost" + Within(": ", lost.Why), true
	default: // what else is noted shows in what comes of it
		return "", false
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

// waitsFor says for what a message waits that was not read yet.
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
