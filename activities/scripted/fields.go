package scripted

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
	"everstep/domain/spelling"
)

// A reader turns the nodes of one file into a script. Its errors say where.
type reader struct {
	path string
	// budget bounds how many nodes are visited: aliases can make few bytes
	// stand for very many values, or for themselves.
	budget int
}

func (r *reader) errorf(node *yaml.Node, format string, args ...any) error {
	return domain.Errorf(domain.Invalid, "script %s:%d: %s", r.path, node.Line, fmt.Sprintf(format, args...))
}

// follow returns the node that an alias stands for.
func (r *reader) follow(node *yaml.Node) (*yaml.Node, error) {
	if r.budget--; r.budget < 0 {
		return nil, r.errorf(node, "has too many values; aliases may repeat themselves")
	}
	if node.Kind == yaml.AliasNode {
		return r.follow(node.Alias)
	}
	return node, nil
}

// A field reads the value of one key.
type field struct {
	key  string
	read func(*yaml.Node) error
}

// mapping reads a node whose keys are all known, each at most once.
func (r *reader) mapping(node *yaml.Node, what string, fields ...field) error {
	node, err := r.follow(node)
	if err != nil {
		return err
	}
	if node.Kind != yaml.MappingNode {
		return r.errorf(node, "%s is not a mapping of keys to values", what)
	}
	seen := make([]string, 0, len(fields))
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		at := slices.IndexFunc(fields, func(f field) bool { return f.key == key.Value })
		if at < 0 {
			return r.errorf(key, "%s has no key %q%s", what, key.Value, suggest(key.Value, fields))
		}
		if slices.Contains(seen, key.Value) {
			return r.errorf(key, "%s has the key %q twice", what, key.Value)
		}
		seen = append(seen, key.Value)
		if err := fields[at].read(node.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// list reads each item of a list.
func (r *reader) list(node *yaml.Node, what string, item func(*yaml.Node) error) error {
	node, err := r.follow(node)
	if err != nil {
		return err
	}
	if node.Kind != yaml.SequenceNode {
		return r.errorf(node, "%s is not a list", what)
	}
	for _, n := range node.Content {
		if err := item(n); err != nil {
			return err
		}
	}
	return nil
}

// text returns a field that reads a scalar as it is written.
func (r *reader) text(key string, into *string) field {
	return field{key, func(node *yaml.Node) error {
		node, err := r.follow(node)
		if err != nil {
			return err
		}
		if node.Kind != yaml.ScalarNode || node.Tag == "!!null" {
			return r.errorf(node, "%s is not a text", key)
		}
		*into = node.Value
		return nil
	}}
}

// quoted returns a field that reads a text that may quote results.
func (r *reader) quoted(key string, into **quoting) field {
	var text string
	scalar := r.text(key, &text)
	return field{key, func(node *yaml.Node) error {
		if err := scalar.read(node); err != nil {
			return err
		}
		q, err := quote(text)
		if err != nil {
			return r.errorf(node, "%s: %s", key, err)
		}
		*into = q
		return nil
	}}
}

// number returns a field that reads a whole number that is not negative.
func (r *reader) number(key string, then func(int64)) field {
	var text string
	scalar := r.text(key, &text)
	return field{key, func(node *yaml.Node) error {
		if err := scalar.read(node); err != nil {
			return err
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > 1<<40 {
			return r.errorf(node, "%s is %q; give a whole number that is not negative", key, text)
		}
		then(n)
		return nil
	}}
}

// duration returns a field that reads a time like 1.5s, or a number of seconds.
func (r *reader) duration(key string, then func(time.Duration)) field {
	var text string
	scalar := r.text(key, &text)
	return field{key, func(node *yaml.Node) error {
		if err := scalar.read(node); err != nil {
			return err
		}
		d, err := time.ParseDuration(text)
		if seconds, e := strconv.ParseFloat(text, 64); e == nil && seconds >= 0 && seconds < 1e9 {
			d, err = time.Duration(seconds*float64(time.Second)), nil
		}
		if err != nil || d < 0 {
			return r.errorf(node, "%s is %q; give a time like 500ms or 2s", key, text)
		}
		then(d)
		return nil
	}}
}

// suggest names the known key that was most likely meant, or all of them.
func suggest(key string, fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.key
	}
	if near, ok := spelling.Nearest(key, names); ok {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; it may have " + strings.Join(names, ", ")
}
