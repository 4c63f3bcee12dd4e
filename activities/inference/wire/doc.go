// Package wire is what the adapters of model APIs over HTTP share, so that each
// of them holds only what its API has for itself: how a request is written and
// what the pieces of an answer mean.
//
// Its main type is Client, a provider made of an API. Its one rule: an attempt
// makes one request and no second one, and whatever goes wrong with it becomes a
// *domain.Error that says whether it may have been billed.
//
// An adapter is an API, of which New makes a provider. API.Prepare encodes the
// request and says what reads the answer:
//
//	Prepare: func(a *wire.Attempt, call inference.Call) (wire.Request, wire.Decoder, error) {
//		body, err := encode(call, a.Bound) // the official SDK's parameters, as JSON
//		return wire.Request{Path: "messages", Header: a.KeyIn("X-Api-Key", ""), Body: body}, &assembly{Attempt: a}, err
//	},
//
// The assembly is a Decoder: it is given one event after the other, or the
// whole body where the server sent one in place of a stream. It fails with
// Attempt.Malformed for what is no answer, and with Attempt.Inner for an error
// inside of one. The attempt's Draft puts text, reasoning and tool calls together.
//
// The official SDKs only write requests. Their clients, with retries turned off,
// read the body of an error without a bound, lose the query of a base URL and tell
// the server about this machine; their decoders of events lose a last one without
// its empty line, and bound none. TestSDKClients and TestSDKDecoders in
// testsuite/providers show each of these, and the doc of each adapter says what the
// stream of its SDK does with recorded answers.
//
// Nor may an adapter send a header named Idempotency-Key: Go's transport takes it
// for leave to send a request again.
package wire
