package render

import (
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// messageWords says for what a message waits that was not read yet.
func messageWords(w contract.WaitingView, v account.Status) string {
	text := MessageText(w)
	switch {
	case v.Status.Terminal() && !v.Open:
		return text + " was never read: the execution ended before"
	case w.Delivery == contract.QueueIfBusy:
		return text + " waits to begin an execution of its own"
	}
	return text + " waits for the next step"
}

// MessageText is how a message begins, as it is quoted.
func MessageText(w contract.WaitingView) string {
	if w.Text == "" {
		return "whose text is not kept"
	}
	return `"` + OneLine(w.Text) + where(w.Cut, "…") + `"`
}

// messageNotice tells of a message that came while the execution was in progress.
func messageNotice(e client.Event) string {
	if e.Message == nil {
		return OneLine(string(e.Type))
	}
	text := MessageText(*e.Message)
	switch e.Type {
	case domain.EventMessageReceived:
		return "message " + text + " has joined the conversation"
	case domain.EventMessageUnsent:
		return "message " + text + " was taken back"
	default:
		return "message " + text + where(e.Message.Delivery == contract.QueueIfBusy, " waits to begin an execution of its own") +
			where(e.Message.Delivery != contract.QueueIfBusy, " waits for the next step")
	}
}
