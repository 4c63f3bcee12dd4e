package activities

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	"everstep/domain"
)

// keyReasoner is the key, in an answer's metadata, of the model that alone can
// read what is kept of its reasoning. It is recorded and must never change.
const keyReasoner = "reasoner"

// reasoner names a model, and the server where a definition names one.
func reasoner(config domain.LLMConfig) json.RawMessage {
	name := config.Provider + "/" + config.Model
	if u, err := url.Parse(config.BaseURL); err == nil && u.Host != "" {
		name += " at " + u.Host
	}
	text, _ := json.Marshal(domain.Shorten(name, maxWord)) // a string cannot fail
	return text
}

// withReasoner notes which model an answer is from, where something in it is of
// use to that model only: signatures, and what is encrypted.
func withReasoner(m domain.Message, config domain.LLMConfig) domain.Message {
	if !slices.ContainsFunc(m.Parts, func(p domain.Part) bool { return p.Signature != "" || len(p.Opaque) > 0 }) {
		return m
	}
	m.Metadata = maps.Clone(m.Metadata)
	if m.Metadata == nil {
		m.Metadata = domain.Metadata{}
	}
	m.Metadata[keyReasoner] = reasoner(config)
	return m
}

// ownReasoning leaves out the reasoning of other models than the one that is
// asked: providers refuse what they cannot verify. An answer that does not say
// which model it is from is left to the provider. Its argument stays as it is.
func ownReasoning(messages []domain.Message, config domain.LLMConfig) []domain.Message {
	asked, out := string(reasoner(config)), messages
	for i, m := range messages {
		if by, noted := m.Metadata[keyReasoner]; !noted || string(by) == asked {
			continue
		}
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		out[i].Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p domain.Part) bool { return p.Type == domain.PartReasoning })
	}
	return out
}
