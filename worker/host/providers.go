package host

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/modelfacts"
	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/domain/contract"
)

// ProviderNames are those of the providers that every worker has, with a key or
// without. The one that needs none is first.
func ProviderNames() []string {
	names := []string{scripted.Name}
	for _, v := range vendors() {
		names = append(names, v.names()...)
	}
	return names
}

// providers are ours, and those that the program adds.
func (c Config) providers() (map[string]inference.Provider, error) {
	for name := range c.Vendors {
		if !slices.ContainsFunc(vendors(), func(v vendor) bool { return v.Name == name && v.field == nil }) {
			return nil, domain.Errorf(domain.Invalid, "vendors: %q is none that has no field of its own", name)
		}
	}
	all := map[string]inference.Provider{scripted.Name: scripted.New()}
	for _, v := range vendors() {
		shared, err := v.config(c)
		if err != nil {
			return nil, err
		}
		for _, api := range v.apis() {
			if all[api.Name], err = wire.New(api, shared); err != nil {
				return nil, err
			}
		}
	}
	maps.Copy(all, c.Providers)
	return all, nil
}

// CheckProviders says what is wrong with base URLs, keys and proxy. It makes no
// request, and a missing key is nothing wrong.
func CheckProviders(config Config) error {
	_, err := config.withDefaults().providers()
	return err
}

// A Reach is what a worker has to reach a provider with. It holds no key.
type Reach struct {
	// Provider is the provider's name.
	Provider string
	// Server is the base URL, without what stands behind its path. It is empty
	// where Err is not nil.
	Server string
	// Own says that this is the vendor's own server, which needs a key.
	Own bool
	// Key names the variable that has the key, and KeyFile is the file's path
	// where the variable names one. Empty: there is no key.
	Key, KeyFile string
	// Wants are the variables that could have one, the best first.
	Wants []string
	// RateLimit is what the worker keeps to; nil: nothing.
	RateLimit *contract.RateLimit
	// Err says why a worker would not start, or would use no such key.
	Err error
}

// Reaches says how a worker of that environment would reach the providers that
// need a server, while its file tools work in dir. It reads key files and makes
// no request. The error is of a setting that all of them share.
func Reaches(environment Environment, dir string) ([]Reach, error) {
	config := Config{Dir: dir}
	for _, s := range modelSettings() {
		if err := s.apply(&config, environment, nil); err != nil {
			return nil, err
		}
	}
	config = config.withDefaults()
	quotas, err := config.quotas()
	if err != nil {
		return nil, err
	}
	limits := limits(quotas)
	var all []Reach
	for _, v := range vendors() {
		for _, r := range v.reaches(config, environment) {
			if limit, limited := limits[r.Provider]; limited {
				r.RateLimit = &limit.RateLimit
			}
			all = append(all, r)
		}
	}
	return all, nil
}

func (v vendor) reaches(c Config, environment Environment) []Reach {
	shared := Reach{Wants: v.keys()}
	var all []Reach
	shared.Key, shared.Err = v.fromEnvironment(&c, environment)
	config, err := v.config(c)
	shared.Err = cmp.Or(shared.Err, err, v.access(c).outside(c.Dir, v))
	shared.KeyFile = v.access(c).KeyFile
	for _, api := range v.apis() {
		r := shared
		r.Provider = api.Name
		if r.Err == nil {
			_, r.Err = wire.New(api, config)
		}
		if r.Err == nil {
			r.Server, r.Own = plainURL(config.BaseURL, api.Server), atServer(api, config.BaseURL)
		}
		all = append(all, r)
	}
	return all
}

// plainURL is a base URL that was checked, without what may hold a key.
func plainURL(base, otherwise string) string {
	if base == "" {
		return otherwise
	}
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// vendorServer reports whether a model is asked for at its vendor's own server.
// Elsewhere a model of the same name may cost anything.
func (c Config) vendorServer(model domain.LLMConfig) bool {
	v, api, known := offered(model.Provider)
	if _, replaced := c.Providers[model.Provider]; !known || replaced {
		return false // only the program knows where its provider asks
	}
	return atServer(api, cmp.Or(model.BaseURL, v.access(c).BaseURL))
}

// facts returns what is known of models on this worker.
func (c Config) facts() (func(domain.LLMConfig) (modelfacts.Facts, bool), error) {
	files := slices.DeleteFunc([]string{c.Prices}, func(path string) bool { return path == "" })
	table, err := modelfacts.Load(files...)
	if err != nil {
		return nil, err
	}
	return func(model domain.LLMConfig) (modelfacts.Facts, bool) {
		return table.Find(model.Provider, model.Model, c.vendorServer(model))
	}, nil
}
