package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"everstep/activities/inference"
	"everstep/activities/output"
	"everstep/domain"
)

// An API is what an adapter has of its own. What its functions return as errors need not name a source.
type API struct {
	// Name is the provider's name, the source of its errors.
	Name string
	// Server is the base URL where none is configured, and shown as the example.
	Server string
	// Title is what people call the API, such as Anthropic's Messages.
	Title string
	// Variables begin the names of the variables that the user sets. The APIs of a vendor have the same.
	Variables string
	// OtherKey names the variable whose key counts where none of the vendor's own is set. Empty: none does.
	OtherKey string
	// OwnDomain is what the names of the vendor's other hosts end with, such as .openai.azure.com. Empty: Server's is the only one.
	OwnDomain string
	// KeyParameter is what a key is called in a query, where proxies and servers
	// would log it: a base URL with one is refused. Empty: nothing.
	KeyParameter string
	// MinOutputTokens is the smallest bound that the vendor's own servers accept. Zero is one.
	MinOutputTokens int64
	// ObjectsOnly means that the vendor's own servers take only formats of type object.
	ObjectsOnly bool
	// Reserved are the options that may not be given: what the loop decides. They, and the next, are paths: a name alone, or of
	// a field in an option, as in generationConfig.candidateCount.
	Reserved []string
	// Objects are the options that have to be objects.
	Objects []string
	// Bounds are those that bound the answer, of which one may be given.
	Bounds []string
	// Formats are those that say what an answer has to be, which may not be given beside a format of the definition's.
	Formats []string

	// Options says what else is wrong with the options of a model. Nil: nothing is.
	Options func(options domain.Metadata) error
	// CheckFormat is inference.Formatter's. The options were checked. Nil: all formats are taken.
	CheckFormat func(config domain.LLMConfig, format domain.ResponseFormat, tools bool) error
	// Schema is that of a tool as the API takes it, with a line for each part that is told in words or left out. It is
	// what Prepare sends.
	Schema func(schema json.RawMessage) (taken json.RawMessage, said []string)
	// Learn reads, out of a request and the body of its refusal, what the server does not take: words that attempts at
	// the same server and model find in Attempt.Lessons from then on, and how they differ by them, as in "without seed".
	// None: another request would be none the better. Nil: nothing is learned.
	Learn func(sent, refusal []byte) (lessons []string, told string)
	// Prepare makes the request of an attempt, and what reads its answer. The options were checked.
	Prepare func(a *Attempt, call inference.Call) (Request, Decoder, error)
}

// BaseURLVariable names the variable of a base URL.
func (a API) BaseURLVariable() string { return a.Variables + "_BASE_URL" }

// KeyVariable names the variable of a key.
func (a API) KeyVariable() string { return a.Variables + "_API_KEY" }

// KeyFileVariable names the variable of the path of a file that holds a key.
func (a API) KeyFileVariable() string { return a.KeyVariable() + "_FILE" }

// OwnServer reports whether a base URL is at the vendor's own servers, as the empty one is.
func (a API) OwnServer(base string) bool {
	u, err := url.Parse(strings.TrimSpace(cmp.Or(base, a.Server)))
	return err == nil && a.Owns(u.Hostname())
}

// Owns reports whether a host is the vendor's own, where a key is needed.
func (a API) Owns(host string) bool {
	own, err := url.Parse(a.Server)
	host = strings.ToLower(host)
	return err == nil && host == own.Hostname() || a.OwnDomain != "" && strings.HasSuffix(host, a.OwnDomain)
}

// Config says where the models are, with which key and how patiently. It lives
// in the worker and is never recorded. The zero value is the API's own server
// without a key.
type Config struct {
	// BaseURL is the server's. Empty is the API's own.
	BaseURL string
	// Key is the source of the key, asked once for each attempt. Nil: no key.
	Key Key
	// AllowBaseURLs are those that a definition may name instead, which then get the key too; * is any.
	AllowBaseURLs []string
	// Timeouts bound each attempt.
	Timeouts Timeouts
	// Proxy is the URL of the proxy that all requests go through: http, https
	// or socks5. Empty is none, whatever the environment says.
	Proxy string
	// MaxBody bounds a response in bytes, most of which is not kept. Zero is 128 MiB.
	MaxBody int64
	// FinishOptional takes the end of a stream of chat completions for the end of its answer,
	// for proxies that leave out both the finish reason and the end marker.
	FinishOptional bool
}

// Timeouts bound the parts of an attempt, the whole of which its context bounds. A
// zero one is its default: ten seconds to connect, handshake included; five minutes to
// the first byte, for models that reason before they speak; two minutes between pieces.
type Timeouts = domain.Timeouts

// timeouts are some, with others in the place of those that are not set.
func timeouts(t, other Timeouts) Timeouts {
	return Timeouts{
		Connect: cmp.Or(max(t.Connect, 0), other.Connect), FirstByte: cmp.Or(max(t.FirstByte, 0), other.FirstByte), Idle: cmp.Or(max(t.Idle, 0), other.Idle),
	}
}

// A Client is a provider: an API and where it is. It is used by many at once.
type Client struct {
	api       API
	config    Config
	base      *url.URL
	transport *http.Transport
	secrets   secrets
	lessons   lessons
}

var (
	_ inference.Provider  = (*Client)(nil)
	_ inference.Formatter = (*Client)(nil)
)

// New checks the configuration and returns the provider. It makes no request.
func New(api API, config Config) (*Client, error) {
	config.BaseURL, config.MaxBody = cmp.Or(config.BaseURL, api.Server), cmp.Or(config.MaxBody, maxBody)
	config.Timeouts = timeouts(config.Timeouts, Timeouts{Connect: 10 * time.Second, FirstByte: 5 * time.Minute, Idle: 2 * time.Minute})
	c := &Client{api: api, config: config}
	var err error
	if c.base, err = c.parseBase(api.BaseURLVariable(), config.BaseURL); err != nil {
		return nil, c.own(err)
	}
	var proxy *url.URL // none, unless one is given
	if config.Proxy != "" {
		if proxy, err = ParseProxy(config.Proxy); err != nil {
			return nil, c.own(domain.Invalidf("proxy: %s", err))
		}
		password, _ := proxy.User.Password()
		c.secrets.add(password)
	}
	// The attempt's own time-out comes first; this ends what nobody waits for.
	abandoned := max(2*config.Timeouts.Connect, 2*time.Minute)
	c.transport = http.DefaultTransport.(*http.Transport).Clone()
	c.transport.MaxIdleConnsPerHost = 64
	c.transport.MaxResponseHeaderBytes = maxHeader
	c.transport.TLSHandshakeTimeout = abandoned
	c.transport.DialContext = (&net.Dialer{Timeout: abandoned}).DialContext
	c.transport.Proxy = http.ProxyURL(proxy)
	return c, nil
}

// own makes the provider the source of an error. An untyped one is that a request could not be written.
func (c *Client) own(err error) error {
	typed, ok := errors.AsType[*domain.Error](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		typed = domain.Invalidf("%s: the request cannot be encoded: %s", c.api.Name, err)
	}
	return typed.From(c.api.Name)
}

// ParseProxy reads the URL of a proxy. Its error repeats none of it, as it may hold a password.
func ParseProxy(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
		return nil, errors.New("is not an http, https or socks5 URL; write it like http://host:3128")
	}
	return u, nil
}

// baseURL is the definition's where it names one and may, else the worker's.
func (c *Client) baseURL(config domain.LLMConfig) (*url.URL, error) {
	if config.BaseURL == "" || config.BaseURL == c.config.BaseURL {
		return c.base, nil
	}
	allowed := c.config.AllowBaseURLs
	if !slices.Contains(allowed, "*") && !slices.Contains(allowed, config.BaseURL) {
		return nil, domain.Deniedf("base_url: this worker does not send its key there; leave base_url out, or name it with --allow-base-urls on the worker")
	}
	return c.parseBase("base_url", config.BaseURL)
}

// parseBase checks a base URL. Errors do not repeat it, as it may hold a credential.
func (c *Client) parseBase(field, text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	wrong, mend := "", "write it like "+c.api.Server
	switch {
	case err != nil:
		wrong = "cannot be read as a URL"
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		wrong = "is not an http or https URL"
	case u.User != nil:
		wrong, mend = "holds a user or password", "give the key in "+c.api.KeyVariable()+" instead"
	case c.api.KeyParameter != "" && u.Query().Has(c.api.KeyParameter):
		wrong, mend = "holds a key", "give it in "+c.api.KeyVariable()+" instead"
	default:
		u.Fragment = ""
		return u, nil
	}
	return nil, domain.Invalidf("%s: %s; %s", field, wrong, mend)
}

// key asks for the key and makes sure that it can be sent.
func (c *Client) key() (string, error) {
	if c.config.Key == nil {
		return "", nil
	}
	key, err := c.config.Key()
	if err == nil {
		err = checkKey(c.api.KeyVariable(), key)
	}
	if err != nil {
		return "", domain.AsError(err)
	}
	c.secrets.add(key)
	return key, nil
}

// Check says what is wrong with a model's configuration: its base URL, its name,
// the key where the server needs one, and its options. It makes no request.
func (c *Client) Check(_ context.Context, config domain.LLMConfig) error {
	return c.own(c.check(config))
}

func (c *Client) check(config domain.LLMConfig) error {
	base, err := c.baseURL(config)
	if err != nil {
		return err
	}
	if strings.TrimSpace(config.Model) == "" {
		return domain.CodedErrorf(domain.Invalid, domain.CodeModelNotFound, "model: has no name; write it as %s/MODEL", c.api.Name)
	}
	given, err := c.checkOptions(config.Options)
	if err != nil {
		return err
	}
	key, err := c.key()
	if err != nil || !c.api.Owns(base.Hostname()) {
		return err
	}
	if key == "" {
		return domain.CodedErrorf(domain.Denied, domain.CodeAuth, "%s: is not set on the worker, and %s needs a key", c.api.KeyVariable(), base.Host)
	}
	for _, bound := range []int64{config.MaxOutputTokens, given} {
		if bound > 0 && bound < c.api.MinOutputTokens {
			return domain.Invalidf("max_output_tokens: %s takes no fewer than %d; raise it or leave it out", base.Host, c.api.MinOutputTokens)
		}
	}
	return nil
}

// CheckFormat says why the API does not take a format, beside tools where there
// are any. Of servers that are not the vendor's own nothing is known. The options were checked.
func (c *Client) CheckFormat(config domain.LLMConfig, format domain.ResponseFormat, tools bool) error {
	base, err := c.baseURL(config)
	for _, path := range c.api.Formats {
		if err == nil && !IsNull(field(config.Options, path)) {
			err = domain.Invalidf("options: %s is given beside the definition's response_format; leave one out", path)
		}
	}
	if err == nil && c.api.CheckFormat != nil {
		err = c.api.CheckFormat(config, format, tools)
	}
	if err == nil && c.api.ObjectsOnly && c.api.Owns(base.Hostname()) && !output.IsObject(format) {
		err = domain.Invalidf("response_format.schema: %s takes only schemas of type object; put the value into a property of an object, or use mode %s",
			base.Host, domain.OutputInstruction)
	}
	return c.own(err)
}

// MinOutputTokens is the smallest bound of an answer that the API accepts.
func (c *Client) MinOutputTokens() int64 { return max(c.api.MinOutputTokens, 1) }
