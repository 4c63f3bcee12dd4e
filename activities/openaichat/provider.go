package openaichat

import (
	"context"
	"net/url"
	"strings"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in openai-chat/gpt-5.
const Name = "openai-chat"

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says where the models are and with which key. It lives in the worker
// and is never recorded. The zero value is OpenAI's API without a key.
type Config struct {
	// BaseURL is the server's, up to but not including /chat/completions.
	// Empty is DefaultBaseURL.
	BaseURL string
	// Key is the source of the key, which is sent as a bearer token. Nil is
	// none, for servers that need none.
	Key wire.Key
	// AllowBaseURL lets a definition name another base URL, which then gets
	// the key too.
	AllowBaseURL bool
	// FinishOptional takes a stream's end marker for the end of a whole answer
	// though no finish reason came, for proxies that leave it out.
	FinishOptional bool
	// Timeouts bound each attempt.
	Timeouts wire.Timeouts
	// Proxy is the URL of the proxy that requests go through. Empty is none.
	Proxy string
	// MaxBody bounds a response in bytes. Zero is 128 MiB.
	MaxBody int64
}

// A Provider makes inferences at one server.
type Provider struct {
	wire           *wire.Client
	finishOptional bool
}

// New checks the configuration and returns the provider. It makes no request.
func New(config Config) (*Provider, error) {
	client, err := wire.New(wire.API{
		Name: Name, DefaultBaseURL: DefaultBaseURL, BaseURLVariable: "OPENAI_BASE_URL", KeyVariable: "OPENAI_API_KEY",
		// Azure's own name for it stands beside the one it passes on.
		RequestIDs: []string{"X-Request-Id", "Apim-Request-Id"},
	}, wire.Config{
		BaseURL: config.BaseURL, Key: config.Key, AllowBaseURL: config.AllowBaseURL, Timeouts: config.Timeouts, Proxy: config.Proxy, MaxBody: config.MaxBody,
	})
	if err != nil {
		return nil, err
	}
	return &Provider{wire: client, finishOptional: config.FinishOptional}, nil
}

// Check says what is wrong with a model's configuration. It makes no request.
func (p *Provider) Check(_ context.Context, config domain.LLMConfig) error {
	if err := p.wire.Check(config, official); err != nil {
		return err
	}
	return p.checkOptions(config.Options)
}

// MinOutputTokens is the smallest bound of an answer that the API accepts.
func (p *Provider) MinOutputTokens() int64 { return 1 }

// official reports whether a server is OpenAI's own or Azure's, which need a
// key and know the newer names of things.
func official(base *url.URL) bool {
	host := strings.ToLower(base.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com")
}
