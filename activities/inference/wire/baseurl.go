package wire

import (
	"net/url"
	"strings"

	"everstep/domain"
)

// BaseURL is the definition's where it names one and may, else the worker's.
func (c *Client) BaseURL(config domain.LLMConfig) (*url.URL, error) {
	if config.BaseURL == "" || config.BaseURL == c.config.BaseURL {
		return c.base, nil
	}
	if !c.config.AllowBaseURL {
		return nil, domain.Errorf(domain.Denied, "base_url: this worker sends its key to its own base URL only; leave base_url out or allow it on the worker").From(c.api.Name)
	}
	return c.parseBase("base_url", config.BaseURL)
}

// parseBase checks a base URL. The text itself is not repeated in errors, as it
// may hold a credential.
func (c *Client) parseBase(field, text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, domain.Errorf(domain.Invalid, "%s: cannot be read as a URL; write it like %s", field, c.api.DefaultBaseURL).From(c.api.Name)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, domain.Errorf(domain.Invalid, "%s: is not an http or https URL; write it like %s", field, c.api.DefaultBaseURL).From(c.api.Name)
	case u.User != nil:
		return nil, domain.Errorf(domain.Invalid, "%s: holds a user or password; give the key in %s instead", field, c.api.KeyVariable).From(c.api.Name)
	}
	u.Fragment = ""
	return u, nil
}
