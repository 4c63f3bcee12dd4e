// Package wire is what the adapters of model APIs over HTTP share, so that each
// of them holds only what its API has for itself: how a request is written and
// what the pieces of an answer mean.
//
// Its main type is Attempt: one request, and what is known of it. Its one rule:
// an attempt makes one request and no second one, and whatever goes wrong with
// it becomes a *domain.Error that says whether it may have been billed.
//
// # Writing an adapter
//
// New takes what is peculiar to the API and what the worker configures, and
// returns a Client, which the adapter's Provider keeps. Infer is then:
//
//	a, err := p.wire.Begin(ctx, call)
//	if err != nil {
//		return inference.Answer{}, err
//	}
//	defer a.End()
//	body, err := encode(call) // the official SDK's parameters, as JSON
//	if err != nil {
//		return inference.Answer{}, err
//	}
//	response, err := a.Post("messages", nil, http.Header{"X-Api-Key": {a.Key()}}, body)
//	if err != nil {
//		return inference.Answer{Partial: true}, err
//	}
//	out := &assembly{attempt: a, draft: wire.NewDraft(emit)}
//	if err := a.Read(response, out); err != nil {
//		return out.draft.Partial(), err
//	}
//	return out.answer(), nil
//
// Where the SDK is to send the request itself, it gets Attempt.HTTPClient, no
// retries and no environment, and what it returns goes through Attempt.Explain.
// A response that comes back has status 200 and is bounded in bytes and time.
//
// The assembly is a Decoder: it is given one event after the other, or the
// whole body where the server sent one in place of a stream, and says when the
// answer is Complete. It fails with Attempt.Malformed for what is no answer,
// and with Attempt.Inner for an error inside of one. Draft and Calls put text,
// reasoning and tool calls together; Pairing makes the ids of calls consistent
// in what is sent back; Text, Count and Present read JSON on which servers
// disagree.
//
// Provider.Check begins with Client.Check and Client.CheckOptions.
//
// What the SDKs' own clients add must be off: reading the environment, trying
// again, following redirects, time-outs. Nor may an adapter send a header named
// Idempotency-Key: Go's transport takes it for leave to send a request again.
package wire
