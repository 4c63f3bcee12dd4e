package agentfile

import (
	"encoding/json"
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
)

// DefaultFormatName is the name of a response format that a file gives none.
const DefaultFormatName = "answer"

var validFormat = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkFormatName(name string) string {
	if !validFormat.MatchString(name) {
		return fmt.Sprintf("%q is no name of a format; use 1 to 64 letters, digits, dashes and underscores", shorten(name))
	}
	return ""
}

// format reads text, json_object, or a schema.
func (r *reader) format(field string, node *yaml.Node, into *domain.ResponseFormat) {
	if node.Kind == yaml.ScalarNode {
		text, ok := r.scalarText(field, node)
		switch {
		case !ok:
		case text == string(domain.FormatText), text == string(domain.FormatJSON):
			into.Type = domain.FormatType(text)
		default:
			r.problem(node, field, "%q is not known; give %s, %s, or a mapping with a schema", shorten(text), domain.FormatText, domain.FormatJSON)
		}
		return
	}
	f := domain.ResponseFormat{Type: domain.FormatSchema, Name: DefaultFormatName}
	keys := r.mapping(field, node,
		r.text("name", &f.Name, checkFormatName),
		key{"schema", func(field string, node *yaml.Node) { f.Schema = r.schema(field, node) }},
		key{"mode", func(field string, node *yaml.Node) {
			f.Mode, _ = word(r, field, node, domain.OutputModes())
		}},
	)
	if keys != nil && keys["schema"] == nil {
		r.problem(node, join(field, "schema"), "is missing; give a JSON Schema, or the path of a file that holds one")
	}
	*into = f
}

// schema reads a JSON Schema from the file itself, or from one beside it.
func (r *reader) schema(field string, node *yaml.Node) json.RawMessage {
	var raw json.RawMessage
	if node.Kind == yaml.MappingNode {
		before := len(r.problems)
		if raw = r.json(field, node); len(r.problems) > before {
			return nil
		}
	} else {
		path, ok := r.scalarText(field, node)
		if !ok {
			return nil
		}
		var err error
		if raw, err = r.schemaFile(path); err != nil {
			r.problem(node, field, "%s", err)
			return nil
		}
	}
	if err := checkFormat(raw); err != nil {
		r.problem(node, field, "%s", err)
		return nil
	}
	return raw
}
