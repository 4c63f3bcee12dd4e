package providers

import (
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// A Case is an adapter and what its API answers. Bodies are streams unless
// said otherwise.
type Case struct {
	// API is the adapter's. A config without a base URL means its own server, to
	// which nothing is sent.
	API wire.API
	// Model is a model's name.
	Model string

	// Text is an answer of some pieces of text, which need no escapes, one or
	// more events each: 30 tokens in, 7 out.
	Text func(pieces ...string) Stream
	// Calls is an answer of no text and two calls: call_1 of weather with
	// {"city":"Paris"} and call_2 of clock with {"zone":"UTC"}.
	Calls string
	// Call is an answer of one call, of weather, with these bytes for its
	// arguments, whatever they are: see Quote and Event.
	Call func(arguments string) string
	// CutCall is the text hello, then a call of weather that the token limit
	// cut, or after which it struck where the API has no cut calls.
	CutCall string
	// Refusal is the model's own refusal in the words "I will not". Empty: the
	// API has none.
	Refusal string
	// Filtered is the text hello, which the provider's filter ended. Empty: the
	// API has no such answer.
	Filtered string
	// Counted is the text hello with the usage that CountedUsage says, of which
	// 100 tokens are input and 50 output.
	Counted      string
	CountedUsage domain.Usage
	// InStream is an event that says, in a text with Key in it, that the
	// provider failed in the middle of an answer.
	InStream string
}

// A Stream is a whole answer, by what its parts are good for.
type Stream struct {
	// Open is all before the API's mark of the end: none of it makes a whole
	// answer.
	Open string
	// End is that mark.
	End string
	// Tail may be lost, though the usage may be in it.
	Tail string
}

func (s Stream) whole() string { return s.Open + s.End + s.Tail }

func (c Case) call(prompt string) inference.Call {
	return inference.Call{
		Config:          domain.LLMConfig{Provider: c.API.Name, Model: c.Model},
		System:          "be brief",
		Messages:        []domain.Message{domain.UserMessage(prompt)},
		Tools:           []domain.ToolSpec{tool("weather", "city"), tool("clock", "zone")},
		MaxOutputTokens: 1000,
		Attempt:         1,
	}
}

func tool(name, parameter string) domain.ToolSpec {
	return domain.ToolSpec{
		Name: name, Description: "Tells the " + name + ".", Effect: domain.ReadOnly,
		Schema: []byte(`{"type":"object","properties":{"` + parameter + `":{"type":"string"}},"required":["` + parameter + `"]}`),
	}
}
