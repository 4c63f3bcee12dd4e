package openai

import (
	"context"
	"net/url"
	"strings"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in openai/gpt-5.
const Name = "openai"

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// minOutputTokens is the smallest bound of an answer that OpenAI accepts.
const minOutputTokens = 16

// Config says where the models are and with which key. It lives in the worker
// and is never recorded. The zero value is OpenAI's API without a key.
type Config struct {
	// The base URL goes up to, but does not include, /responses. Azure's ends
	// in /openai/v1.
	wire.Config
}

// A Provider makes inferences at one server.
type Provider struct{ wire *wire.Client }

// New checks the configuration and returns the provider. It makes no request.
func New(config Config) (*Provider, error) {
	client, err := wire.New(wire.API{
		Name: Name, DefaultBaseURL: DefaultBaseURL, BaseURLVariable: "OPENAI_BASE_URL", KeyVariable: "OPENAI_API_KEY",
		// Azure's own name for it stands beside the one it passes on.
		RequestIDs: []string{"X-Request-Id", "Apim-Request-Id"},
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
	if err := p.checkOptions(config.Options); err != nil {
		return err
	}
	base, err := p.wire.BaseURL(config)
	if err != nil {
		return err
	}
	own, _ := tokenBound(config.Options)
	for _, bound := range []int64{config.MaxOutputTokens, own} {
		if bound > 0 && bound < minOutputTokens && official(base) {
			return domain.Errorf(domain.Invalid, "max_output_tokens: %s takes no fewer than %d; raise it or leave it out", base.Host, minOutputTokens).From(Name)
		}
	}
	return nil
}

// MinOutputTokens is the smallest bound of an answer that the API accepts.
func (p *Provider) MinOutputTokens() int64 { return minOutputTokens }

// official reports whether a server is OpenAI's own or Azure's, which need a
// key.
func official(base *url.URL) bool {
	host := strings.ToLower(base.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com")
}

// reasons reports whether a model thinks before it answers. The others refuse
// both to be asked for encrypted reasoning and to be given some. All that are
// not known to be of an older kind do.
func reasons(model string) bool {
	model = strings.ToLower(model)
	model = strings.TrimPrefix(model[strings.LastIndexByte(model, '/')+1:], "ft:")
	for _, older := range []string{"gpt-3.5", "gpt-35", "gpt-4", "chatgpt-", "gpt-5-chat"} {
		if strings.HasPrefix(model, older) {
			return false
		}
	}
	return true
}
