package document_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/document"
)

// strictness of a row.
const (
	strict = false
	loose  = true
)

// TestProblems: whatever is wrong with a file is said with its place, and what
// to do about it.
func TestProblems(t *testing.T) {
	t.Parallel()
	const (
		aliases = "anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes"
		keys    = "there are title, course, serves, stars, vegan, rests, until, price, extra, tags, steps, sauce, covered, seeds, note"
		quote   = "put a text that has a colon or begins with a special character into quotes"
		closes  = "close what it opens, indent its lines alike, or put a text into quotes"
	)
	for name, test := range map[string]struct {
		loose bool
		text  string
		want  []string
	}{
		"UTF-16":                       {strict, "\xff\xfet\x00", []string{"is in UTF-16; save it as UTF-8"}},
		"UTF-16, big end first":        {strict, "\xfe\xff\x00t", []string{"is in UTF-16; save it as UTF-8"}},
		"no UTF-8":                     {strict, "title: x\n# \xff\n", []string{"2:1: is not valid UTF-8; save the file as UTF-8"}},
		"blank":                        {strict, " \n", []string{"is empty; give it a title"}},
		"nothing but a remark":         {strict, "# nothing\n", []string{"1:1: has no keys; give it a title"}},
		"a document of nothing":        {strict, "---\n", []string{"1:1: has no keys; give it a title"}},
		"an alias for nothing":         {strict, "&a\n", []string{"1:1: " + aliases, "1:1: is empty, not a mapping of keys to values"}},
		"two documents":                {strict, "title: x\n---\ntitle: y\n", []string{"2:1: begins a second document; keep one"}},
		"a broken second document":     {strict, "title: x\n---\n[\n", []string{"4:1: is no YAML from here on: did not find expected node content; " + closes}},
		"an anchor":                    {strict, "title: &a x\ncourse: *a\n", []string{"1:8: " + aliases, "2:9: " + aliases}},
		"an unknown anchor":            {strict, "title: x\ncourse: *a\n", []string{"2:9: " + aliases}},
		"an alias as a key":            {strict, "title: &a x\n*a : y\n", []string{"1:8: " + aliases, "2:1: " + aliases}},
		"a tag":                        {strict, "title: !!str 5\n", []string{"1:8: the tag !!str is not supported; write the value alone"}},
		"too deep":                     {strict, "title: x\nextra: {a: " + strings.Repeat("[", 66) + strings.Repeat("]", 66) + "}\n", []string{"2:75: nests deeper than 64 levels; make it flatter"}},
		"a list at the top":            {strict, "- a\n", []string{"1:1: is a list, not a mapping of keys to values"}},
		"a text at the top":            {strict, "soup\n", []string{"1:1: is a text, not a mapping of keys to values"}},
		"a key that is a list":         {strict, "title: x\n? [a]\n: b\n", []string{"2:3: has a key that is a list; keys are texts"}},
		"a merge key":                  {strict, "title: x\n<<: {serves: 3}\n", []string{"2:1: <<: merge keys are not supported; write the keys out"}},
		"a quoted merge key":           {strict, "title: x\n\"<<\": y\n", []string{"2:1: <<: there is no such key; " + keys}},
		"a quoted merge key, singly":   {strict, "title: x\n'<<': y\n", []string{"2:1: <<: there is no such key; " + keys}},
		"a misspelt key":               {strict, "title: x\nsirves: 3\n", []string{"2:1: sirves: there is no such key; did you mean serves?"}},
		"a key with more":              {strict, "title: x\nSauce_of: y\n", []string{"2:1: Sauce_of: there is no such key; did you mean sauce?"}},
		"a key far from all":           {strict, "title: x\nqqqqqqqq: y\n", []string{"2:1: qqqqqqqq: there is no such key; " + keys}},
		"a tag at the top":             {strict, "!!map {title: x}\n", []string{"1:1: the tag !!map is not supported; write the value alone"}},
		"an alias as a key, loosely":   {loose, "title: &a x\n*a : y\n", []string{"2:1: has a key that is an alias; keys are texts"}},
		"a key twice":                  {strict, "title: x\nserves: 3\nserves: 4\n", []string{"3:1: serves: is given twice, first in line 2; keep one"}},
		"a missing key":                {strict, "serves: 3\n", []string{"1:1: title: is missing; give it a name"}},
		"a key without a value":        {strict, "title: x\nserves:\n", []string{"2:8: serves: is empty; give it a value or leave the key out"}},
		"an item without a value":      {strict, "title: x\nsteps: [a, ~]\n", []string{"2:12: steps[1]: is empty; give it a value or leave the item out"}},
		"a number for a text":          {strict, "title: 5\n", []string{"1:8: title: is a number, not a text; put it in quotes"}},
		"a truth for a text":           {strict, "title: true\n", []string{"1:8: title: is true or false, not a text; put it in quotes"}},
		"a date for a text":            {strict, "title: 2030-01-01\n", []string{"1:8: title: is a date, not a text; put it in quotes"}},
		"a blank text":                 {strict, "title: ' '\n", []string{"1:8: title: is empty; give it a value or leave the key out"}},
		"a mapping for a text":         {strict, "title: {a: b}\n", []string{"1:8: title: is a mapping, not a text"}},
		"a list for a text, loosely":   {loose, "title: [a]\n", []string{"1:8: title: is a list, not a text"}},
		"a text for a list":            {strict, "title: x\nsteps: boil\n", []string{"2:8: steps: is a text, not a list; write it as [boil]"}},
		"a mapping for a list":         {strict, "title: x\nsteps: {a: b}\n", []string{"2:8: steps: is a mapping, not a list"}},
		"another word":                 {strict, "title: x\ncourse: desert\n", []string{`2:9: course: "desert" is not known; there are starter, main`}},
		"a word nearby":                {strict, "title: x\ncourse: mian\n", []string{`2:9: course: "mian" is not known; did you mean main?`}},
		"a count in words":             {strict, "title: x\nserves: ten\n", []string{`2:9: serves: "ten" is a text, not a whole number`}},
		"a count of none":              {strict, "title: x\nserves: 0\n", []string{"2:9: serves: is 0; give a whole number from 1 to 12, in digits alone"}},
		"a count too many":             {strict, "title: x\nserves: 13\n", []string{"2:9: serves: is 13; give a whole number from 1 to 12, in digits alone"}},
		"a count of halves":            {strict, "title: x\nserves: 1.5\n", []string{"2:9: serves: is 1.5; give a whole number from 1 to 12, in digits alone"}},
		"a count in hexadecimal":       {strict, "title: x\nserves: 0x3\n", []string{"2:9: serves: is 0x3; give a whole number from 1 to 12, in digits alone"}},
		"a count as a list":            {strict, "title: x\nserves: [3]\n", []string{"2:9: serves: is a list, not a whole number"}},
		"a count in quotes, loosely":   {loose, "title: x\nserves: 'x3'\n", []string{`2:9: serves: "x3" is a text, not a whole number`}},
		"a count without a bound":      {strict, "title: x\nseeds: -1\n", []string{"2:8: seeds: is -1; give a whole number from 0 on, in digits alone"}},
		"a count that no number holds": {strict, "title: x\nseeds: 99999999999999999999\n", []string{"2:8: seeds: is 99999999999999999999; give a whole number from 0 to 9223372036854775807, in digits alone"}},
		"a negative number":            {strict, "title: x\nstars: -0.1\n", []string{"2:8: stars: is -0.1; give a number from 0 to 5"}},
		"a number too large":           {strict, "title: x\nstars: 5.1\n", []string{"2:8: stars: is 5.1; give a number from 0 to 5"}},
		"no number":                    {strict, "title: x\nstars: .nan\n", []string{"2:8: stars: is .nan; give a number from 0 to 5"}},
		"a number in quotes":           {strict, "title: x\nstars: '4'\n", []string{`2:8: stars: "4" is a text, not a number; leave the quotes out`}},
		"a number as a mapping":        {strict, "title: x\nstars: {}\n", []string{"2:8: stars: is a mapping, not a number"}},
		"a truth in words":             {strict, "title: x\nvegan: very\n", []string{"2:8: vegan: is a text; give true or false"}},
		"a truth as a list":            {strict, "title: x\nvegan: [true]\n", []string{"2:8: vegan: is a list; give true or false"}},
		"a truth in quotes":            {strict, "title: x\nvegan: 'true'\n", []string{"2:8: vegan: is a text; give true or false"}},
		"a negative time":              {strict, "title: x\nrests: -3s\n", []string{`2:8: rests: is "-3s"; give a duration with its unit, such as 30s or 5m`}},
		"a time of none":               {strict, "title: x\nrests: 0s\n", []string{`2:8: rests: is "0s"; give a duration with its unit, such as 30s or 5m`}},
		"a time without a unit":        {strict, "title: x\nrests: 30\n", []string{`2:8: rests: is "30"; give a duration with its unit, such as 30s or 5m`}},
		"a time as a list":             {strict, "title: x\nrests: [3s]\n", []string{"2:8: rests: is a list; give a duration with its unit, such as 30s or 5m"}},
		"a negative number of seconds": {loose, "title: x\nrests: -3\n", []string{`2:8: rests: is "-3"; give a duration with its unit, such as 30s or 5m`}},
		"too many seconds":             {loose, "title: x\nrests: 1000000000\n", []string{`2:8: rests: is "1000000000"; give a duration with its unit, such as 30s or 5m`}},
		"no date":                      {strict, "title: x\nuntil: tomorrow\n", []string{`2:8: until: is "tomorrow"; give a time with its zone, such as 2030-01-31T12:00:00Z`}},
		"a date as a mapping":          {strict, "title: x\nuntil: {}\n", []string{"2:8: until: is a mapping; give a time with its zone, such as 2030-01-31T12:00:00Z"}},
		"a price with its sign":        {strict, "title: x\nprice: $5\n", []string{`2:8: price: is "$5"; give dollars from 0 on as a plain decimal such as 0.5`}},
		"a price in words":             {strict, "title: x\nprice: much\n", []string{`2:8: price: is "much", which is no sum of money; give dollars such as 0.5 or 2`}},
		"a price as a list":            {strict, "title: x\nprice: [5]\n", []string{"2:8: price: is a list; give dollars such as 0.5"}},
		"a list for any mapping":       {strict, "title: x\nextra: [5]\n", []string{"2:8: extra: is a list, not a mapping of keys to values"}},
		"a mapping that is refused":    {strict, "title: x\nextra: {bad: 1}\n", []string{"2:8: extra: holds bad"}},
		"a number that JSON has not":   {strict, "title: x\nextra: {a: .inf}\n", []string{"2:12: extra.a: is .inf, which JSON cannot hold; give another, or put it in quotes"}},
		"a key twice in any mapping":   {strict, "title: x\nextra: {a: 1, a: 2, b: 3}\n", []string{"2:15: extra.a: is given twice, first in line 2; keep one"}},
		"a comma too many":             {strict, "title: x\ntags: hot,,cold\n", []string{"2:7: tags: has a comma without a name beside it; leave it out"}},
		"a name twice":                 {strict, "title: x\ntags: [hot, hot]\n", []string{`2:13: tags[1]: the tag "hot" is listed twice; keep one`}},
		"no name":                      {strict, "title: x\ntags: HOT\n", []string{"2:7: tags: holds HOT"}},
		"a mapping for names":          {strict, "title: x\ntags: {a: b}\n", []string{"2:7: tags: is a mapping, not a list"}},
		"a number among names":         {strict, "title: x\ntags: [hot, 5]\n", []string{"2:13: tags[1]: is a number, not a text; put it in quotes"}},
		"neither off nor a mapping":    {strict, "title: x\nsauce: none\n", []string{`2:8: sauce: is "none"; give off, or a mapping with name`}},
		"a list for off":               {strict, "title: x\nsauce: [off]\n", []string{"2:8: sauce: is a list, not a mapping of keys to values"}},
		"off in a truth's place":       {strict, "title: x\nsauce: 'false'\n", []string{`2:8: sauce: is "false"; give off, or a mapping with name`}},
		"true for off":                 {strict, "title: x\nsauce: true\n", []string{`2:8: sauce: is "true"; give off, or a mapping with name`}},
		"a text that is checked":       {strict, "title: x\nnote: bad, very bad\n", []string{"2:7: note: holds bad"}},
		"a tab":                        {strict, "title: x\nsauce:\n\tname: y\n", []string{"3:1: is indented with a tab; indent with spaces"}},
		"a tab further down":           {strict, "title: x\nsteps:\n  - a\n\t- b\n", []string{"4:1: is indented with a tab; indent with spaces"}},
		"a tab at the top":             {strict, "\ttitle: x\n", []string{"1:1: is indented with a tab; indent with spaces"}},
		"a sign that begins nothing":   {strict, "title: x\nnote: @y\n", []string{"2:1: is no YAML: found character that cannot start any token; " + quote}},
		"a quote that does not end":    {strict, "title: \"x\n", []string{"2:1: is no YAML: found unexpected end of stream; " + quote}},
		"a colon in a value":           {strict, "title: a: b\n", []string{"1:1: is no YAML: mapping values are not allowed in this context; " + quote}},
		"a bracket that does not end":  {strict, "title: x\nsteps: [a\nserves: 3\n", []string{"2:1: is no YAML from here on: did not find expected ',' or ']'; " + closes}},
		"a long text":                  {strict, "title: x\ncourse: " + strings.Repeat("x", 100) + "\n", []string{`2:9: course: "` + strings.Repeat("x", 60) + `…" is not known; there are starter, main`}},
		"line ends of all kinds":       {strict, "title: x\rserves: 3\r\nserves: 4\n", []string{"3:1: serves: is given twice, first in line 2; keep one"}},
		"in order of their place":      {strict, "{title: x, stars: 9, serves: 99}\n", []string{"1:19: stars: is 9; give a number from 0 to 5", "1:30: serves: is 99; give a whole number from 1 to 12, in digits alone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(test.text, test.loose)
			require.Error(t, err)
			got := strings.Split(err.Error(), "\n")
			if len(got) > 1 {
				require.Equal(t, fmt.Sprintf("r.yaml has %d problems:", len(got)-1), got[0])
				got = got[1:]
			}
			for i := range got {
				got[i] = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(got[i]), "r.yaml:"))
			}
			require.Equal(t, test.want, got)
		})
	}
}

// TestProblemsAreCounted: an error says how many there are, and shows so many.
func TestProblemsAreCounted(t *testing.T) {
	t.Parallel()
	for n, more := range map[int]string{49: "", 50: "", 51: "\n  and 1 more"} {
		_, err := read("title: x\nsteps: ["+strings.Repeat("5, ", n)+"]\n", strict)
		require.True(t, strings.HasPrefix(err.Error(), fmt.Sprintf("r.yaml has %d problems:\n  r.yaml:2:9: steps[0]: is a number", n)), "%s", err)
		require.Equal(t, min(n, 50), strings.Count(err.Error(), "is a number"))
		require.Equal(t, more != "", strings.HasSuffix(err.Error(), "\n  and 1 more"))
		problems, _ := errors.AsType[document.Problems](err)
		require.Len(t, problems, n)
	}
	require.Empty(t, document.Problems{}.Error())
}

// TestOffset: lines count from the file's beginning, where YAML is a part of it.
func TestOffset(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"serves: 0\ntitle: x\n":            "r.yaml:4:9: serves: is 0; give a whole number from 1 to 12, in digits alone",
		"title: x\ntitle: y\n":             "r.yaml:5:1: title: is given twice, first in line 4; keep one",
		"title: x\nserves: *a\n":           "r.yaml:5:9: anchors and aliases",
		"title: x\nsauce:\n\tname: y\n":    "r.yaml:6:1: is indented with a tab",
		"title: x\nserves: y: z\nstars: 4": "r.yaml:5:1: is no YAML: mapping values",
	} {
		r := &document.Reader{File: "r.yaml", Offset: 3}
		r.Read(text, new(recipe).keys())
		require.ErrorContains(t, r.Err(), want)
	}
}

// TestSchema: what the keys say of themselves, to editors.
func TestSchema(t *testing.T) {
	t.Parallel()
	var text string
	var names []string
	keys := document.Keys{
		{Name: "text", Doc: "A text.", Value: document.Text(&text).Pattern("^a").Example("a", "ab"), Needed: "give it"},
		{Name: "word", Value: document.Word(&text, []string{"a", "b"}).Default("b")},
		{Name: "names", Value: document.Names(&names, "name", "^[a-z]+$")},
		{Name: "any_names", Value: document.Names(&names, "name", "")},
		{Name: "count", Value: document.Count(2, 9, func(int64) {}).Not(3)},
		{Name: "endless", Value: document.Count(0, math.MaxInt64, func(int64) {})},
		{Name: "number", Value: document.Number(0.5, func(float64) {})},
		{Name: "time", Value: document.Time(func(time.Time) {})},
		{Name: "list", Value: document.ListOf(&names, func(into *string) document.Value { return document.Text(into) })},
		{Name: "off", Value: document.OffOr(false, func() {}, "", document.JSON(func(json.RawMessage) string { return "" }))},
	}
	raw, err := json.Marshal(keys.Schema())
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["text"],"properties":{
		"text":{"type":"string","pattern":"^a","examples":["a","ab"],"description":"A text."},
		"word":{"enum":["a","b"],"default":"b"},
		"names":{"oneOf":[{"type":"array","uniqueItems":true,"items":{"type":"string","pattern":"^[a-z]+$"}},
			{"type":"string","pattern":"^\\s*[a-z]+\\s*(,\\s*[a-z]+\\s*)*$"}]},
		"any_names":{"oneOf":[{"type":"array","uniqueItems":true,"items":{"type":"string","pattern":"\\S"}},
			{"type":"string","pattern":"^\\s*[^,\\s][^,]*\\s*(,\\s*[^,\\s][^,]*\\s*)*$"}]},
		"count":{"type":"integer","minimum":2,"maximum":9,"not":{"const":3}},
		"endless":{"type":"integer","minimum":0},
		"number":{"type":"number","minimum":0,"maximum":0.5},
		"time":{"type":"string","format":"date-time","examples":["2030-01-31T12:00:00Z"]},
		"list":{"type":"array","items":{"type":"string","pattern":"\\S"}},
		"off":{"oneOf":[{"enum":["off",false]},{"type":"object"}]}}}`, string(raw))
}

// TestEdges: what is just allowed is taken.
func TestEdges(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return "{a: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "}" }
	for _, file := range []struct {
		loose bool
		text  string
	}{
		{strict, "serves: 1"}, {strict, "serves: 12"}, {strict, "stars: 0"}, {strict, "stars: 5"}, {strict, "seeds: 9223372036854775807"},
		{strict, "rests: 1ns"}, {loose, "rests: 0"}, {loose, "rests: 999999999"}, {strict, "price: 0"}, {strict, "sauce: false"},
		{strict, "extra: " + nested(63)}, {loose, "extra: " + nested(64)}, {strict, "steps: []"}, {strict, "extra: {}"},
	} {
		_, err := read("title: x\n"+file.text+"\n", file.loose)
		require.NoError(t, err, file.text)
	}
	_, err := read("extra: "+nested(64)+"\ntitle: x", strict)
	require.ErrorContains(t, err, "nests deeper")
	_, err = read("extra: "+nested(65)+"\ntitle: x", loose)
	require.ErrorContains(t, err, "nests deeper")
	_, err = read("title: "+strings.Repeat("x", 1<<16-7), strict)
	require.NoError(t, err)
}
