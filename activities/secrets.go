package activities

import (
	"maps"
	"slices"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/contract"
)

// Secrets are what a worker knows and nobody else may: its keys, the password
// of its proxy. They are used by many at once, and may change meanwhile.
type Secrets interface {
	// Hide takes them out of a text, also where they are quoted, escaped or
	// encoded in a usual way.
	Hide(text string) string
	// Begun is how many bytes at the end of a text may be the beginning of one.
	Begun(text string) int
}

type noSecrets struct{}

func (noSecrets) Hide(text string) string { return text }
func (noSecrets) Begun(string) int        { return 0 }

// hide takes them out of texts, and reports whether there were any.
func hide(secrets Secrets, texts ...*string) (found bool) {
	for _, text := range texts {
		hidden := secrets.Hide(*text)
		found = found || hidden != *text
		*text = hidden
	}
	return found
}

// tellingPart is how many bytes of a secret tell something: less is the same in all keys
// of a vendor.
const tellingPart = 8

func hideInAnswer(secrets Secrets, answer *inference.Answer) {
	r := &answer.Response
	hide(secrets, &r.ID, &r.RequestID, &r.Model, &r.FinishWord, (*string)(&r.Finish))
	answer.Message = hiddenMessage(secrets, answer.Message)
	if !answer.Partial {
		return
	}
	// The rest of a secret may be what was cut off.
	for i := range answer.Message.Parts {
		p := &answer.Message.Parts[i]
		if n := secrets.Begun(p.Text); n >= tellingPart {
			p.Text = p.Text[:len(p.Text)-n]
		}
	}
}

// hiddenMessage is a message without the secrets. A part that held one is no longer
// what its signature signs, so it loses that and is not sent back as it came.
func hiddenMessage(secrets Secrets, m domain.Message) domain.Message {
	m = m.Clone()
	for i := range m.Parts {
		p := &m.Parts[i]
		data, opaque := string(p.Data), string(p.Opaque)
		found := hide(secrets, &p.Text, &p.MediaType, &p.URL, &p.Filename, &p.Signature)
		if hide(secrets, &data) {
			found, p.Data = true, []byte(data)
		}
		if found || hide(secrets, &opaque) {
			p.Signature, p.Opaque = "", nil
		}
	}
	for i := range m.ToolCalls {
		hideCall(secrets, &m.ToolCalls[i])
	}
	if r := m.ToolResult; r != nil {
		hide(secrets, &r.Content)
	}
	hide(secrets, &m.Name)
	m.Metadata = hiddenNotes(secrets, m.Metadata)
	return m
}

// hiddenNotes are notes without the secrets. Nil stays nil.
func hiddenNotes(secrets Secrets, notes domain.Metadata) domain.Metadata {
	notes = maps.Clone(notes)
	for key, value := range notes {
		notes[key] = []byte(secrets.Hide(string(value)))
	}
	return notes
}

func hiddenMessages(secrets Secrets, messages []domain.Message) []domain.Message {
	messages = slices.Clone(messages)
	for i, m := range messages {
		messages[i] = hiddenMessage(secrets, m)
	}
	return messages
}

func hideCall(secrets Secrets, call *domain.ToolCall) {
	hide(secrets, &call.ID, &call.Name, &call.Arguments)
}

func hiddenReply(secrets Secrets, reply contract.HookReply) contract.HookReply {
	hide(secrets, &reply.Block)
	if reply.Call != nil {
		reply.Call = new(*reply.Call)
		hideCall(secrets, reply.Call)
	}
	if reply.Content != nil {
		reply.Content = new(secrets.Hide(*reply.Content))
	}
	if reply.Answer != nil {
		reply.Answer = new(hiddenMessage(secrets, *reply.Answer))
	}
	if reply.Failure != nil {
		reply.Failure = new(*reply.Failure)
		hide(secrets, &reply.Failure.Message)
	}
	if reply.SystemPrompt != nil {
		reply.SystemPrompt = new(secrets.Hide(*reply.SystemPrompt))
	}
	reply.Stops = slices.Clone(reply.Stops)
	for i := range reply.Stops {
		hide(secrets, &reply.Stops[i].Message)
		reply.Stops[i].Context = hiddenNotes(secrets, reply.Stops[i].Context)
	}
	reply.Say = hiddenMessages(secrets, reply.Say)
	reply.Aside = maps.Clone(reply.Aside)
	for section, messages := range reply.Aside {
		reply.Aside[section] = hiddenMessages(secrets, messages)
	}
	reply.Note = hiddenNotes(secrets, reply.Note)
	return reply
}

// A hiddenStream passes a text on piece by piece. It holds back what may be the
// beginning of a secret until it is known, and belongs to one goroutine.
type hiddenStream struct {
	secrets Secrets
	held    string
}

func (s *hiddenStream) pass(piece string) string {
	text := s.secrets.Hide(s.held + piece)
	begun := s.secrets.Begun(text)
	s.held = text[len(text)-begun:]
	return text[:len(text)-begun]
}
