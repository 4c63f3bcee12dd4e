package activities

import (
	"everstep/activities/inference"
	"everstep/domain"
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

// hidden is a copy of a value whose texts are without the secrets.
func hidden[T any](secrets Secrets, value T) T {
	return domain.Texts(value, func(text string, _ bool) string { return secrets.Hide(text) })
}

func hideInAnswer(secrets Secrets, answer *inference.Answer) {
	answer.Response, answer.Message = hidden(secrets, answer.Response), hidden(secrets, answer.Message)
	if !answer.Partial {
		return
	}
	// The rest of a secret may be what was cut off.
	for i := range answer.Message.Parts {
		p := &answer.Message.Parts[i]
		// Less of a secret is the same in all keys of a vendor.
		if n := secrets.Begun(p.Text); n >= 8 {
			p.Text = p.Text[:len(p.Text)-n]
		}
	}
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
