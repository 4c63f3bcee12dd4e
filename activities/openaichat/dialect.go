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
// completions. The zero value of all but the vendor is what most of them take.
type Dialect struct {
	// Vendor has the vendor's names and servers, which are given up to but not including /chat/completions. Without a
	// name it has no provider of its own.
	Vendor wire.API
	// OfficialOnly means that the rest holds for the vendor's own servers alone.
	OfficialOnly bool

	// Developer means that there are instructions of a developer beside those of the system.
	Developer bool
	// NothingBack means that nothing is taken back of what came with an answer beside its text and calls.
	NothingBack bool
	// Without are the fields that are left out, and what else is not taken, as what an attempt learns. Of the two names of
	// the bound the other one is sent.
	Without []string
}

// dialects are those of all vendors of which something is known.
func dialects() []Dialect {
	return []Dialect{
		{
			Vendor: wire.API{
				Name: Name, Server: "https://api.openai.com/v1", Title: "chat completions, of OpenAI or any compatible server (`OPENAI_BASE_URL`)", Variables: "OPENAI",
				OwnDomain: wire.AzuresDomain, ObjectsOnly: true,
			},
			OfficialOnly: true, Developer: true, NothingBack: true, Without: []string{maxTokens},
		},
		{Vendor: wire.API{Server: "https://api.mistral.ai/v1"}, Without: []string{"stream_options", "name", maxCompletionTokens, freeRoles, freeIDs}},
		{Vendor: wire.API{Server: "https://api.groq.com/openai/v1"}, Without: []string{"name", reasoningContent}},
		{Vendor: wire.API{Server: "https://api.cerebras.ai/v1"}, Without: []string{maxTokens, reasoningContent}},
	}
}

// spokenAt is what the servers at a host are known to take.
func (d Dialect) spokenAt(host string) Dialect {
	for _, known := range dialects() {
		if known.Vendor.Owns(host) {
			return known
		}
	}
	if d.OfficialOnly {
		return Dialect{}
	}
	return d
}

func (d Dialect) without(what string) bool { return slices.Contains(d.Without, what) }

// APIs are those of the vendors that have a provider. A new one is added to the dialects.
func APIs() (all []wire.API) {
	for _, d := range dialects() {
		if d.Vendor.Name != "" {
			all = append(all, d.API())
		}
	}
	return all
}

// API is what the dialect makes of chat completions.
func (d Dialect) API() wire.API {
	api := d.Vendor
	api.Reserved, api.Bounds, api.Formats = strings.Fields("messages model n stream tools"), []string{maxTokens, maxCompletionTokens}, []string{"response_format"}
	api.Options = func(options domain.Metadata) error {
		_, err := writingOf(options)
		return err
	}
	api.Schema, api.Learn = output.Merged, learn
	api.Prepare = func(a *wire.Attempt, call inference.Call) (wire.Request, wire.Decoder, error) {
		spoken := d.spokenAt(a.Base.Hostname())
		spoken.Without = slices.Concat(spoken.Without, a.Lessons)
		written, _ := writingOf(call.Config.Options) // they were checked
		body, err := encode(call, spoken, a.Base.Host, a.Bound)
		return wire.Request{Path: "chat/completions", Header: a.KeyIn("Authorization", "Bearer "), Body: body}, &assembly{Attempt: a, tags: tags{writing: written, tools: call.Tools}}, err
	}
	return api
}
