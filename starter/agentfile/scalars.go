package agentfile

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// scalarText returns the text of a node that is one and not blank.
func (r *reader) scalarText(field string, node *yaml.Node) (string, bool) {
	switch {
	case node.Kind != yaml.ScalarNode:
		r.problem(node, field, "is %s, not a text", describe(node))
	case node.ShortTag() != tagText:
		r.problem(node, field, "is %s, not a text; put it in quotes", describe(node))
	case strings.TrimSpace(node.Value) == "":
		r.problem(node, field, "is empty; give it a value or leave the key out")
	default:
		return node.Value, true
	}
	return "", false
}

// text reads a text. A check returns what is wrong with it.
func (r *reader) text(name string, into *string, checks ...func(string) string) key {
	return key{name, func(field string, node *yaml.Node) {
		text, ok := r.scalarText(field, node)
		if !ok {
			return
		}
		for _, check := range checks {
			if wrong := check(text); wrong != "" {
				r.problem(node, field, "%s", wrong)
				return
			}
		}
		*into = text
	}}
}

// word reads one of a few words.
func word[E ~string](r *reader, field string, node *yaml.Node, among []E) (E, bool) {
	text, ok := r.scalarText(field, node)
	if !ok {
		return "", false
	}
	if !slices.Contains(among, E(text)) {
		names := make([]string, len(among))
		for i, e := range among {
			names[i] = string(e)
		}
		r.problem(node, field, "%q is not known; %s", shorten(text), suggest(text, names))
		return "", false
	}
	return E(text), true
}

// wordOff turns something off.
const wordOff = "off"

// off reports whether a value is the word off, which some editors take for false.
func off(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && (node.Value == wordOff && node.ShortTag() == tagText || node.Value == "false" && node.ShortTag() == tagBool)
}

// numeral returns the text of a node that is a number.
func (r *reader) numeral(field string, node *yaml.Node, what string) (string, bool) {
	switch {
	case node.Kind != yaml.ScalarNode:
		r.problem(node, field, "is %s, not %s", describe(node), what)
		return "", false
	case node.ShortTag() != tagInt && node.ShortTag() != tagFloat:
		hint := ""
		if _, err := strconv.ParseFloat(node.Value, 64); err == nil {
			hint = "; leave the quotes out"
		}
		r.problem(node, field, "%q is %s, not %s%s", shorten(node.Value), describe(node), what, hint)
		return "", false
	}
	return node.Value, true
}

// count reads a whole number in a range.
func (r *reader) count(name string, least, most int64, then func(int64)) key {
	return key{name, func(field string, node *yaml.Node) {
		text, ok := r.numeral(field, node, "a whole number")
		if !ok {
			return
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least || n > most {
			bound := "on"
			if most < math.MaxInt64 || errors.Is(err, strconv.ErrRange) {
				bound = fmt.Sprintf("to %d", most)
			}
			r.problem(node, field, "is %s; give a whole number from %d %s, in digits alone", shorten(text), least, bound)
			return
		}
		then(n)
	}}
}

// number reads a number in a range.
func (r *reader) number(name string, most float64, then func(float64)) key {
	return key{name, func(field string, node *yaml.Node) {
		text, ok := r.numeral(field, node, "a number")
		if !ok {
			return
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || n < 0 || n > most {
			r.problem(node, field, "is %s; give a number from 0 to %s", shorten(text), strconv.FormatFloat(most, 'f', -1, 64))
			return
		}
		then(n)
	}}
}

// truth reads true or false.
func (r *reader) truth(name string, into *bool) key {
	return key{name, func(field string, node *yaml.Node) {
		if node.Kind != yaml.ScalarNode || node.ShortTag() != tagBool {
			r.problem(node, field, "is %s; give true or false", describe(node))
			return
		}
		*into = strings.EqualFold(node.Value, "true")
	}}
}

// duration reads a time such as 30s that is not zero.
func (r *reader) duration(name string, into *time.Duration) key {
	return key{name, func(field string, node *yaml.Node) {
		const fix = "give a duration with its unit, such as 30s or 5m"
		if node.Kind != yaml.ScalarNode {
			r.problem(node, field, "is %s; %s", describe(node), fix)
			return
		}
		d, err := time.ParseDuration(node.Value)
		if err != nil || d <= 0 {
			r.problem(node, field, "is %q; %s", shorten(node.Value), fix)
			return
		}
		*into = d
	}}
}

// deadline reads a time of the form of RFC 3339.
func (r *reader) deadline(name string, then func(time.Time)) key {
	return key{name, func(field string, node *yaml.Node) {
		if node.Kind != yaml.ScalarNode {
			r.problem(node, field, "is %s; give a time such as 2030-01-31T12:00:00Z", describe(node))
			return
		}
		t, err := time.Parse(time.RFC3339, node.Value)
		if err != nil {
			r.problem(node, field, "is %q; give a time with its zone, such as 2030-01-31T12:00:00Z", shorten(node.Value))
			return
		}
		then(t.UTC())
	}}
}
