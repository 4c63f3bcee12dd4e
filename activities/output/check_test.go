package output_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"everstep/activities/output"
	"everstep/domain"
)

const person = `{"type":"object","additionalProperties":false,"required":["name","age"],"properties":{
	"name":{"type":"string","minLength":2,"maxLength":5,"pattern":"^[a-z]+$"},
	"age":{"type":"integer","minimum":0,"exclusiveMaximum":150},
	"tags":{"type":"array","uniqueItems":true,"maxItems":3,"items":{"enum":["a","b","c"]}},
	"home":{"anyOf":[{"type":"null"},{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}]},
	"pet":{"oneOf":[{"properties":{"kind":{"const":"cat"},"lives":{"type":"integer"}},"required":["kind","lives"]},
		{"properties":{"kind":{"const":"dog"},"barks":{"type":"boolean"}},"required":["kind","barks"]}]}}}`

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		schema, text string
		want         []string
	}{
		"fits":            {person, `{"name":"ann","age":3,"tags":["a"],"home":null,"pet":{"kind":"dog","barks":true}}`, nil},
		"fits with space": {person, "\n\t {\"name\":\"ann\",\"age\":3} \r\n", nil},
		"a whole number":  {person, `{"name":"ann","age":3.0}`, nil},
		"not an object":   {person, `[]`, []string{"at the root: must be of type object and is of type array"}},
		"lacks":           {person, `{}`, []string{`at the root: lacks "name", "age"`}},
		"all at once": {person, `{"name":"A","age":-1,"more":1}`, []string{
			"at /age: is -1 and must be at least 0", `at /more: the schema has no such property; leave it out, or give one of "age", "home", "name", "pet", "tags"`,
			"at /name: has 1 characters and must have at least 2", `at /name: is "A" and does not match the pattern "^[a-z]+$"`}},
		"a number too large": {person, `{"name":"ann","age":150}`, []string{"at /age: is 150 and must be less than 150"}},
		"no whole number":    {person, `{"name":"ann","age":1.5}`, []string{"at /age: must be of type integer and is of type number"}},
		"items": {person, `{"name":"ann","age":1,"tags":["a","x","a","b"]}`, []string{
			"at /tags: has 4 items and may have at most 3", `at /tags/1: is "x" and must be one of "a", "b", "c"`, "at /tags/2: is the same as item 0; each may be there once"}},
		"anyOf":        {person, `{"name":"ann","age":1,"home":[7]}`, []string{"at /home: is of type array and fits none of the 2 alternatives"}},
		"anyOf deeper": {person, `{"name":"ann","age":1,"home":{"city":7}}`, []string{"at /home/city: must be of type string and is of type integer (by the nearest of 2 alternatives)"}},
		"anyOf near":   {person, `{"name":"ann","age":1,"home":{}}`, []string{`at /home: lacks "city" (by the nearest of 2 alternatives)`}},
		"oneOf near":   {person, `{"name":"ann","age":1,"pet":{"kind":"dog"}}`, []string{`at /pet: lacks "barks" (by the nearest of 2 alternatives)`}},
		"oneOf both":   {`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, []string{"at the root: fits alternatives 1 and 2 and may fit only one"}},
		"not":          {`{"not":{"type":"string"}}`, `"x"`, []string{"at the root: is what the schema excludes"}},
		"false":        {`{"properties":{"a":false}}`, `{"a":1}`, []string{"at /a: the schema allows nothing here; leave it out"}},
		"const":        {`{"const":{"a":1}}`, `{"a":2}`, []string{"at the root: must be an object and is an object"}},
		"if":           {`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, []string{`at the root: lacks "b"`}},
		"else":         {`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{}`, []string{`at the root: lacks "c"`}},
		"contains":     {`{"contains":{"type":"string"},"minContains":2}`, `["a",1]`, []string{"at the root: does not fit its schema: min 2 items required to match contains schema, but matched 1 items at 0"}},
		"prefixItems":  {`{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`, `[1,"a"]`, []string{"at /0: must be of type string and is of type integer", "at /1: must be of type integer and is of type string"}},
		"names in a list": {`{"items":{"propertyNames":{"maxLength":1}}}`, `[{"a":1},{"ab":1},{"c":1},{"de":1},{}]`, []string{
			"at /1/ab: is a name that the schema does not allow", "at /3/de: is a name that the schema does not allow"}},
		"unevaluated items": {`{"prefixItems":[true],"unevaluatedItems":false}`, `[1,2,3]`, []string{
			"at /1: the schema allows nothing here; leave it out", "at /2: the schema allows nothing here; leave it out"}},
		"exact":             {`{"items":{"multipleOf":0.1}}`, `[0.3,0.35]`, []string{"at /1: is 0.35 and must be a multiple of 0.1"}},
		"dates in draft-07": {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"format":{"format":"date"}}}`, `{"format":"no date"}`, nil},
		"names":             {`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, []string{"at /ab: is a name that the schema does not allow"}},
		"multiple":          {`{"multipleOf":0.5}`, `0.7`, []string{"at the root: is 0.7 and must be a multiple of 0.5"}},
		"dependent": {`{"dependentRequired":{"a":["b"]},"dependentSchemas":{"a":{"minProperties":3}}}`, `{"a":1}`, []string{
			"at the root: does not fit its schema: properties 'b' required, if 'a' exists", "at the root: has 1 properties and must have at least 3"}},
		"patterns": {`{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":{"type":"integer"}}`, `{"x1":1,"y":"a"}`, []string{
			"at /x1: must be of type string and is of type integer", "at /y: must be of type integer and is of type string"}},
		"unevaluated": {`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, []string{"at /b: the schema allows nothing here; leave it out"}},
		"an odd key":  {`{"additionalProperties":{"type":"string"}}`, `{"a/b~\n\u202e":1}`, []string{"at /a~1b~0\uFFFD\uFFFD: must be of type string and is of type integer"}},

		"old dependencies": {`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b","c"]}}`, `{"a":1}`, []string{"at the root: does not fit its schema: properties 'b', 'c' required, if 'a' exists"}},
		"old items": {`{"$schema":"http://json-schema.org/draft-07/schema#","items":[true],"additionalItems":false}`, `[1,2,3]`, []string{
			"at the root: does not fit its schema: last 2 additionalItem(s) not allowed"}},
		"contains none": {`{"contains":{"type":"string"}}`, `[1]`, []string{"at the root: does not fit its schema: no items match contains schema"}},
		"contains many": {`{"contains":{"type":"string"},"maxContains":1}`, `["a","b"]`, []string{"at the root: does not fit its schema: max 1 items required to match contains schema, but matched 2 items at 0 1"}},
		"9 choices":     {`{"enum":[1,2,3,4,5,6,7,8,9]}`, `0`, []string{"at the root: is 0 and must be one of 1, 2, 3, 4, 5, 6, 7, 8, or 1 others"}},
		"8 choices":     {`{"enum":[1,null,true,"a",[],{},7.5,8]}`, `0`, []string{`at the root: is 0 and must be one of 1, null, true, "a", an array, an object, 7.5, 8`}},
		"bounds":        {`{"allOf":[{"maximum":1},{"exclusiveMinimum":3},{"minItems":1}]}`, `2`, []string{"at the root: is 2 and must be at most 1", "at the root: is 2 and must be more than 3"}},
		"members": {`{"maxProperties":1,"additionalProperties":{"minItems":1,"minProperties":2}}`, `{"a":[],"b":{}}`, []string{
			"at the root: has 2 properties and may have at most 1", "at /a: has 0 items and must have at least 1", "at /b: has 0 properties and must have at least 2"}},
		"empty":          {person, " \n", []string{"the answer is empty; give one JSON value"}},
		"prose":          {person, "Sorry, I cannot.", []string{"the answer is not JSON: invalid character 'S' looking for beginning of value (line 1, column 1); give exactly one JSON value and no other text"}},
		"prose before":   {person, `Here: {"name":"ann","age":3}`, []string{"the answer is not JSON: invalid character 'H' looking for beginning of value (line 1, column 1); give exactly one JSON value, with no text before or after it"}},
		"prose after":    {person, "{\"name\":\"ann\",\"age\":3}\n\nEnjoy!", []string{"the answer is not JSON: invalid character 'E' after top-level value (line 3, column 1); give exactly one JSON value, with no text before or after it"}},
		"a fence":        {person, "```json\n{\"name\":\"ann\",\"age\":3}\n```", []string{"the answer is not JSON: invalid character '`' looking for beginning of value (line 1, column 1); give the JSON value alone, without the Markdown fence (```) around it"}},
		"half a value":   {`{}`, `{"a":`, []string{"the answer is not JSON: unexpected end of JSON input (line 1, column 5); give exactly one JSON value, with no text before or after it"}},
		"two values":     {`{}`, `{} {}`, []string{"the answer is not JSON: invalid character '{' after top-level value (line 1, column 4); give exactly one JSON value, with no text before or after it"}},
		"NaN":            {`{}`, `NaN`, []string{"the answer is not JSON: invalid character 'N' looking for beginning of value (line 1, column 1); give exactly one JSON value and no other text"}},
		"a key twice":    {`{}`, `{"a":[{"b":1,"b":2}]}`, []string{"the answer at /a/0/b: the key is there twice"}},
		"no UTF-8":       {`{}`, "\"\xff\"", []string{"the answer is not valid UTF-8"}},
		"beyond numbers": {`{}`, `[1e999]`, []string{"the answer at /0: has a number that is too large"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, strings.Join(test.want, "\n"), compiled(t, test.schema).Check(test.text))
		})
	}
}

func TestCheckJSONObject(t *testing.T) {
	t.Parallel()
	checker, err := output.Compile(domain.ResponseFormat{Type: domain.FormatJSON})
	require.NoError(t, err)
	require.Empty(t, checker.Check(` {"a":[1]} `))
	require.Equal(t, "the answer must be a JSON object and is of type array", checker.Check(`[]`))
	require.Contains(t, checker.Check("{"), "is not JSON")
	checker, err = output.Compile(domain.ResponseFormat{})
	require.NoError(t, err)
	require.Empty(t, checker.Check("anything"))
}

// TestProblemsAreBounded: what is said of an answer has at most 10 lines and
// 2 KB, whatever the answer is.
func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é\u202e", 50_000)
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf(`"%s%d":"%s"`, strings.Repeat("k", i), i, "v"))
	}
	all := "{" + strings.Join(many, ",") + "}"
	for _, test := range [][2]string{
		{`{"additionalProperties":{"type":"integer"}}`, all},
		{`{"additionalProperties":false}`, all},
		{`{"type":"array","items":{"const":"` + long[:50_000] + `"}}`, `["` + long + `","` + long + `"]`},
		{`{"additionalProperties":{"additionalProperties":false}}`, `{"` + long + `":{"` + long + `":1}}`},
		{`{"pattern":"^x$"}`, `"` + long + `"`},
		{`{"required":["` + strings.Repeat("x", 9000) + `"]}`, `{}`},
		{`{"anyOf":[{"additionalProperties":{"type":"integer"}},{"minProperties":2000}]}`, all},
		{`{}`, long},
		{`{}`, `{"` + long + `":1,"` + long + `":1}`},
	} {
		problems := compiled(t, test[0]).Check(test[1])
		require.NotEmpty(t, problems)
		require.LessOrEqual(t, len(problems), 2<<10)
		require.LessOrEqual(t, strings.Count(problems, "\n"), 9)
		require.True(t, utf8.ValidString(problems))
		require.NotContains(t, problems, "\u202e")
		problems = output.Truncated(problems)
		require.LessOrEqual(t, len(problems), 2<<10)
		require.LessOrEqual(t, strings.Count(problems, "\n"), 9)
	}
	problems := compiled(t, `{"additionalProperties":false}`).Check(all)
	require.True(t, strings.HasSuffix(problems, "\nand 991 more"), problems)
}

// long is a schema that leads to the items of a list by n references.
func long(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"$ref":"#/$defs/a%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"a%d":{"items":{"$ref":"#"}}}}`, n)
	return b.String()
}

// TestBombs: answers made to cost much are refused or checked soon. Without its
// bounds each of these would take minutes or much memory.
func TestBombs(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	const tooMuch = "the answer is too large or too deep to be checked against its schema; give a smaller one"
	for name, test := range map[string]struct{ schema, text, want string }{
		"512 levels":        {`{"items":{"$ref":"#"}}`, deep(512), ""},
		"513 levels":        {`{}`, deep(513), "is nested deeper than 512 levels"},
		"a million levels":  {`{}`, deep(500_000), "exceeded max depth"},
		"twice a level":     {`{"allOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`, deep(200), tooMuch},
		"either at a level": {`{"anyOf":[{"type":"string"},{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`, deep(200), tooMuch},
		"printed at each":   {`{"anyOf":[{"type":"null"},{"additionalProperties":{"$ref":"#"}}]}`, strings.Repeat(`{"a":`, 500) + `"` + strings.Repeat("x", 900_000) + `"` + strings.Repeat("}", 500), ""},
		"a slow pattern":    {`{"items":{"pattern":"(x{1,30}){1,30}y"}}`, `["` + strings.Repeat("x", 900_000) + `"]`, tooMuch},
		"many names":        {`{"patternProperties":{"(a{1,30}){1,30}b":{}}}`, `{"` + strings.Repeat("a", 900_000) + `":1}`, tooMuch},
		"many lists":        {`{"uniqueItems":true}`, `[` + strings.Repeat(`[],`, 300_000) + `[]]`, tooMuch},
		"many numbers":      {`{"items":{"type":"integer"}}`, `[` + strings.Repeat("1,", 100_000) + `1]`, ""},
		"a long text":       {`{"maxLength":5}`, `"` + strings.Repeat("x", 900_000) + `"`, "has 900000 characters and may have at most 5"},
		"a large enum":      {`{"items":{"enum":[` + strings.Repeat("1,", 30_000) + `1]}}`, `[` + strings.Repeat("2,", 100_000) + `2]`, tooMuch},
		"a long way":        {long(1500), deep(512), tooMuch},
		"a deep tree":       {`{"anyOf":[{"type":"null"},{"type":"object","additionalProperties":{"$ref":"#"}}]}`, strings.Repeat(`{"a":`, 300) + "null" + strings.Repeat("}", 300), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := compiled(t, test.schema).Check(test.text)
			if test.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, test.want)
		})
	}
}

// TestJSONTestSuite: what must not parse is no answer, what must is one, but for
// what is refused on purpose.
func TestJSONTestSuite(t *testing.T) {
	t.Parallel()
	data := os.Getenv("EVERSTEP_DATA")
	if data == "" {
		t.Skip("EVERSTEP_DATA is not set: answers are not checked against JSONTestSuite")
	}
	stricter := map[string]string{
		"y_object_duplicated_key.json":           "the key is there twice",
		"y_object_duplicated_key_and_value.json": "the key is there twice",
	}
	files, err := filepath.Glob(filepath.Join(data, "hostile", "JSONTestSuite", "test_parsing", "*.json"))
	require.NoError(t, err)
	require.Greater(t, len(files), 300)
	checker := compiled(t, `true`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		name, problems := filepath.Base(file), checker.Check(string(text))
		require.LessOrEqual(t, len(problems), 2<<10, name)
		switch {
		case stricter[name] != "":
			require.Contains(t, problems, stricter[name], name)
		case strings.HasPrefix(name, "y_"):
			require.Empty(t, problems, name)
		case strings.HasPrefix(name, "n_"):
			require.NotEmpty(t, problems, name)
		}
		_, err = output.Compile(formatOf(string(text)))
		if strings.HasPrefix(name, "n_") {
			require.Error(t, err, name)
		}
	}
}

// TestNameOf: whatever a schema or a type is called, providers take the name.
func TestNameOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"report-2_a": "report-2_a", "A city, big": "A_city__big", "": "answer", "…": "answer", strings.Repeat("é", 70) + "x": "answer",
		strings.Repeat("x", 65): strings.Repeat("x", 64), strings.Repeat("x", 63) + "é": strings.Repeat("x", 63),
	} {
		require.Equal(t, want, output.NameOf(text))
	}
}
