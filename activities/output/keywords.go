package output

import (
	"strings"

	"everstep/domain/spelling"
)

// A shape is what the value of a keyword must be.
type shape int

const (
	// unknown is of a word that is no keyword.
	unknown shape = iota
	// unused keywords are known and not taken; keyword.fix says what to do.
	unused
	oneSchema
	schemaList
	schemaMap
	// schemaOrList is a schema, or in draft-07 a list of them.
	schemaOrList
	// dependencies map a property to a schema or to names.
	dependencies
	patterns
	pattern
	text
	name
	count
	aNumber
	positive
	truth
	texts
	textsMap
	typeNames
	anyList
	anything
	reference
	dialect
)

// A draft is a set of drafts of JSON Schema.
type draft int

const (
	draft07 draft = 1 << iota
	draft2020
	bothDrafts = draft07 | draft2020
)

// A keyword is what is known of a word in a schema.
type keyword struct {
	shape  shape
	drafts draft
	// fix is what to write instead, where the keyword is not taken.
	fix string
}

// lookup finds a keyword. Words for people and for other tools are anything.
func lookup(word string) keyword {
	for _, group := range vocabulary() {
		for _, w := range strings.Fields(group.words) {
			if w == word {
				return group.keyword
			}
		}
	}
	if strings.HasPrefix(word, "x-") {
		return keyword{shape: anything, drafts: bothDrafts}
	}
	return keyword{shape: unknown}
}

// nearest finds the keyword that was most likely meant.
func nearest(word string) (string, bool) {
	lower := map[string]string{}
	var names []string
	for _, group := range vocabulary() {
		for _, w := range strings.Fields(group.words) {
			low := strings.ToLower(w)
			lower[low] = w
			names = append(names, low)
		}
	}
	near, ok := spelling.Nearest(word, names)
	return lower[near], ok
}

type group struct {
	words string
	keyword
}

func vocabulary() []group {
	const useRef = "give the schema a place under $defs and refer to it with $ref"
	return []group{
		{"type", keyword{typeNames, bothDrafts, ""}},
		{"properties", keyword{schemaMap, bothDrafts, ""}},
		{"required", keyword{texts, bothDrafts, ""}},
		{"additionalProperties propertyNames contains not if then else", keyword{oneSchema, bothDrafts, ""}},
		{"items", keyword{schemaOrList, bothDrafts, ""}},
		{"allOf anyOf oneOf", keyword{schemaList, bothDrafts, ""}},
		{"$defs definitions", keyword{schemaMap, bothDrafts, ""}},
		{"$ref", keyword{reference, bothDrafts, ""}},
		{"$schema", keyword{dialect, bothDrafts, ""}},
		{"enum", keyword{anyList, bothDrafts, ""}},
		{"const", keyword{anything, bothDrafts, ""}},
		{"minimum maximum exclusiveMinimum exclusiveMaximum", keyword{aNumber, bothDrafts, ""}},
		{"multipleOf", keyword{positive, bothDrafts, ""}},
		{"minLength maxLength minItems maxItems minProperties maxProperties", keyword{count, bothDrafts, ""}},
		{"pattern", keyword{pattern, bothDrafts, ""}},
		{"patternProperties", keyword{patterns, bothDrafts, ""}},
		{"uniqueItems readOnly writeOnly", keyword{truth, bothDrafts, ""}},
		{"title description $comment format contentEncoding contentMediaType", keyword{text, bothDrafts, ""}},
		{"examples", keyword{anyList, bothDrafts, ""}},
		{"default example discriminator externalDocs markdownDescription enumNames enumDescriptions propertyOrdering", keyword{anything, bothDrafts, ""}},

		{"prefixItems", keyword{schemaList, draft2020, "in draft-07 write items"}},
		{"unevaluatedItems unevaluatedProperties", keyword{oneSchema, draft2020, "draft-07 does not have it: leave out $schema"}},
		{"contentSchema", keyword{oneSchema, draft2020, "draft-07 does not have it: leave it out"}},
		{"minContains maxContains", keyword{count, draft2020, "draft-07 does not have it: leave out $schema"}},
		{"dependentRequired", keyword{textsMap, draft2020, "in draft-07 write dependencies"}},
		{"dependentSchemas", keyword{schemaMap, draft2020, "in draft-07 write dependencies"}},
		{"deprecated", keyword{truth, bothDrafts, ""}},
		{"$anchor", keyword{name, draft2020, "draft-07 does not have it: refer with #/definitions/NAME"}},

		{"dependencies", keyword{dependencies, draft07, "write dependentRequired or dependentSchemas"}},
		{"additionalItems", keyword{oneSchema, draft07, "write prefixItems for the first items and items for the others"}},

		{"$id", keyword{unused, bothDrafts, "leave it out; refer inside the schema with #/$defs/NAME"}},
		{"$dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor", keyword{unused, bothDrafts, useRef}},
		{"$vocabulary id", keyword{unused, bothDrafts, "leave it out"}},
		{"nullable", keyword{unused, bothDrafts, `write "type": ["…", "null"]`}},
	}
}
