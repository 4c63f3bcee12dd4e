package output

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"everstep/domain"
)

// maxKey bounds the name of a property in a schema.
const maxKey = 200

// An inspection goes through a schema as it was written, and says what is wrong
// with it at which place. The library would accept most mistakes as words that
// it does not know.
type inspection struct {
	draft      draft
	properties int
	// schemas are the pointers of all schemas, anchors their names.
	schemas    map[string]bool
	anchors    map[string]bool
	references []refer
}

// A refer is a $ref that is still to be looked up.
type refer struct {
	at     *place
	target string
}

// inspect returns the first mistake in a schema.
func inspect(root *value) error {
	n := &inspection{draft: draft2020, schemas: map[string]bool{}, anchors: map[string]bool{}}
	if d, ok := root.fields["$schema"]; ok {
		var err error
		if n.draft, err = dialectOf(d); err != nil {
			return err
		}
	}
	if err := n.schema(root, nil, 0); err != nil {
		return err
	}
	for _, r := range n.references {
		if err := n.found(r); err != nil {
			return err
		}
	}
	return nil
}

// dialectOf reads $schema, which is never fetched.
func dialectOf(v *value) (draft, error) {
	switch v.plain {
	case "https://json-schema.org/draft/2020-12/schema":
		return draft2020, nil
	case "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#":
		return draft07, nil
	}
	return 0, fmt.Errorf("at /$schema: is %s; leave it out, or give https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema#; schemas are never fetched", brief(v.plain))
}

func (n *inspection) schema(v *value, at *place, level int) error {
	n.schemas[at.pointer()] = true
	if level > MaxNesting {
		return mistake(at, "schemas are nested deeper than %d levels; make it flatter, or refer to parts under $defs", MaxNesting)
	}
	if _, ok := v.plain.(bool); ok {
		return nil
	}
	if v.fields == nil {
		return mistake(at, "is %s; a schema is an object, true or false", article(v))
	}
	if v.fields["$defs"] != nil && v.fields["definitions"] != nil {
		return mistake(at, "has $defs and definitions; keep one")
	}
	for _, word := range v.keys {
		if err := n.keyword(word, v.fields[word], at.key(word), level); err != nil {
			return err
		}
	}
	return nil
}

func (n *inspection) keyword(word string, v *value, at *place, level int) error {
	k := lookup(word)
	switch {
	case k.shape == unknown:
		if near, ok := nearest(word); ok {
			return mistake(at, "there is no such keyword; did you mean %q?", near)
		}
		return mistake(at, "there is no such keyword; check its spelling, or begin it with x- if it is for people only")
	case k.shape == unused, k.drafts&n.draft == 0:
		return mistake(at, "is not taken; %s", k.fix)
	case word == "properties":
		if n.properties += len(v.keys); n.properties > MaxProperties {
			return mistake(at, "the schema has more than %d properties; make it smaller", MaxProperties)
		}
	}
	if wanted := k.shape.wanted(v); wanted != "" {
		return mistake(at, "is %s; give %s", article(v), wanted)
	}
	return n.inside(k.shape, v, at, level)
}

// inside goes into the schemas that a keyword holds, and checks what its shape
// cannot say.
func (n *inspection) inside(s shape, v *value, at *place, level int) error {
	switch s {
	case oneSchema:
		return n.schema(v, at, level+1)
	case schemaOrList:
		if v.list == nil && v.kind() != "array" {
			return n.schema(v, at, level+1)
		}
		if n.draft != draft07 {
			return mistake(at, "is a list; write prefixItems, or give $schema as draft-07")
		}
		return n.list(v, at, level)
	case schemaList:
		return n.list(v, at, level)
	case schemaMap, patterns, dependencies, textsMap:
		return n.members(s, v, at, level)
	case pattern:
		return compiles(at, v.plain.(string))
	case name:
		return n.anchor(v.plain.(string), at)
	case reference:
		n.references = append(n.references, refer{at, v.plain.(string)})
	case dialect:
		if at.above != nil {
			return mistake(at, "is only taken at the root; leave it out")
		}
	case unknown, unused, text, count, aNumber, positive, truth, texts, typeNames, anyList, anything:
	}
	return nil
}

func (n *inspection) anchor(name string, at *place) error {
	switch {
	case name == "" || strings.ContainsAny(name, "#/% "):
		return mistake(at, "is %s; give a name of letters, digits, - and _", quoted(name))
	case n.anchors[name]:
		return mistake(at, "%s is there twice; rename one", quoted(name))
	}
	n.anchors[name] = true
	return nil
}

func (n *inspection) list(v *value, at *place, level int) error {
	for i, item := range v.list {
		if err := n.schema(item, at.item(i), level+1); err != nil {
			return err
		}
	}
	return nil
}

func (n *inspection) members(s shape, v *value, at *place, level int) error {
	for _, key := range v.keys {
		member := v.fields[key]
		if len(key) > maxKey {
			return mistake(at.key(key), "the name has %d bytes, more than %d; shorten it", len(key), maxKey)
		}
		if s == patterns {
			if err := compiles(at.key(key), key); err != nil {
				return err
			}
		}
		if s == textsMap || s == dependencies && member.kind() == "array" {
			if wanted := texts.wanted(member); wanted != "" {
				return mistake(at.key(key), "is %s; give %s", article(member), wanted)
			}
			continue
		}
		if err := n.schema(member, at.key(key), level+1); err != nil {
			return err
		}
	}
	return nil
}

// found says whether a reference leads to a schema in this one. Nothing else is
// ever looked for.
func (n *inspection) found(r refer) error {
	fragment, local := strings.CutPrefix(r.target, "#")
	if !local {
		return mistake(r.at, "refers to %s, outside of the schema; schemas are never fetched: copy it to $defs and write #/$defs/NAME", quoted(r.target))
	}
	pointer, err := url.PathUnescape(fragment)
	if err == nil && (n.schemas[pointer] || n.anchors[pointer]) {
		return nil
	}
	return mistake(r.at, "refers to %s, and there is no schema; write #/$defs/NAME with a name that $defs has", quoted(r.target))
}

func compiles(at *place, expression string) error {
	if _, err := regexp.Compile(expression); err != nil {
		return mistake(at, "is no regular expression that can be used: %s; it is read as Go and RE2 do, without look-around and back-references", shown(err.Error()))
	}
	return nil
}

func mistake(at *place, format string, args ...any) error {
	return fmt.Errorf("at %s: %s", at, domain.Shorten(fmt.Sprintf(format, args...), 2*maxLine))
}
