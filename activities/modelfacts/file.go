package modelfacts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
)

// readFile reads a user's file of models and reports all that is wrong with it.
func readFile(path string, data []byte) (map[name]Facts, error) {
	if strings.EqualFold(filepath.Ext(path), ".json") {
		// A tab is no string's in JSON, and YAML takes none as space.
		data = bytes.ReplaceAll(data, []byte{'\t'}, []byte{' '})
	}
	r := &reader{path: path, models: make(map[name]Facts)}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, domain.Errorf(domain.Invalid, "%s: is empty; it needs models: and under it PROVIDER/MODEL with input and output", path)
	case err != nil:
		return nil, domain.Errorf(domain.Invalid, "%s: is neither YAML nor JSON: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, domain.Errorf(domain.Invalid, "%s: has a second document; put all models into the first", path)
	}
	r.file(&document)
	if len(r.wrong) > 0 {
		return nil, domain.Errorf(domain.Invalid, "%s", strings.Join(r.wrong, "\n"))
	}
	return r.models, nil
}

// A reader walks through a file and gathers mistakes.
type reader struct {
	path   string
	models map[name]Facts
	wrong  []string
}

// maxMistakes bounds how many are listed.
const maxMistakes = 100

func (r *reader) failf(node *yaml.Node, format string, args ...any) {
	switch {
	case len(r.wrong) < maxMistakes:
		r.wrong = append(r.wrong, fmt.Sprintf("%s:%d: ", r.path, node.Line)+fmt.Sprintf(format, args...))
	case len(r.wrong) == maxMistakes:
		r.wrong = append(r.wrong, r.path+": and more")
	}
}

// file reads the top of the document.
func (r *reader) file(document *yaml.Node) {
	top := document
	if top.Kind == yaml.DocumentNode && len(top.Content) == 1 {
		top = top.Content[0]
	}
	found := false
	r.entries(top, "the file", "models: and under it PROVIDER/MODEL", func(key, value *yaml.Node) {
		if key.Value != "models" {
			r.failf(key, "%s: unknown key%s", key.Value, suggest(key.Value, []string{"models"}))
			return
		}
		found = true
		r.entries(value, "models", "PROVIDER/MODEL and under it input and output", r.model)
	})
	if !found && len(r.wrong) == 0 {
		r.failf(top, "models: is missing; put every PROVIDER/MODEL under it")
	}
}

// entries calls read for each key of a mapping, once each.
func (r *reader) entries(node *yaml.Node, what, want string, read func(key, value *yaml.Node)) {
	node = target(node)
	if node.Kind != yaml.MappingNode {
		r.failf(node, "%s: is %s; give %s", what, kindOf(node), want)
		return
	}
	seen := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			r.failf(key, "%s: has a key that is %s; give %s", what, kindOf(key), want)
			continue
		}
		if line, twice := seen[key.Value]; twice {
			r.failf(key, "%s: stands there twice, first in line %d; leave one out", key.Value, line)
			continue
		}
		seen[key.Value] = key.Line
		read(key, value)
	}
}

// model reads one model.
func (r *reader) model(key, value *yaml.Node) {
	provider, model, ok := strings.Cut(key.Value, "/")
	if !ok || strings.TrimSpace(provider) == "" || strings.TrimSpace(model) == "" {
		r.failf(key, "%s: is not PROVIDER/MODEL, as in openai-chat/llama-4-70b", key.Value)
		return
	}
	m := &modelReader{reader: r, name: key.Value, key: key}
	facts := Facts{Source: r.path}
	price := m.read(value, &facts)
	if price != nil {
		facts.Price = price
		r.models[name{provider, model}] = facts
	}
}

// target is where an alias points.
func target(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias
	}
	return node
}

// kindOf says what a node is, for people.
func kindOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if node.Tag == "!!null" {
			return "empty"
		}
		return strconv.Quote(domain.Shorten(node.Value, 64))
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return "empty"
}
