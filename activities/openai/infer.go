package openai

import (
	"context"
	"net/http"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
)

// Infer makes one request and returns when the answer is whole.
func (p *Provider) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	if err := p.checkOptions(call.Config.Options); err != nil {
		return inference.Answer{}, err
	}
	a, err := p.wire.Begin(ctx, call)
	if err != nil {
		return inference.Answer{}, err
	}
	defer a.End()
	body, err := encode(call)
	if err != nil {
		return inference.Answer{}, err
	}
	header := http.Header{}
	if a.Key() != "" {
		header.Set("Authorization", "Bearer "+a.Key())
	}
	response, err := a.Post("responses", nil, header, body)
	if err != nil {
		return inference.Answer{Partial: true}, err
	}
	defer response.Body.Close()
	out := &assembly{attempt: a, draft: wire.NewDraft(emit)}
	out.draft.RequestID = a.RequestID()
	if err := a.Read(response, out); err != nil {
		return out.draft.Partial(), err
	}
	return out.answer(bound(call)), nil
}
