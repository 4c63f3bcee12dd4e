package openaichat

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

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
	// APIKey is sent as a bearer token. Servers that need none take it empty.
	APIKey string
	// AllowBaseURL lets a definition name another base URL, which then gets
	// the key too.
	AllowBaseURL bool
	// FinishOptional takes a stream's end marker for the end of a whole answer
	// though no finish reason came, for proxies that leave it out.
	FinishOptional bool
	// IdleTimeout bounds the wait between two pieces of an answer. Zero is
	// two minutes.
	IdleTimeout time.Duration
	// FirstByteTimeout bounds the wait for the first piece of an answer. Zero
	// is ten minutes.
	FirstByteTimeout time.Duration
}

const (
	defaultIdle      = 2 * time.Minute
	defaultFirstByte = 10 * time.Minute
	// trailerTimeout bounds the wait for what may follow a whole answer: its
	// usage and the end of the stream.
	trailerTimeout = 5 * time.Second
	// maxBody bounds a response.
	maxBody = 32 << 20
)

// A Provider makes inferences at one server.
type Provider struct {
	config Config
	base   *url.URL
	http   *http.Client
}

// New checks the configuration and returns the provider. It makes no request.
func New(config Config) (*Provider, error) {
	if config.BaseURL == "" {
		config.BaseURL = DefaultBaseURL
	}
	if config.IdleTimeout <= 0 {
		config.IdleTimeout = defaultIdle
	}
	if config.FirstByteTimeout <= 0 {
		config.FirstByteTimeout = defaultFirstByte
	}
	base, err := parseBase("OPENAI_BASE_URL", config.BaseURL)
	if err != nil {
		return nil, err
	}
	config.APIKey = strings.TrimSpace(config.APIKey)
	for _, r := range config.APIKey {
		if r <= ' ' || r > '~' {
			return nil, domain.Errorf(domain.Invalid, "OPENAI_API_KEY: has characters that no key has; set it again without quotes or line ends")
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	return &Provider{config: config, base: base, http: &http.Client{Transport: transport, CheckRedirect: stay}}, nil
}

// stay follows no redirect: the key never goes to another host.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Check says what is wrong with a model's configuration. It makes no request.
func (p *Provider) Check(_ context.Context, config domain.LLMConfig) error {
	base, err := p.baseURL(config)
	if err != nil {
		return err
	}
	if strings.TrimSpace(config.Model) == "" {
		return domain.CodedErrorf(domain.Invalid, domain.CodeModelNotFound, "model: has no name; write it as %s/MODEL", Name).From(Name)
	}
	if p.config.APIKey == "" && official(base) {
		return domain.CodedErrorf(domain.Denied, domain.CodeAuth, "OPENAI_API_KEY: is not set on the worker, and %s needs a key", base.Host).From(Name)
	}
	return checkOptions(config.Options)
}

// MinOutputTokens is the smallest bound of an answer that the API accepts.
func (p *Provider) MinOutputTokens() int64 { return 1 }

// baseURL is the definition's where it names one and may, else the worker's.
func (p *Provider) baseURL(config domain.LLMConfig) (*url.URL, error) {
	if config.BaseURL == "" || config.BaseURL == p.config.BaseURL {
		return p.base, nil
	}
	if !p.config.AllowBaseURL {
		return nil, domain.Errorf(domain.Denied, "base_url: this worker sends its key to its own base URL only; leave base_url out or allow it on the worker").From(Name)
	}
	return parseBase("base_url", config.BaseURL)
}

// parseBase checks a base URL. The text itself is not repeated in errors, as it
// may hold a credential.
func parseBase(field, text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, domain.Errorf(domain.Invalid, "%s: cannot be read as a URL; write it like %s", field, DefaultBaseURL).From(Name)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, domain.Errorf(domain.Invalid, "%s: is not an http or https URL; write it like %s", field, DefaultBaseURL).From(Name)
	case u.User != nil:
		return nil, domain.Errorf(domain.Invalid, "%s: holds a user or password; give the key in OPENAI_API_KEY instead", field).From(Name)
	}
	u.Fragment = ""
	return u, nil
}

// official reports whether a server is OpenAI's own or Azure's, which need a
// key and know the newer names of things.
func official(base *url.URL) bool {
	host := strings.ToLower(base.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com")
}

// client returns an SDK client for one base URL. It is put together from its
// options alone: the SDK's own constructor would read the environment.
func (p *Provider) client(base *url.URL) openai.Client {
	plain := *base
	plain.RawQuery = ""
	options := []option.RequestOption{
		option.WithBaseURL(plain.String()),
		option.WithHTTPClient(p.http),
		option.WithMaxRetries(0),
		option.WithHeader("Accept", "text/event-stream, application/json"),
	}
	if p.config.APIKey != "" {
		options = append(options, option.WithAPIKey(p.config.APIKey))
	}
	for key, values := range base.Query() {
		for _, value := range values {
			options = append(options, option.WithQueryAdd(key, value))
		}
	}
	return openai.Client{Options: options}
}

// redact takes the key out of a text that comes from elsewhere.
func (p *Provider) redact(text string) string {
	if p.config.APIKey == "" {
		return text
	}
	return strings.ReplaceAll(text, p.config.APIKey, "[key]")
}
