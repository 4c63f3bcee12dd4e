package output

import (
	"math"
	"slices"
)

// wanted says what a value must be instead, or nothing where it is good.
func (s shape) wanted(v *value) string {
	switch s {
	case schemaMap, patterns, dependencies, textsMap:
		return unless(v.fields != nil, "an object with a schema for each name")
	case schemaList:
		return unless(len(v.list) > 0, "a list of at least one schema")
	case anyList:
		return unless(v.kind() == "array", "a list")
	case texts:
		return unless(distinctTexts(v), "a list of names, each once")
	case typeNames:
		return unless(v.kind() == "string" && isType(v) || len(v.list) > 0 && distinctTexts(v) && !slices.ContainsFunc(v.list, func(t *value) bool { return !isType(t) }),
			"one of null, boolean, object, array, number, string, integer, or a list of them")
	case count:
		f, ok := v.plain.(float64)
		return unless(ok && f >= 0 && whole(f) && f <= math.MaxInt32, "a whole number that is not negative")
	case aNumber:
		return unless(v.kind() == "number" || v.kind() == "integer", "a number")
	case positive:
		f, ok := v.plain.(float64)
		return unless(ok && f > 0, "a number above zero")
	case truth:
		return unless(v.kind() == "boolean", "true or false")
	case text, pattern, name, reference, dialect:
		return unless(v.kind() == "string", "a text")
	case unknown, unused, oneSchema, schemaOrList, anything:
	}
	return ""
}

func unless(good bool, wanted string) string {
	if good {
		return ""
	}
	return wanted
}

func isType(v *value) bool {
	name, ok := v.plain.(string)
	return ok && slices.Contains([]string{"null", "boolean", "object", "array", "number", "string", "integer"}, name)
}

func distinctTexts(v *value) bool {
	seen := map[any]bool{}
	for _, item := range v.list {
		if item.kind() != "string" || seen[item.plain] {
			return false
		}
		seen[item.plain] = true
	}
	return v.kind() == "array"
}

// article is a value in words.
func article(v *value) string {
	switch kind := v.kind(); kind {
	case "array":
		if len(v.list) == 0 {
			return "an empty list"
		}
		return "a list"
	case "object":
		return "an object"
	default:
		return brief(v.plain)
	}
}
