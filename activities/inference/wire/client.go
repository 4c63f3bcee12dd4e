package wire

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"everstep/domain"
)

// An API is what tells one adapter from another. It never changes.
type API struct {
	// Name is the provider's name, the source of its errors.
	Name string
	// DefaultBaseURL is used where none is configured, and shown as the example.
	DefaultBaseURL string
	// BaseURLVariable and KeyVariable are what the user sets; errors name them.
	BaseURLVariable, KeyVariable string
	// RequestIDs are the headers in which the provider tells its id of a
	// request, the best first. None: X-Request-Id and Request-Id.
	RequestIDs []string
}

// Config says where the models are, with which key and how patiently. It lives
// in the worker and is never recorded. The zero value is the API's own server
// without a key.
type Config struct {
	// BaseURL is the server's. Empty is the API's own.
	BaseURL string
	// Key is the source of the key, asked once for each attempt. Nil: no key.
	Key Key
	// AllowBaseURL lets a definition name another base URL, which then gets
	// the key too.
	AllowBaseURL bool
	// Timeouts bound each attempt.
	Timeouts Timeouts
	// Proxy is the URL of the proxy that all requests go through: http, https
	// or socks5. Empty is none, whatever the environment says.
	Proxy string
	// MaxBody bounds a response in bytes, most of which is not kept. Zero is
	// 128 MiB.
	MaxBody int64
}

// A Client makes attempts at one server. It is used by many at once.
type Client struct {
	api       API
	config    Config
	base      *url.URL
	transport *http.Transport
	secrets   secrets
}

// New checks the configuration and returns the client. It makes no request and
// does not ask for the key.
func New(api API, config Config) (*Client, error) {
	if config.BaseURL == "" {
		config.BaseURL = api.DefaultBaseURL
	}
	if config.MaxBody <= 0 {
		config.MaxBody = maxBody
	}
	if len(api.RequestIDs) == 0 {
		api.RequestIDs = []string{"X-Request-Id", "Request-Id"}
	}
	config.Timeouts = config.Timeouts.withDefaults()
	c := &Client{api: api, config: config}
	var err error
	if c.base, err = c.parseBase(api.BaseURLVariable, config.BaseURL); err != nil {
		return nil, err
	}
	c.transport = http.DefaultTransport.(*http.Transport).Clone()
	c.transport.MaxIdleConnsPerHost = 64
	c.transport.MaxResponseHeaderBytes = maxHeader
	// The attempt's own time-out comes first; these end what nobody waits for.
	abandoned := max(2*config.Timeouts.Connect, 2*time.Minute)
	c.transport.TLSHandshakeTimeout = abandoned
	c.transport.DialContext = (&net.Dialer{Timeout: abandoned}).DialContext
	if c.transport.Proxy, err = c.proxy(config.Proxy); err != nil {
		return nil, err
	}
	return c, nil
}

// proxy is where requests go through. Nil: to the server itself.
func (c *Client) proxy(text string) (func(*http.Request) (*url.URL, error), error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
		return nil, domain.Errorf(domain.Invalid, "proxy: is not an http, https or socks5 URL; write it like http://host:3128").From(c.api.Name)
	}
	if password, ok := u.User.Password(); ok {
		c.secrets.add(password)
	}
	return http.ProxyURL(u), nil
}

// key asks for the key and makes sure that it can be sent.
func (c *Client) key() (string, error) {
	if c.config.Key == nil {
		return "", nil
	}
	key, err := c.config.Key()
	if err == nil && key != "" {
		err = checkKey(c.api.KeyVariable, key)
	}
	if err != nil {
		return "", domain.AsError(err).From(c.api.Name)
	}
	c.secrets.add(key)
	return key, nil
}

// Check says what is wrong with a model's configuration: its base URL, its
// name, and the key where the server needs one. It makes no request.
func (c *Client) Check(config domain.LLMConfig, needsKey func(base *url.URL) bool) error {
	base, err := c.BaseURL(config)
	if err != nil {
		return err
	}
	if strings.TrimSpace(config.Model) == "" {
		return domain.CodedErrorf(domain.Invalid, domain.CodeModelNotFound, "model: has no name; write it as %s/MODEL", c.api.Name).From(c.api.Name)
	}
	key, err := c.key()
	if err != nil {
		return err
	}
	if key == "" && needsKey(base) {
		return domain.CodedErrorf(domain.Denied, domain.CodeAuth, "%s: is not set on the worker, and %s needs a key", c.api.KeyVariable, base.Host).From(c.api.Name)
	}
	return nil
}
