package main

import "everstep/starter/client"

// A writing is what the model has written in an attempt, as far as it is known.
type writing struct {
	// step is that of the inference under way, zero for none.
	step int
	// attempt counts the tries of the inference from 1; zero: not known yet.
	attempt int
	text    known
	// reasoning is what the model thinks; empty once it goes on to answer.
	reasoning known
}

// A known is the end of a text that arrives.
type known struct {
	text string
	// cut says that the beginning is not known, or not kept.
	cut bool
}

// mostKnown bounds what is kept of a text, in bytes.
const mostKnown = 16 << 10

// add adds what has arrived, where some bytes before it were missed.
func (k *known) add(text string, skipped int) {
	if skipped > 0 {
		k.text, k.cut = "", true
	}
	k.text += text
	if excess := len(k.text) - mostKnown; excess > 0 {
		k.text, k.cut = k.text[excess:], true
	}
}

// follow keeps up with what the model is writing.
func (w *writing) follow(e client.Event) {
	switch e.Type {
	case client.EventStep:
		*w = writing{step: e.Step}
	case client.EventReasoning:
		w.step, w.attempt = e.Step, e.Attempt
		w.reasoning.add(e.Text, e.Skipped)
	case client.EventText:
		w.step, w.attempt, w.reasoning = e.Step, e.Attempt, known{}
		w.text.add(e.Text, e.Skipped)
	case client.EventWithdrawn:
		w.text, w.reasoning = known{}, known{}
	case client.EventRetry:
		if e.Tool == "" {
			*w = writing{step: e.Step, attempt: e.Attempt}
		}
	case client.EventAnswered, client.EventCut, client.EventEnded, client.EventClosed:
		*w = writing{}
	case client.EventBegan, client.EventTool, client.EventToolDone, client.EventNotRun, client.EventHook, client.EventHookFailed,
		client.EventSummary, client.EventNoWorker, client.EventRateLimited, client.EventWithheld,
		client.EventTrouble, client.EventStopAsked, client.EventContinued, client.EventReconnecting, client.EventReconnected:
	}
}
