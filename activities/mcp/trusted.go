package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"everstep/activities/document"
	"everstep/activities/tool"
	"everstep/domain"
)

// trustedMark begins references to what whoever started the agent says: ${trusted.customer}.
const trustedMark = "trusted."

// trusted are the trusted values that the text names.
func (v Variable) trusted() (names []string) {
	for _, found := range reference.FindAllStringSubmatch(v.Text, -1) {
		if name, ok := strings.CutPrefix(found[1], trustedMark); ok {
			names = append(names, name)
		}
	}
	return names
}

// trustedOf is what whoever started the agent says that makes a call.
func trustedOf(ctx context.Context) domain.Trusted {
	call, _ := tool.ExecutionOf(ctx)
	return call.Trusted
}

// asText is a trusted value inside a text: a text without its quotes, else JSON.
func asText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// mayBeSent refuses a call whose headers lack a trusted value, or cannot hold it: nothing
// is sent then.
func (s Server) mayBeSent(values domain.Trusted) error {
	for _, h := range s.Headers {
		for _, name := range h.trusted() {
			value, ok := values[name]
			if !ok {
				return domain.NotTrusted(name)
			}
			if strings.ContainsFunc(asText(value), func(r rune) bool { return r < ' ' || r > '~' }) {
				return domain.Invalidf("trusted.%s: holds characters that no header may have, and the header %s of MCP server %s names it", name, h.Name, s.Name)
			}
		}
	}
	return nil
}

// checkTrusted says what is wrong with the trusted values that a text names.
func checkTrusted(v Variable) string {
	for _, name := range v.trusted() {
		if err := domain.CheckTrustedName(name); err != nil {
			return fmt.Sprintf("${%s%s}: %s", trustedMark, document.Shorten(name), err)
		}
	}
	return ""
}

// checkArgument wants an argument to be made of trusted values alone.
func checkArgument(v Variable) string {
	switch wrong := checkTrusted(v); {
	case wrong != "":
		return wrong
	case len(v.trusted()) == 0:
		return "names no trusted value; write ${trusted.NAME}, or leave the argument to the model"
	case len(v.Names()) > 0:
		return "names a secret, which a server may repeat to the model; put it into env or headers"
	}
	return ""
}

func argumentsOf(into *[]Variable) document.Value {
	value := variables(into, checkArgument)
	return value.Then(func(at document.Place) {
		for i, one := range *into {
			if slices.ContainsFunc((*into)[:i], func(v Variable) bool { return strings.EqualFold(v.Name, one.Name) }) {
				at.Problem("%q is there twice; keep one", document.Shorten(one.Name))
			}
		}
	})
}

// value is a template with trusted values in their places: the value itself where the
// template is one reference and nothing else, else a text.
func (v Variable) value(values domain.Trusted) (json.RawMessage, error) {
	for _, name := range v.trusted() {
		if _, ok := values[name]; !ok {
			return nil, domain.NotTrusted(name)
		}
	}
	if found := reference.FindString(v.Text); found == v.Text {
		return values[strings.TrimPrefix(found[2:len(found)-1], trustedMark)], nil
	}
	text, err := v.with(nil, values)
	if err != nil {
		return nil, err
	}
	return json.Marshal(text)
}

// withheld is a tool's schema without the arguments that the worker fills in.
func withheld(schema json.RawMessage, arguments []Variable) (json.RawMessage, error) {
	if len(arguments) == 0 {
		return schema, nil
	}
	var keywords, properties map[string]json.RawMessage
	var required []string
	if json.Unmarshal(schema, &keywords) != nil || json.Unmarshal(keywords["properties"], &properties) != nil {
		return nil, fmt.Errorf("arguments: the tool's schema lists no properties, so none can be filled in")
	}
	if keywords["required"] != nil && json.Unmarshal(keywords["required"], &required) != nil {
		return nil, fmt.Errorf("arguments: what the tool's schema requires cannot be read")
	}
	for _, a := range arguments {
		if properties[a.Name] == nil {
			return nil, fmt.Errorf("arguments: %q is no argument of the tool; name one of them", a.Name)
		}
		delete(properties, a.Name)
		required = slices.DeleteFunc(required, func(name string) bool { return name == a.Name })
	}
	keywords["properties"], _ = json.Marshal(properties) // they were read from JSON
	if delete(keywords, "required"); len(required) > 0 {
		keywords["required"], _ = json.Marshal(required) // as well
	}
	return json.Marshal(keywords)
}

// filled are a call's arguments with those that the worker fills in. What the model says of
// these is refused, in whatever case it writes the name: a server may read either.
func filled(sent json.RawMessage, arguments []Variable, values domain.Trusted) (json.RawMessage, error) {
	if len(arguments) == 0 {
		return sent, nil
	}
	var own map[string]json.RawMessage
	if json.Unmarshal(sent, &own) != nil || own == nil {
		return nil, domain.CodedErrorf(domain.Invalid, domain.CodeMalformed, "arguments: are no object")
	}
	for _, a := range arguments {
		for name := range own {
			if strings.EqualFold(name, a.Name) {
				return nil, domain.CodedErrorf(domain.Invalid, domain.CodeMalformed, "arguments: at /%s: is not yours to give; leave it out", domain.Shorten(name, 60))
			}
		}
		value, err := a.value(values)
		if err != nil {
			return nil, err
		}
		own[a.Name] = value
	}
	return json.Marshal(own)
}
