package host

import (
	"net/url"
	"slices"
	"strings"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/domain"
)

// A vendor has models, and one key for all of its APIs.
type vendor struct {
	name string
	// baseURL, key and keyFile name the variables of an Access.
	baseURL, key, keyFile string
	// otherKey names the variable that counts where none of key and keyFile is
	// set. Empty: none does.
	otherKey string
	access   func(*Config) *Access
	offers   []offer
}

// An offer is one of a vendor's APIs, which is a provider here.
type offer struct {
	name string
	// server is the vendor's own.
	server string
	open   func(Config, wire.Config) (inference.Provider, error)
}

// vendors lists all whose models a worker can use.
func vendors() []vendor {
	return []vendor{
		{
			name: "openai", baseURL: "OPENAI_BASE_URL", key: "OPENAI_API_KEY", keyFile: "OPENAI_API_KEY_FILE",
			access: func(c *Config) *Access { return &c.OpenAI },
			offers: []offer{
				{openai.Name, openai.DefaultBaseURL, func(_ Config, w wire.Config) (inference.Provider, error) {
					return openai.New(openai.Config{Config: w})
				}},
				{openaichat.Name, openaichat.DefaultBaseURL, func(c Config, w wire.Config) (inference.Provider, error) {
					return openaichat.New(openaichat.Config{
						BaseURL: w.BaseURL, Key: w.Key, AllowBaseURL: w.AllowBaseURL, Timeouts: w.Timeouts, Proxy: w.Proxy,
						FinishOptional: c.FinishOptional,
					})
				}},
			},
		},
		{
			name: "anthropic", baseURL: "ANTHROPIC_BASE_URL", key: "ANTHROPIC_API_KEY", keyFile: "ANTHROPIC_API_KEY_FILE",
			access: func(c *Config) *Access { return &c.Anthropic },
			offers: []offer{{anthropic.Name, anthropic.DefaultBaseURL, func(_ Config, w wire.Config) (inference.Provider, error) {
				return anthropic.New(anthropic.Config{Config: w})
			}}},
		},
		{
			name: "gemini", baseURL: "GEMINI_BASE_URL", key: "GEMINI_API_KEY", keyFile: "GEMINI_API_KEY_FILE", otherKey: "GOOGLE_API_KEY",
			access: func(c *Config) *Access { return &c.Gemini },
			offers: []offer{{gemini.Name, gemini.DefaultBaseURL, func(_ Config, w wire.Config) (inference.Provider, error) {
				return gemini.New(gemini.Config{Config: w})
			}}},
		},
	}
}

// fromEnvironment reads what the variables say of a vendor over what the
// program has set, and returns which of them has the key. An empty key is an
// error: whoever sets one does not mean none.
func (v vendor) fromEnvironment(c *Config, environment Environment) (key string, err error) {
	access := v.access(c)
	if text, ok := environment.LookupEnv(v.baseURL); ok && text != "" {
		access.BaseURL = text
	}
	file, filed := environment.LookupEnv(v.keyFile)
	text, given := environment.LookupEnv(v.key)
	key = v.key
	if !given && !filed && v.otherKey != "" {
		key = v.otherKey
		text, given = environment.LookupEnv(key)
	}
	switch {
	case given && filed:
		return "", domain.Errorf(domain.Invalid, "%s and %s: both are set; unset one of them", key, v.keyFile)
	case filed && file == "":
		return "", domain.Errorf(domain.Invalid, "%s: is empty; set it to the path of a file that holds the key, or unset it", v.keyFile)
	case filed:
		access.Key, access.KeyFile = "", file
		return v.keyFile, nil
	case given:
		if err := checkKey(key, text); err != nil {
			return "", err
		}
		access.Key, access.KeyFile = Secret(text), ""
		return key, nil
	}
	return "", nil
}

// KeyFileVariables name the variables that name files with keys.
func KeyFileVariables() []string {
	var names []string
	for _, v := range vendors() {
		names = append(names, v.keyFile)
	}
	return names
}

// config is what the adapters of a vendor get.
func (v vendor) config(c Config) (wire.Config, error) {
	access := v.access(&c)
	key, err := access.key(v, c.secrets)
	return wire.Config{
		BaseURL: access.BaseURL, Key: key, AllowBaseURL: c.AllowBaseURL, Timeouts: c.Timeouts, Proxy: c.Proxy.Reveal(),
	}, err
}

// offered finds a provider by its name.
func offered(name string) (vendor, offer, bool) {
	for _, v := range vendors() {
		if i := slices.IndexFunc(v.offers, func(o offer) bool { return o.name == name }); i >= 0 {
			return v, v.offers[i], true
		}
	}
	return vendor{}, offer{}, false
}

// at reports whether a base URL is at the vendor's own server. An empty one is.
func (o offer) at(base string) bool {
	if base == "" {
		return true
	}
	own, err := url.Parse(o.server)
	if err != nil {
		return false
	}
	u, err := url.Parse(strings.TrimSpace(base))
	return err == nil && strings.EqualFold(u.Hostname(), own.Hostname())
}
