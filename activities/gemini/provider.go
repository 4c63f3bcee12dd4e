package gemini

import (
	"context"
	"net/url"
	"strings"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in gemini/gemini-3-pro.
const Name = "gemini"

// DefaultBaseURL is Google's own.
const DefaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

const (
	keyVariable = "GEMINI_API_KEY"
	urlVariable = "GEMINI_BASE_URL"
)

// Config says where the models are and with which key. It lives in the worker
// and is never recorded. The zero value is Google's API without a key.
type Config struct {
	// Config is what all adapters share. An empty BaseURL is DefaultBaseURL;
	// another one is given up to but not including /models. The key goes into a
	// header and never into the URL.
	wire.Config
}

// A Provider makes inferences at one server.
type Provider struct{ wire *wire.Client }

// New checks the configuration and returns the provider. It makes no request.
func New(config Config) (*Provider, error) {
	client, err := wire.New(wire.API{
		Name: Name, DefaultBaseURL: DefaultBaseURL, BaseURLVariable: urlVariable, KeyVariable: keyVariable,
	}, config.Config)
	if err != nil {
		return nil, err
	}
	p := &Provider{wire: client}
	if err := p.checkBase(domain.LLMConfig{}, urlVariable); err != nil {
		return nil, err
	}
	return p, nil
}

// Check says what is wrong with a model's configuration. It makes no request.
func (p *Provider) Check(_ context.Context, config domain.LLMConfig) error {
	if err := p.wire.Check(config, official); err != nil {
		return err
	}
	if err := p.checkBase(config, "base_url"); err != nil {
		return err
	}
	return p.checkOptions(config.Options)
}

// MinOutputTokens is the smallest bound of an answer that the API accepts.
func (p *Provider) MinOutputTokens() int64 { return 1 }

// checkBase refuses a key in the URL, where proxies and servers log it.
func (p *Provider) checkBase(config domain.LLMConfig, field string) error {
	base, err := p.wire.BaseURL(config)
	if err != nil {
		return err
	}
	if base.Query().Has("key") {
		return domain.Errorf(domain.Invalid, "%s: holds a key; give it in %s instead", field, keyVariable).From(Name)
	}
	return nil
}

// official reports whether a server is Google's, which needs a key.
func official(base *url.URL) bool {
	host := strings.ToLower(base.Hostname())
	return host == "googleapis.com" || strings.HasSuffix(host, ".googleapis.com")
}
