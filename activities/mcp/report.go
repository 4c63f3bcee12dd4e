package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"everstep/domain"
)

// A Listed is a tool as people are shown it.
type Listed struct {
	// Name is the one by which agents know it, Original the server's own.
	Name     string        `json:"name"`
	Original string        `json:"original"`
	Effect   domain.Effect `json:"effect"`
	// Configured is what the configuration says, where the server's hints are stricter.
	Configured  domain.Effect `json:"configured_effect,omitzero"`
	Description string        `json:"description,omitzero"`
	// Allowed says that agents may have it.
	Allowed bool `json:"allowed"`
	// Pin is the digest of what the server says of it.
	Pin domain.Digest `json:"pin"`
	// Problem is why no agent can have it.
	Problem string `json:"problem,omitzero"`
	// Unchecked is what of its schema cannot be checked: a call is made whatever it says there.
	Unchecked []string `json:"unchecked,omitempty"`
	// Schema is what agents have of it, before a model's API is sent it.
	Schema json.RawMessage `json:"-"`
}

// An Offer is what a server has beside tools, as people are shown it.
type Offer struct {
	Name string `json:"name"`
	// URI is a resource's, or how one of a template looks.
	URI         string `json:"uri,omitzero"`
	MediaType   string `json:"media_type,omitzero"`
	Description string `json:"description,omitzero"`
}

// A Report is what a server says of itself.
type Report struct {
	Server   string `json:"server"`
	Title    string `json:"title,omitzero"`
	Version  string `json:"version,omitzero"`
	Protocol string `json:"protocol"`
	// Offers are the parts of the protocol that it has.
	Offers []string `json:"offers"`
	Tools  []Listed `json:"tools"`
	// Resources, Templates of them and Prompts are for people: no agent reads them.
	Resources []Offer `json:"resources,omitempty"`
	Templates []Offer `json:"resource_templates,omitempty"`
	Prompts   []Offer `json:"prompts,omitempty"`
	// Problems are why it does not list what it says that it has.
	Problems []string `json:"problems,omitempty"`
	// Notes are what of its file does not hold here.
	Notes []string `json:"notes,omitempty"`
	// Missing are tools that the configuration names and the server has not.
	Missing []string `json:"missing,omitempty"`
}

// Examine starts or reaches a server and says what it has. Its error is of kind
// Unavailable, with what the server wrote to its standard error as Detail.
func (s *Servers) Examine(ctx context.Context, name string) (Report, error) {
	own, err := s.named(name)
	if err != nil {
		return Report{}, err
	}
	report := Report{Server: own.config.Name, Offers: []string{}, Tools: []Listed{}, Notes: own.config.Notes}
	if own.config.Disabled {
		report.Notes = append(slices.Clip(report.Notes), "its file says disabled: it is not started")
		return report, nil
	}
	l, listed, err := own.listed(ctx)
	if err != nil {
		return report, err
	}
	said := l.session.InitializeResult()
	report.Protocol = said.ProtocolVersion
	has := *cmp.Or(said.Capabilities, &sdk.ServerCapabilities{})
	report.Offers = parts(has)
	if odd, ok := said.Meta[unreadKey].(string); ok {
		report.Problems = append(report.Problems, odd)
	}
	l.offered(ctx, has, &report)
	if info := said.ServerInfo; info != nil {
		report.Title, report.Version = info.Name, info.Version
	}
	add := func(name string) (*Listed, ToolConfig) {
		config, allowed := own.config.allowed(name)
		report.Tools = append(report.Tools, Listed{Name: ToolName(own.config.Name, name), Original: name, Effect: config.Effect, Allowed: allowed})
		return &report.Tools[len(report.Tools)-1], config
	}
	for _, t := range listed {
		shown, config := add(t.Name)
		made, lost, problem := own.tool(t, config)
		spec := made.Spec()
		shown.Effect, shown.Description, shown.Pin, shown.Unchecked, shown.Schema = spec.Effect, t.Description, spec.Pin, lost, spec.Schema
		if spec.Effect != config.Effect {
			shown.Configured = config.Effect
		}
		if problem != nil {
			shown.Problem = problem.Error()
		}
	}
	for _, t := range l.known().unread {
		shown, _ := add(t.Name)
		shown.Problem = t.Problem
	}
	for name := range own.config.Tools {
		if !slices.ContainsFunc(report.Tools, func(t Listed) bool { return t.Original == name }) {
			report.Missing = append(report.Missing, name)
		}
	}
	slices.Sort(report.Missing)
	return domain.Texts(report, func(text string, _ bool) string { return own.options.Said(text) }), nil
}

// parts are those of the protocol that a server has.
func parts(c sdk.ServerCapabilities) []string {
	all := []string{}
	for _, part := range []struct {
		name string
		has  bool
	}{{"completions", c.Completions != nil}, {"prompts", c.Prompts != nil}, {"resources", c.Resources != nil}, {"tools", c.Tools != nil}} {
		if part.has {
			all = append(all, part.name)
		}
	}
	return all
}

// offered lists what a server says that it has beside tools. Many have resources and no templates of them.
func (l *link) offered(ctx context.Context, has sdk.ServerCapabilities, report *Report) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	for _, part := range []struct {
		what, method, member string
		has                  bool
		into                 *[]Offer
	}{
		{"resources", methodResources, "resources", has.Resources != nil, &report.Resources},
		{"resource templates", methodTemplates, "resourceTemplates", has.Resources != nil, &report.Templates},
		{"prompts", methodPrompts, "prompts", has.Prompts != nil, &report.Prompts},
	} {
		if !part.has {
			continue
		}
		all, err := paged(part.what, func(cursor string) ([]*listedOffer, string, error) {
			return l.offers(ctx, part.method, part.member, cursor)
		})
		for _, one := range all {
			if one != nil {
				*part.into = append(*part.into, Offer{one.Name, one.URI + one.URITemplate, one.MIMEType, one.Description})
			}
		}
		own, refused := errors.AsType[*jsonrpc.Error](err)
		if none := refused && own.Code == jsonrpc.CodeMethodNotFound && part.method == methodTemplates; err != nil && !none {
			report.Problems = append(report.Problems, fmt.Sprintf("it does not list its %s: %s", part.what, l.explain(err)))
		}
	}
}

// A listedOffer is an Offer as it is decoded from a list.
type listedOffer struct{ Name, URI, URITemplate, MIMEType, Description string }

// offers is a page of what a method lists in a member of its result.
func (l *link) offers(ctx context.Context, method, member, cursor string) (page []*listedOffer, next string, _ error) {
	text, err := l.ask(ctx, method, &ownParams{Cursor: cursor})
	if err != nil {
		return nil, "", err
	}
	var fields map[string]json.RawMessage
	err = json.Unmarshal(text, &fields)
	for name, into := range map[string]any{member: &page, "nextCursor": &next} {
		if err == nil && !absent(fields[name]) {
			err = json.Unmarshal(fields[name], into)
		}
	}
	if err != nil {
		return nil, "", unread("it lists what is no list of %s: %s", member, err)
	}
	return page, next, nil
}
