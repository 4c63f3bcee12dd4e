package main

import (
	"fmt"

	"everstep/starter/client"
)

func noticeMark(t client.EventType) mark {
	switch t {
	case client.EventContinued, client.EventReconnected, client.EventClosed, client.EventHook, client.EventSummary,
		client.EventWithdrawn, client.EventWithheld, client.EventRateLimited:
		return markNotice
	default:
		return markWarning
	}
}

// notice is an event that is told in one sentence.
func notice(e client.Event) string {
	reason := ""
	if e.Reason != "" {
		reason = ": " + oneLine(e.Reason)
	}
	switch e.Type {
	case client.EventRetry:
		what := "the inference"
		if e.Tool != "" {
			what = oneLine(e.Tool)
		}
		return fmt.Sprintf("%s failed and is tried again (attempt %d)%s", what, e.Attempt, reason)
	case client.EventNotRun:
		return notRun(e)
	case client.EventHook:
		return hookWords(e)
	case client.EventHookFailed:
		words := hookWords(e) + " failed"
		if e.Error != nil {
			words += ": " + oneLine(e.Error.Message)
		}
		return words
	case client.EventWithdrawn:
		return fmt.Sprintf("what came so far of attempt %d is withdrawn", max(e.Attempt, 1))
	case client.EventWithheld:
		return fmt.Sprintf("what the model says is withheld: hook %s may rewrite it", oneLine(e.Hook))
	case client.EventSummary:
		return "making the conversation shorter"
	case client.EventNoWorker:
		return "no worker has taken the work for 5 s; waiting until one is up on the task queue" + reason
	case client.EventRateLimited:
		return "the model has a rate limit; the inference has to wait for its turn" + reason
	case client.EventTrouble:
		return "a worker cannot carry this on, and tries again" + reason
	case client.EventStopAsked:
		return fmt.Sprintf("asked to stop (%s)%s", e.Mode, reason)
	case client.EventContinued:
		return "the history goes on in a new run"
	case client.EventReconnecting:
		return "the server is away; reconnecting" + reason
	case client.EventReconnected:
		return "the server is back"
	case client.EventClosed:
		return "the session was closed"
	default:
		return oneLine(string(e.Type)) + reason
	}
}

func hookWords(e client.Event) string {
	return fmt.Sprintf("hook %s at %s", oneLine(e.Hook), oneLine(string(e.Trigger)))
}

// notRun says that a call was not run, and why. The reason, which the model got
// to read too, says whether it was blocked.
func notRun(e client.Event) string {
	words := callWords(e)
	if e.Error == nil {
		return words + ": not run; no worker tells why"
	}
	words += ": " + oneLine(e.Error.Message)
	if e.Error.Source != "" {
		words += " (" + oneLine(e.Error.Source) + ")"
	}
	return words
}
