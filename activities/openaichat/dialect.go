package openaichat

import (
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/output"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in openai-chat/gpt-5: of
// OpenAI's own servers, and of any other that OPENAI_BASE_URL names.
const Name = "openai-chat"

// A Dialect is what tells a vendor's servers from others that speak chat
// completions. The zero value of all but the first three fields is what most of
// them take.
type Dialect struct {
	// Name is the provider's name in a model's full name. Empty: the vendor has none of its own.
	Name string
	// Server is the vendor's own, up to but not including /chat/completions.
	Server string
	// Title is what people call the API.
	Title string
	// Variables begin the names of the variables that the user sets: GROQ of
	// GROQ_API_KEY, GROQ_API_KEY_FILE and GROQ_BASE_URL.
	Variables string
	// Official reports whether a server is the vendor's own, by its host in lower
	// case. Nil: it is where its host is Server's.
	Official func(host string) bool
	// OfficialOnly means that the rest holds for the vendor's own servers alone.
	OfficialOnly bool

	// Developer means that there are instructions of a developer beside those of the system.
	Developer bool
	// ObjectsOnly means that formats must be of type object.
	ObjectsOnly bool
	// NothingBack means that nothing is taken back of what came with an answer beside its text and calls.
	NothingBack bool
	// Without are the fields that are left out, and what else is not taken, as what an attempt learns. Of the two names of
	// the bound the other one is sent.
	Without []string
}

// servers are all vendors of which something is known.
func servers() []Dialect {
	return []Dialect{
		{
			Name: Name, Server: "https://api.openai.com/v1", Title: "chat completions, of OpenAI or any compatible server (`OPENAI_BASE_URL`)", Variables: "OPENAI", Official: wire.OfOpenAI, OfficialOnly: true,
			Developer: true, ObjectsOnly: true, NothingBack: true, Without: []string{maxTokens},
		},
		{Server: "https://api.mistral.ai/v1", Without: []string{"stream_options", maxCompletionTokens, freeRoles, freeIDs}},
		{Server: "https://api.groq.com/openai/v1", Without: []string{"name", reasoningContent}},
		{Server: "https://api.cerebras.ai/v1", Without: []string{maxTokens, reasoningContent}},
	}
}

// Dialects are those of the vendors that have a provider. A new one is added to the servers.
func Dialects() []Dialect {
	return slices.DeleteFunc(servers(), func(d Dialect) bool { return d.Name == "" })
}

// spokenAt is what the servers at a host are known to take.
func (d Dialect) spokenAt(host string) Dialect {
	host = strings.ToLower(host)
	for _, known := range servers() {
		if (wire.API{Server: known.Server, Official: known.Official}).OwnServer("https://" + host) {
			return known
		}
	}
	if d.OfficialOnly {
		return Dialect{}
	}
	return d
}

func (d Dialect) without(what string) bool { return slices.Contains(d.Without, what) }

// APIs are what the dialects make of chat completions.
func APIs() (all []wire.API) {
	for _, d := range Dialects() {
		all = append(all, d.API())
	}
	return all
}

// API is what the dialect makes of chat completions.
func (d Dialect) API() wire.API {
	return wire.API{
		Name: d.Name, Server: d.Server, Title: d.Title, Variables: d.Variables, Official: d.Official, ObjectsOnly: d.ObjectsOnly,
		Reserved: []string{"messages", "model", "n", "stream", "tools"},
		Bounds:   []string{maxTokens, maxCompletionTokens},
		Formats:  []string{"response_format"},
		Options: func(options domain.Metadata) error {
			_, err := writingOf(options)
			return err
		},
		Schema: output.Merged, Learn: learn,
		Prepare: func(a *wire.Attempt, call inference.Call) (wire.Request, wire.Decoder, error) {
			spoken := d.spokenAt(a.Base.Hostname())
			spoken.Without = slices.Concat(spoken.Without, a.Lessons)
			written, _ := writingOf(call.Config.Options) // they were checked
			body, err := encode(call, spoken, a.Base.Host, a.Bound)
			return wire.Request{Path: "chat/completions", Header: a.KeyIn("Authorization", "Bearer "), Body: body}, &assembly{Attempt: a, tags: tags{writing: written}}, err
		},
	}
}
