package host

import (
	"fmt"
	"slices"
	"strings"

	"everstep/activities/tool"
	"everstep/activities/web"
	"everstep/domain"
)

// OptionalTools are the tools that Everstep has beside those for files. A worker has
// those of them that its configuration names.
func OptionalTools() []domain.ToolSpec {
	client, err := web.New(web.Config{})
	if err != nil {
		panic(err) // of nothing nothing can be wrong
	}
	var specs []domain.ToolSpec
	for _, t := range client.Tools() {
		specs = append(specs, t.Spec())
	}
	return specs
}

// OptionalNames are the names of OptionalTools.
func OptionalNames() []string {
	var names []string
	for _, spec := range OptionalTools() {
		names = append(names, spec.Name)
	}
	return names
}

// optionalTools makes those that the configuration names.
func (c Config) optionalTools() ([]tool.Tool, error) {
	if err := checkOptional(c.BuiltinTools); err != nil {
		return nil, domain.Errorf(domain.Invalid, "builtin-tools: %s; see --builtin-tools (EVERSTEP_BUILTIN_TOOLS)", err)
	}
	client, err := web.New(web.Config{Allow: c.HTTPAllow, Proxy: c.HTTPProxy.Reveal()})
	if err != nil {
		return nil, domain.Errorf(domain.Invalid, "HTTP tools: %s; see --http-allow (EVERSTEP_HTTP_ALLOW) and EVERSTEP_HTTP_PROXY", err)
	}
	return slices.DeleteFunc(client.Tools(), func(t tool.Tool) bool { return !slices.Contains(c.BuiltinTools, t.Spec().Name) }), nil
}

func checkOptional(names []string) error {
	for _, name := range names {
		if !slices.Contains(OptionalNames(), name) {
			return fmt.Errorf("there is no %q; there are %s", domain.Shorten(name, 64), strings.Join(OptionalNames(), ", "))
		}
	}
	return nil
}

// ReadOptionalTools reads names of OptionalTools, parted by commas.
func ReadOptionalTools(text string) ([]string, error) {
	names, err := readList(text)
	if err == nil {
		err = checkOptional(names)
	}
	return names, err
}

func readHTTPAllow(text string) ([]string, error) {
	entries, err := readList(text)
	if err == nil {
		_, err = web.ParseAllow(entries)
	}
	return entries, err
}
