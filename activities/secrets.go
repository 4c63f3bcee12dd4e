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

// noSecrets is a worker that knows none.
type noSecrets struct{}

func (noSecrets) Hide(text string) string { return text }
func (noSecrets) Begun(string) int        { return 0 }

// tellingPart is from how many bytes on the beginning of a secret tells
// something of it. What is shorter is the same in all keys of a vendor.
const tellingPart = 8

// hiddenAnswer is an answer as it may leave the worker.
func hiddenAnswer(secrets Secrets, answer inference.Answer) inference.Answer {
	r := &answer.Response
	for _, text := range []*string{&r.ID, &r.RequestID, &r.Model, &r.FinishWord} {
		*text = secrets.Hide(*text)
	}
	r.Finish = domain.FinishReason(secrets.Hide(string(r.Finish)))
	answer.Message = hiddenMessage(secrets, answer.Message)
	if !answer.Partial {
		return answer
	}
	// The rest of a secret may be what was cut off.
	for i := range answer.Message.Parts {
		p := &answer.Message.Parts[i]
		if n := secrets.Begun(p.Text); n >= tellingPart {
			p.Text = p.Text[:len(p.Text)-n]
		}
	}
	return answer
}

// hiddenMessage is a message without the secrets. A part that would have to go
// back as it came and held one is no longer what its signature signs: it loses
// that, and so is not sent back as the provider's own.
func hiddenMessage(secrets Secrets, m domain.Message) domain.Message {
	m = m.Clone()
	for i := range m.Parts {
		p := &m.Parts[i]
		plain := true
		for _, text := range []*string{&p.Text, &p.MediaType, &p.URL, &p.Filename, &p.Signature} {
			hidden := secrets.Hide(*text)
			plain = plain && hidden == *text
			*text = hidden
		}
		if hidden := secrets.Hide(string(p.Data)); hidden != string(p.Data) {
			plain, p.Data = false, []byte(hidden)
		}
		if !plain || secrets.Hide(string(p.Opaque)) != string(p.Opaque) {
			p.Signature, p.Opaque = "", nil
		}
	}
	for i, call := range m.ToolCalls {
		m.ToolCalls[i] = hiddenCall(secrets, call)
	}
	if r := m.ToolResult; r != nil {
		r.Content = secrets.Hide(r.Content)
	}
	m.Name, m.Metadata = secrets.Hide(m.Name), hiddenNotes(secrets, m.Metadata)
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

// hiddenReply is what a hook wants done, without the secrets.
func hiddenReply(secrets Secrets, reply contract.HookReply) contract.HookReply {
	reply.Block = secrets.Hide(reply.Block)
	if reply.Call != nil {
		call := hiddenCall(secrets, *reply.Call)
		reply.Call = &call
	}
	if reply.Content != nil {
		content := secrets.Hide(*reply.Content)
		reply.Content = &content
	}
	if reply.Answer != nil {
		answer := hiddenMessage(secrets, *reply.Answer)
		reply.Answer = &answer
	}
	if reply.Stop != nil {
		stop := *reply.Stop
		stop.Message, stop.Context = secrets.Hide(stop.Message), hiddenNotes(secrets, stop.Context)
		reply.Stop = &stop
	}
	reply.Say = slices.Clone(reply.Say)
	for i, m := range reply.Say {
		reply.Say[i] = hiddenMessage(secrets, m)
	}
	reply.Note = hiddenNotes(secrets, reply.Note)
	return reply
}

func hiddenCall(secrets Secrets, call domain.ToolCall) domain.ToolCall {
	return domain.ToolCall{ID: secrets.Hide(call.ID), Name: secrets.Hide(call.Name), Arguments: secrets.Hide(call.Arguments)}
}

// hiddenError is an error without the secrets. Nil stays nil.
func hiddenError(secrets Secrets, err *domain.Error) *domain.Error {
	if err == nil {
		return nil
	}
	own := *err
	own.Message, own.Detail = secrets.Hide(own.Message), secrets.Hide(own.Detail)
	return &own
}

// A hiddenStream passes a text on piece by piece, without the secrets. It holds
// back what may be the beginning of one until it is known. It belongs to one
// goroutine.
type hiddenStream struct {
	secrets Secrets
	held    string
}

// pass returns what may be shown by now.
func (s *hiddenStream) pass(piece string) string {
	if piece == "" {
		return ""
	}
	text := s.secrets.Hide(s.held + piece)
	begun := s.secrets.Begun(text)
	s.held = text[len(text)-begun:]
	return text[:len(text)-begun]
}
