package host

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"everstep/activities"
	"everstep/activities/anthropic"
	"everstep/activities/files"
	"everstep/activities/gemini"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/modelfacts"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/domain/contract"
)

// A vendor has models, and one key for all of its APIs. The first of them names
// its variables.
type vendor struct {
	wire.API
	// apis are all of the vendor's; each is a provider.
	apis []wire.API
}

// ownAPIs are those of which every worker has a provider. All else is derived from them, the documents too.
func ownAPIs() []wire.API {
	return append([]wire.API{openai.API(), anthropic.API(), gemini.API()}, openaichat.APIs()...)
}

// vendors lists all whose models a worker can use.
func vendors() (all []vendor) {
	for _, api := range ownAPIs() {
		if i := slices.IndexFunc(all, func(v vendor) bool { return v.Variables == api.Variables }); i >= 0 {
			all[i].apis = append(all[i].apis, api)
		} else {
			all = append(all, vendor{api, []wire.API{api}})
		}
	}
	return all
}

func (v vendor) names() []string {
	return ofEach(v.apis, func(api wire.API) string { return api.Name })
}

// keys are the variables that can say what the key is, the best first.
func (v vendor) keys() []string {
	keys := []string{v.KeyVariable(), v.KeyFileVariable(), v.OtherKey}
	return slices.DeleteFunc(keys, func(name string) bool { return name == "" })
}

// fromEnvironment is what the vendor's variables say over what the program has set, and which of them has the key. Whoever sets
// an empty one does not mean none.
func (v vendor) fromEnvironment(access Access, environment Environment) (_ Access, key string, err error) {
	if text, ok := environment.LookupEnv(v.BaseURLVariable()); ok && text != "" {
		access.BaseURL = text
	}
	file, filed := environment.LookupEnv(v.KeyFileVariable())
	text, given := environment.LookupEnv(v.KeyVariable())
	key = v.KeyVariable()
	if !given && !filed && v.OtherKey != "" {
		key = v.OtherKey
		text, given = environment.LookupEnv(key)
	}
	switch {
	case given && filed:
		return access, "", invalid("%s and %s: both are set; unset one of them", key, v.KeyFileVariable())
	case filed && file == "":
		return access, "", invalid("%s: is empty; set it to the path of a file that holds the key, or unset it", v.KeyFileVariable())
	case filed:
		access.Key, access.KeyFile = "", file
		return access, v.KeyFileVariable(), nil
	case given:
		if _, err := wire.KeyFrom(key, text); err != nil {
			return access, "", invalid("%s", err)
		}
		access.Key, access.KeyFile = Secret(text), ""
		return access, key, nil
	}
	return access, "", nil
}

// KeyFileVariables name the variables that name files with keys.
func KeyFileVariables() []string { return ofEach(vendors(), vendor.KeyFileVariable) }

// vendorNames are those by which rate limits, and Config.Vendors, name them.
func vendorNames() []string { return ofEach(vendors(), func(v vendor) string { return v.Name }) }

func ofEach[T, U any](all []T, of func(T) U) []U {
	made := make([]U, len(all))
	for i, one := range all {
		made[i] = of(one)
	}
	return made
}

func (v vendor) config(c Config) (wire.Config, error) {
	access := c.Vendors[v.Name]
	key, err := access.key(v, c.secrets)
	return wire.Config{
		BaseURL: access.BaseURL, Key: key, AllowBaseURLs: c.AllowBaseURLs, Timeouts: c.Timeouts, Proxy: c.Proxy.Reveal(), FinishOptional: c.FinishOptional,
	}, err
}

// atServer reports whether a base URL is at an API's own server, where its names of models
// are the vendor's: at others of the vendor, as at Azure's, they are the user's. An empty one is.
func atServer(api wire.API, base string) bool {
	own, err := url.Parse(api.Server)
	if base == "" || err != nil {
		return err == nil
	}
	u, err := url.Parse(strings.TrimSpace(base))
	return err == nil && strings.EqualFold(u.Hostname(), own.Hostname())
}

// keysHelp says in a worker's help where keys come from.
func keysHelp() string {
	all := vendors()
	var same, other []string
	for _, v := range all[1:] {
		same = append(same, v.Variables+"_…")
		if v.OtherKey != "" {
			other = append(other, v.OtherKey+" counts where no "+v.KeyVariable()+" is set.")
		}
	}
	first := all[0]
	return fmt.Sprintf(`Keys are never flags. %s is the key of the server that
%s names, the vendor's own unless given; %s names
a file that holds the key, with permissions 0600 or stricter unless it is below
/run/secrets, and another key in it counts at once. The same holds for
%s.
%s`, first.KeyVariable(), first.BaseURLVariable(), first.KeyFileVariable(), strings.Join(same, ", "), strings.Join(other, "\n"))
}

// ProviderNames are those of the providers that every worker has, with a key or
// without. The one that needs none is first.
func ProviderNames() []string {
	names := []string{scripted.Name}
	for _, v := range vendors() {
		names = append(names, v.names()...)
	}
	return names
}

// ToolSchema is what a provider's API is sent of a tool's schema, with a line for each part that is told in words or left
// out. Nil: it is sent as it is.
func ToolSchema(provider string) func(json.RawMessage) (json.RawMessage, []string) {
	for _, api := range ownAPIs() {
		if api.Name == provider {
			return api.Schema
		}
	}
	return nil
}

// providers are ours, and those that the program adds.
func (c Config) providers() (map[string]inference.Provider, error) {
	for name := range c.Vendors {
		if known := vendorNames(); !slices.Contains(known, name) {
			return nil, invalid("vendors: %q is none; the vendors are: %s", name, strings.Join(known, ", "))
		}
	}
	all := map[string]inference.Provider{scripted.Name: scripted.New()}
	for _, v := range vendors() {
		shared, err := v.config(c)
		if err != nil {
			return nil, err
		}
		for _, api := range v.apis {
			if all[api.Name], err = wire.New(api, shared); err != nil {
				return nil, err
			}
		}
	}
	maps.Copy(all, c.Providers)
	return all, nil
}

// CheckWorker says what is wrong with what an environment says of a worker that has
// the tools for files, what names its server aside. It makes no request, and a missing
// key is nothing wrong.
func CheckWorker(environment Environment) error {
	var config Config
	if err := config.read(environment, nil); err != nil {
		return err
	}
	_, err := config.withDefaults().providers()
	return cmp.Or(err, config.checkAllowed())
}

// Allowed is what an environment has such a worker allow. The error says what is wrong with it.
func Allowed(environment Environment) (activities.Allow, error) {
	config, err := readAlone(environment, "builtin-tools", "mcp", "allow-tools", "allow-models")
	if err != nil {
		return activities.Allow{}, err
	}
	return config.Allow, config.checkAllowed()
}

// checkAllowed starts and asks no server.
func (c Config) checkAllowed() error {
	if c.Allow.Tools == nil {
		return nil
	}
	tools := append(new(files.Root).Tools(), c.turnedOn(optionalTools())...)
	servers, err := c.Servers(nil)
	if err != nil || servers == nil {
		return cmp.Or(err, c.Allow.CheckTools(tools, nil))
	}
	return c.Allow.CheckTools(tools, servers)
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
	config := Config{Dir: dir, Vendors: map[string]Access{}}
	if err := apply(config.modelSettings(), environment, nil); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	quotas, err := config.quotas()
	if err != nil {
		return nil, err
	}
	limits := limits(quotas)
	var all []Reach
	for _, v := range vendors() {
		access, key, wrong := v.fromEnvironment(Access{}, environment)
		config.Vendors[v.Name] = access
		shared, err := v.config(config)
		for _, api := range v.apis {
			r := Reach{Provider: api.Name, Wants: v.keys(), Key: key, KeyFile: access.KeyFile, Err: cmp.Or(wrong, err, access.outside(dir, v))}
			if r.Err == nil {
				_, r.Err = wire.New(api, shared)
			}
			if r.Err == nil {
				r.Server, r.Own = plainURL(cmp.Or(access.BaseURL, api.Server)), api.OwnServer(access.BaseURL)
			}
			if limit, limited := limits[api.Name]; limited {
				r.RateLimit = &limit.RateLimit
			}
			all = append(all, r)
		}
	}
	return all, nil
}

// plainURL is a base URL that was checked, without what may hold a key.
func plainURL(base string) string {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// vendorServer reports whether a model is asked for at its vendor's own server.
// Elsewhere a model of the same name may cost anything.
func (c Config) vendorServer(model domain.LLMConfig) bool {
	if _, replaced := c.Providers[model.Provider]; replaced {
		return false // only the program knows where its provider asks
	}
	for _, v := range vendors() {
		for _, api := range v.apis {
			if api.Name == model.Provider {
				return atServer(api, cmp.Or(model.BaseURL, c.Vendors[v.Name].BaseURL))
			}
		}
	}
	return false
}

func (c Config) facts() (func(domain.LLMConfig) (modelfacts.Facts, bool), error) {
	table := modelfacts.Builtin()
	if c.Prices != "" {
		var err error
		if table, err = table.With(c.Prices); err != nil {
			return nil, err
		}
	}
	return func(model domain.LLMConfig) (modelfacts.Facts, bool) {
		return table.Find(model.Provider, model.Model, c.vendorServer(model))
	}, nil
}
