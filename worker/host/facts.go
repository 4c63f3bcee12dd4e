package host

import (
	"net/url"
	"strings"

	"everstep/activities/modelfacts"
	"everstep/activities/openaichat"
	"everstep/domain"
)

// vendorHosts are the servers for which the built-in prices of a provider's
// models hold.
func vendorHosts() map[string]string {
	return map[string]string{
		openaichat.Name: "api.openai.com",
		"openai":        "api.openai.com",
		"anthropic":     "api.anthropic.com",
		"gemini":        "generativelanguage.googleapis.com",
	}
}

// facts returns what is known of models on this worker.
func (c Config) facts() (func(domain.LLMConfig) (modelfacts.Facts, bool), error) {
	var files []string
	if c.Prices != "" {
		files = append(files, c.Prices)
	}
	table, err := modelfacts.Load(files...)
	if err != nil {
		return nil, err
	}
	return func(model domain.LLMConfig) (modelfacts.Facts, bool) {
		return table.Find(model.Provider, model.Model, c.vendorServer(model))
	}, nil
}

// vendorServer reports whether a model is asked for at its vendor's own server.
// Elsewhere a model of the same name may cost anything.
func (c Config) vendorServer(model domain.LLMConfig) bool {
	host, known := vendorHosts()[model.Provider]
	if !known {
		return false
	}
	base := model.BaseURL
	if model.Provider == openaichat.Name {
		if _, replaced := c.Providers[openaichat.Name]; replaced {
			return false // only the program knows where its provider asks
		}
		if base == "" {
			base = c.OpenAI.BaseURL
		}
	}
	if base == "" {
		return true
	}
	u, err := url.Parse(strings.TrimSpace(base))
	return err == nil && strings.EqualFold(u.Hostname(), host)
}
