package output

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func schemaOf(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := compileSchema([]byte(text), false)
	require.NoError(t, err, text)
	return s
}

// TestCost: what a check is reckoned to cost grows with each thing that the
// library may look at.
func TestCost(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, test := range map[string]struct {
		schema, text string
		want         int
	}{
		"nothing":                {`{}`, `1`, 1},
		"a text":                 {`{}`, `"` + strings.Repeat("x", 3<<10) + `"`, 4},
		"an enum":                {`{"enum":[1,2,3]}`, `1`, 4},
		"beside":                 {`{"allOf":[{},{"not":{}}],"if":{},"then":{},"else":{}}`, `1`, 7},
		"dependents":             {`{"dependentSchemas":{"a":{},"b":{}}}`, `1`, 3},
		"a reference":            {`{"$ref":"#/$defs/a","$defs":{"a":{}}}`, `1`, 2},
		"16 open":                {`{"items":{"$ref":"#"}}`, deep(9), 18},
		"17 open":                {`{"items":{"$ref":"#"}}`, deep(10), 22},
		"16 members open":        {`{"additionalProperties":{"$ref":"#"}}`, strings.Repeat(`{"a":`, 8) + `{}` + strings.Repeat("}", 8), 33},
		"17 members open":        {`{"additionalProperties":{"$ref":"#"}}`, strings.Repeat(`{"a":`, 9) + `{}` + strings.Repeat("}", 9), 39},
		"a pattern of names":     {`{"patternProperties":{"a":{}}}`, `{"a":1}`, 4},
		"a pattern":              {`{"pattern":"^(x{1,30})$"}`, `"` + strings.Repeat("x", 63) + `"`, 67},
		"a list":                 {`{}`, `[` + strings.Repeat("1,", 15) + `1]`, 3},
		"items":                  {`{"items":{}}`, `[1,2,3]`, 4},
		"first items and others": {`{"prefixItems":[{"enum":[1,2]}],"items":{"enum":[1,2,3,4]}}`, `[1,2,3]`, 14},
		"first items alone":      {`{"prefixItems":[{}]}`, `[1,2,3]`, 2},
		"contains":               {`{"prefixItems":[{}],"contains":{}}`, `[1,2]`, 4},
		"unevaluated items":      {`{"unevaluatedItems":{}}`, `[1,2]`, 3},
		"unlike items":           {`{"uniqueItems":true}`, `[` + strings.Repeat("1,", 15) + `1]`, 19},
		"unlike lists":           {`{"uniqueItems":true}`, `[` + strings.Repeat("[],", 15) + `{}]`, 27},
		"members":                {`{}`, `{"a":1,"b":2}`, 3},
		"properties":             {`{"properties":{"a":{"enum":[1,2]}},"additionalProperties":{}}`, `{"a":1,"b":2}`, 7},
		"patterns of names":      {`{"patternProperties":{"a":{}},"additionalProperties":{"enum":[1]}}`, `{"a":1,"b":2}`, 8},
		"unevaluated properties": {`{"properties":{"a":{}},"unevaluatedProperties":{}}`, `{"a":1,"b":2}`, 6},
		"names":                  {`{"propertyNames":{"enum":["a","b"]}}`, `{"a":1}`, 5},
		"both items of draft-07": {`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}],"additionalItems":{"enum":[1]},"dependencies":{"a":{},"b":["c"]}}`, `[1,2]`, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := schemaOf(t, test.schema)
			v, err := parse([]byte(test.text), maxDepth)
			require.NoError(t, err)
			b := &bill{Schema: s, work: maxWork}
			b.visit(s.root, v, 0)
			require.Equal(t, test.want, maxWork-b.work)
			require.True(t, s.affordable(v))
			b.work = test.want
			b.visit(s.root, v, 0)
			require.Zero(t, b.work)
			b.work = test.want - 1
			b.visit(s.root, v, 0)
			require.Negative(t, b.work, "the last of it counts too")
		})
	}
}

// TestAffordableToTheLast: a check may cost all that there is, and no more.
func TestAffordableToTheLast(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, `{}`)
	text := strings.Repeat("x", 1024)
	b := &bill{Schema: s, work: 2}
	b.visit(s.root, text, 0)
	require.Zero(t, b.work)
	b.visit(s.root, nil, maxStack+1)
	require.Negative(t, b.work)
	b = &bill{Schema: s, work: maxWork}
	b.visit(s.root, nil, maxStack)
	require.Positive(t, b.work)

	s = schemaOf(t, `{"items":{}}`)
	list := make([]any, 1_777_778) // the list is 1, an item 1, and 8 items 1
	require.True(t, s.affordable(list[:1_777_777]))
	require.False(t, s.affordable(list))
}

// TestWhatIsShownIsBounded: a text from elsewhere is shown whole up to a length.
func TestWhatIsShownIsBounded(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	require.Equal(t, `"`+x(60)+`"`, quoted(x(60)))
	require.Equal(t, `"`+x(60)+`…"`, quoted(x(61)))
	require.Equal(t, x(120), shown(x(120)))
	require.Equal(t, x(120)+"…", shown(x(121)))
	require.Equal(t, x(200)+"\n"+x(197)+"…", lines([]string{x(200), x(201)}))
	all := strings.Split("abcdefghijk", "")
	require.Equal(t, "a\nb\nc\nd\ne\nf\ng\nh\ni\nj", lines(all[:10]))
	require.Equal(t, "a\nb\nc\nd\ne\nf\ng\nh\ni\nand 2 more", lines(all))
	require.Equal(t, "k", all[10], "what is given stays as it is")
}

func nested(begin string, times int, end string) string {
	return strings.Repeat(begin, times) + "{}" + strings.Repeat(end, times)
}

// unfolding is a schema of which one value has to be checked against n.
func unfolding(n int) string {
	hundred := `{"$ref":"#/$defs/a"},`
	return `{"allOf":[` + strings.Repeat(hundred, (n-2)/101) + strings.Repeat(`{},`, (n-2)%101) + `{}],"$defs":{"a":{"allOf":[` + strings.Repeat("{},", 98) + `{}]}}}`
}

// TestBoundsOfSchemas: what is just allowed is taken, what is one more is not.
func TestBoundsOfSchemas(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, test := range map[string][2]string{
		"a name":       {`{"properties":{"` + x(200) + `":{}}}`, `{"properties":{"` + x(201) + `":{}}}`},
		"a count":      {`{"maxItems":2147483647}`, `{"maxItems":2147483648}`},
		"all":          {`{"title":"` + x(MaxSchema-12) + `"}`, `{"title":"` + x(MaxSchema-11) + `"}`},
		"levels":       {`{"const":` + strings.Repeat("[", 95) + strings.Repeat("]", 95) + `}`, `{"const":` + strings.Repeat("[", 96) + strings.Repeat("]", 96) + `}`},
		"nested lists": {nested(`{"allOf":[`, MaxNesting, `]}`), nested(`{"allOf":[`, MaxNesting+1, `]}`)},
		"nested names": {nested(`{"properties":{"a":`, MaxNesting, `}}`), nested(`{"properties":{"a":`, MaxNesting+1, `}}`)},
		"unfolded":     {unfolding(20_000), unfolding(20_001)},
		"all schemas":  {`{"allOf":[` + strings.Repeat("{},", 9997) + `{}]}`, `{"allOf":[` + strings.Repeat("{},", 9998) + `{}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schemaOf(t, test[0])
			_, err := compileSchema([]byte(test[1]), false)
			require.Error(t, err)
		})
	}
	for length, kind := range map[int]domain.Kind{MaxSchema - 12: domain.Invalid, MaxSchema - 11: domain.TooLarge} {
		_, err := Compile(domain.ResponseFormat{Type: domain.FormatSchema, Schema: json.RawMessage(`{"titel":"` + x(length) + `"}`)})
		require.Equal(t, kind, domain.AsError(err).Kind)
	}
	for name, good := range map[string]bool{"": true, "a-Z_9": true, x(64): true, x(65): false, "a b": false, "é": false} {
		_, err := Compile(domain.ResponseFormat{Type: domain.FormatJSON, Name: name})
		require.Equal(t, good, err == nil, name)
	}
}

// TestToolAmongMany: the tool of an answer has a name of its own, of 64
// characters at most.
func TestToolAmongMany(t *testing.T) {
	t.Parallel()
	base := strings.Repeat("x", 64)
	tools := []domain.ToolSpec{{Name: base}}
	for _, suffix := range strings.Split("2 3 4 5 6 7 8 9", " ") {
		tools = append(tools, domain.ToolSpec{Name: base[:62] + "_" + suffix})
	}
	tool := Tool(domain.ResponseFormat{Type: domain.FormatJSON, Name: base}, tools)
	require.Equal(t, base[:61]+"_10", tool.Name)
}

// TestNearest: of several alternatives the one is told of that a value is
// nearest to.
func TestNearest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ schema, text, want string }{
		"by what tells them apart": {`{"anyOf":[{"properties":{"k":{"const":"a"},"x":{"type":"string"}}},{"properties":{"k":{"const":"b"},"x":{"type":"string"},"y":{"type":"string"}}}]}`,
			`{"k":"b","x":1,"y":2}`, "at /x: must be of type string and is of type integer (by the nearest of 2 alternatives)\nat /y: must be of type string and is of type integer (by the nearest of 2 alternatives)"},
		"by how much it lacks": {`{"anyOf":[{"required":["a","b","c"]},{"required":["d","e"]}]}`, `{}`, `at the root: lacks "d", "e" (by the nearest of 2 alternatives)`},
		"by how much is too much": {`{"anyOf":[{"additionalProperties":false},{"required":["x"]}]}`, `{"a":1,"b":2}`,
			`at the root: lacks "x" (by the nearest of 2 alternatives)`},
		"the first of equals": {`{"anyOf":[{"minimum":3},{"minimum":2}]}`, `1`, "at the root: is 1 and must be at least 3 (by the nearest of 2 alternatives)"},
		"a part of the wrong type": {`{"anyOf":[{"properties":{"a":{"type":"string"}}},{"required":["b","c","d"]}]}`, `{"a":1}`,
			"at /a: must be of type string and is of type integer (by the nearest of 2 alternatives)"},
		"one alternative alone": {`{"anyOf":[{"type":"string"}]}`, `1`, "at the root: must be of type string and is of type integer"},
		"within another": {`{"anyOf":[{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}},{"required":["b","c","d"]}]}`, `{"a":1}`,
			"at /a: is of type integer and fits none of the 2 alternatives (by the nearest of 2 alternatives)"},
		"told once": {`{"anyOf":[{"properties":{"a":{"anyOf":[{"minimum":5},{"minimum":9}]}}},{"required":["b","c","d"]}]}`, `{"a":1}`,
			"at /a: is 1 and must be at least 5 (by the nearest of 2 alternatives)"},
		"a part rather than the whole": {`{"anyOf":[{"anyOf":[{"type":"string"},{"type":"null"}]},{"properties":{"a":{"type":"string"}}}]}`, `{"a":1}`,
			"at /a: must be of type string and is of type integer (by the nearest of 2 alternatives)"},
		"names and repetitions": {`{"anyOf":[{"propertyNames":{"maxLength":1},"minProperties":2},{"properties":{"aa":{"uniqueItems":true}}}]}`, `{"aa":[1,1]}`,
			"at /aa/1: is the same as item 0; each may be there once (by the nearest of 2 alternatives)"},
		"items in the order of their numbers": {`{"items":{"type":"string"}}`, `["","",1,"","","","","","","",2]`,
			"at /2: must be of type string and is of type integer\nat /10: must be of type string and is of type integer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, schemaOf(t, test.schema).Problems("it", test.text))
		})
	}
}
