package gemini

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
)

// Infer makes one request and returns when the answer is whole.
func (p *Provider) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	if err := p.checkBase(call.Config, "base_url"); err != nil {
		return inference.Answer{}, err
	}
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
		header.Set("X-Goog-Api-Key", a.Key())
	}
	response, err := a.Post(path(call.Config.Model), url.Values{"alt": {"sse"}}, header, body)
	if err != nil {
		return inference.Answer{Partial: true}, err
	}
	defer response.Body.Close()
	out := &assembly{attempt: a, draft: wire.NewDraft(emit)}
	out.draft.RequestID = a.RequestID()
	if err := a.Read(response, out); err != nil {
		return out.draft.Partial(), err
	}
	return out.answer(), nil
}

// path is the method's below the base URL. A model's name with a slash says
// what it is itself, as tunedModels/mine does.
func path(model string) string {
	segments := strings.Split(strings.TrimSpace(model), "/")
	if len(segments) == 1 {
		segments = []string{"models", segments[0]}
	}
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/") + ":streamGenerateContent"
}

// generation is the first number in the name of a Gemini model. An alias for
// the latest one counts as 3, the first for which the rules of today hold; zero
// is a model of which nothing is known.
func generation(model string) int {
	model = strings.ToLower(strings.TrimSpace(model))
	model = model[strings.LastIndex(model, "/")+1:]
	rest, ok := strings.CutPrefix(model, "gemini-")
	if !ok {
		return 0
	}
	number := 0
	for i, r := range rest {
		if r < '0' || r > '9' || i > 2 {
			break
		}
		number = number*10 + int(r-'0')
	}
	if number == 0 && strings.HasSuffix(rest, "latest") {
		return 3
	}
	return number
}
