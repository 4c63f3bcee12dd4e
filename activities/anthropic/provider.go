package anthropic

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in
// anthropic/claude-sonnet-4-5.
const Name = "anthropic"

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com"

// Paused is the finish word of a turn that the server will go on with when it
// is sent back.
const Paused = domain.WordPaused

const (
	keyVariable = "ANTHROPIC_API_KEY"
	// version is the API's, which fixes the form of requests and answers.
	version = "2023-06-01"
)

// Config says where the models are and with which key. It lives in the worker
// and is never recorded. The zero value is Anthropic's API without a key. The
// base URL is the server's with or without the /v1 at its end.
type Config struct{ wire.Config }

// A Provider makes inferences at one server.
type Provider struct{ wire *wire.Client }

// New checks the configuration and returns the provider. It makes no request.
func New(config Config) (*Provider, error) {
	client, err := wire.New(wire.API{
		Name: Name, DefaultBaseURL: DefaultBaseURL, BaseURLVariable: "ANTHROPIC_BASE_URL", KeyVariable: keyVariable,
		RequestIDs: []string{"Request-Id", "X-Request-Id"},
	}, config.Config)
	if err != nil {
		return nil, err
	}
	return &Provider{wire: client}, nil
}

// Check says what is wrong with a model's configuration. It makes no request.
func (p *Provider) Check(_ context.Context, config domain.LLMConfig) error {
	if err := p.wire.Check(config, official); err != nil {
		return err
	}
	_, err := p.readOptions(config.Options)
	return err
}

// MinOutputTokens is the smallest bound of an answer that the API accepts.
func (p *Provider) MinOutputTokens() int64 { return 1 }

// Infer makes one request and returns when the answer is whole.
func (p *Provider) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	given, err := p.readOptions(call.Config.Options)
	if err != nil {
		return inference.Answer{}, err
	}
	a, err := p.wire.Begin(ctx, call)
	if err != nil {
		return inference.Answer{}, err
	}
	defer a.End()
	if binds(call.Config.Model) && thoughtful(call.Messages) {
		given.bind()
	}
	bound, thinking := given.bounds(call)
	body, err := encode(call, given, bound, thinking)
	if err != nil {
		return inference.Answer{}, err
	}
	response, err := a.Post(path(a.Base()), nil, header(a.Key(), given.betas), body)
	if err != nil {
		return inference.Answer{Partial: true}, err
	}
	defer response.Body.Close()
	out := &assembly{attempt: a, draft: wire.NewDraft(emit), bound: bound}
	out.draft.RequestID = a.RequestID()
	if err := a.Read(response, out); err != nil {
		return out.draft.Partial(), err
	}
	if err := a.Overflow(string(out.stop.Reason)); err != nil {
		return out.draft.Partial(), err
	}
	return out.answer(), nil
}

// path is that of the API below a base URL.
func path(base *url.URL) string {
	if strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/v1") {
		return "messages"
	}
	return "v1/messages"
}

func header(key string, betas []string) http.Header {
	h := http.Header{"Anthropic-Version": {version}}
	if key != "" {
		h.Set("X-Api-Key", key)
	}
	if len(betas) > 0 {
		h.Set("Anthropic-Beta", strings.Join(betas, ","))
	}
	return h
}

// official reports whether a server is Anthropic's own, which needs a key.
func official(base *url.URL) bool { return strings.ToLower(base.Hostname()) == "api.anthropic.com" }
