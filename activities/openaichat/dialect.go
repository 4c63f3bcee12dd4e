package openaichat

import (
	"fmt"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in openai-chat/gpt-5: of
// OpenAI's own servers, and of any other that OPENAI_BASE_URL names.
const Name = "openai-chat"

// A Dialect is what tells a vendor's servers from others that speak chat
// completions. The zero value of all but the first three fields is what most of
// them take.
type Dialect struct {
	// Name is the provider's name in a model's full name.
	Name string
	// Server is the vendor's own, up to but not including /chat/completions.
	Server string
	// Variables begin the names of the variables that the user sets: GROQ of
	// GROQ_API_KEY, GROQ_API_KEY_FILE and GROQ_BASE_URL.
	Variables string
	// Official reports whether a server is the vendor's own, by its host in lower
	// case. Nil: it is where its host is Server's.
	Official func(host string) bool
	// OfficialOnly means that the rest holds for the vendor's own servers alone.
	OfficialOnly bool

	// MaxTokens is the field that bounds an answer. Empty: max_tokens.
	MaxTokens string
	// Developer means that there are instructions of a developer beside those of the system.
	Developer bool
	// ObjectsOnly means that formats must be of type object.
	ObjectsOnly bool
	// NoReasoning means that a model's reasoning is not taken back.
	NoReasoning bool
	// NoStreamOptions means that the usage is told unasked, and asking refused.
	NoStreamOptions bool
	// CallIDs is how many letters and digits the id of a call has. Zero: any.
	CallIDs int
	// EmptyContent means that calls without a text want an empty one beside them.
	EmptyContent bool
}

// Dialects are those of the vendors that have a provider. A new one is added here;
// tests say what else has to name it.
func Dialects() []Dialect {
	return []Dialect{{
		Name: Name, Server: "https://api.openai.com/v1", Variables: "OPENAI",
		Official: wire.OfOpenAI, OfficialOnly: true,
		MaxTokens: maxCompletionTokens, Developer: true, ObjectsOnly: true, NoReasoning: true,
	}}
}

// API is what the dialect makes of chat completions.
func (d Dialect) API() wire.API {
	return wire.API{
		Name: d.Name, Server: d.Server, Variables: d.Variables, Official: d.Official, ObjectsOnly: d.ObjectsOnly,
		Reserved: []string{"messages", "model", "n", "stream", "tools"},
		Options: func(options domain.Metadata) (int64, error) {
			_, bound, err := tokenBound(options)
			return bound, err
		},
		CheckFormat: checkFormat,
		Prepare: func(a *wire.Attempt, call inference.Call) (wire.Request, wire.Decoder, error) {
			spoken := d
			if d.OfficialOnly && !a.Official {
				spoken = Dialect{}
			}
			body, err := encode(call, spoken, a.Bound)
			return wire.Request{Path: "chat/completions", Header: a.KeyIn("Authorization", "Bearer "), Body: body}, &assembly{Attempt: a}, err
		},
	}
}

// pairing makes ids of calls that the vendor takes.
func (d Dialect) pairing() wire.Pairing {
	if d.CallIDs == 0 {
		return wire.Pairing{}
	}
	return wire.Pairing{
		Accepts: func(id string) bool {
			return len(id) == d.CallIDs && wire.ToolName(id, len(id), "") == id && !strings.ContainsAny(id, "_-")
		},
		Make: func(n int) string { return fmt.Sprintf("%0*d", d.CallIDs, n) },
	}
}
