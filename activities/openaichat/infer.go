package openaichat

import (
	"context"
	"net/http"
	"net/url"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

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
	body, err := encode(call, official(a.Base()))
	if err != nil {
		return inference.Answer{}, err
	}
	response, err := post(a, body)
	if err != nil {
		return inference.Answer{Partial: true}, a.Explain(err)
	}
	defer response.Body.Close()
	out := &assembly{attempt: a, draft: wire.NewDraft(emit), bound: call.MaxOutputTokens, finishOptional: p.finishOptional}
	out.draft.RequestID = a.RequestID()
	if err := a.Read(response, out); err != nil {
		return out.draft.Partial(), err
	}
	if err := a.Overflow(out.finish); err != nil {
		return out.draft.Partial(), err
	}
	return out.answer(), nil
}

// post lets the SDK send the request. Its client is put together from its
// options alone: its own constructor would read the environment.
func post(a *wire.Attempt, body []byte) (*http.Response, error) {
	plain := *a.Base()
	plain.RawQuery = ""
	options := []option.RequestOption{
		option.WithBaseURL(plain.String()),
		option.WithHTTPClient(a.HTTPClient()),
		option.WithMaxRetries(0),
		option.WithHeader("Accept", wire.Accept),
	}
	if a.Key() != "" {
		options = append(options, option.WithAPIKey(a.Key()))
	}
	options = append(options, query(a.Base())...)
	client := openai.Client{Options: options}
	var response *http.Response
	err := client.Post(a.Context(), "chat/completions", body, &response)
	return response, err
}

// query is what stands behind the path of a base URL, as Azure wants it.
func query(base *url.URL) []option.RequestOption {
	var options []option.RequestOption
	for key, values := range base.Query() {
		for _, value := range values {
			options = append(options, option.WithQueryAdd(key, value))
		}
	}
	return options
}
