package document_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
)

// A recipe has a value of each kind.
type recipe struct {
	title   string
	course  string
	serves  int64
	stars   float64
	vegan   bool
	rests   time.Duration
	until   time.Time
	price   int64
	extra   json.RawMessage
	tags    []string
	steps   []string
	sauce   string
	covered bool
	seeds   int64
	note    string
}

func (r *recipe) keys() document.Keys {
	return document.Keys{
		{Name: "title", Doc: "What it is called.", Value: document.Text(&r.title), Needed: "give it a name"},
		{Name: "course", Value: document.Word(&r.course, []string{"starter", "main"}).Default("main")},
		{Name: "serves", Value: document.Count(1, 12, func(n int64) { r.serves = n })},
		{Name: "stars", Value: document.Number(5, func(n float64) { r.stars = n })},
		{Name: "vegan", Value: document.Truth(func(yes bool) { r.vegan = yes })},
		{Name: "rests", Value: document.Duration(func(d time.Duration) { r.rests = d })},
		{Name: "until", Value: document.Time(func(t time.Time) { r.until = t })},
		{Name: "price", Value: document.Dollars("dollars", document.USD, func(n int64) { r.price = n })},
		{Name: "extra", Value: document.JSON(func(raw json.RawMessage) string {
			r.extra = raw
			return without("bad", string(raw))
		})},
		{Name: "tags", Value: document.Names(&r.tags, "tag", "^[a-z]+$", func(name string) string { return without("HOT", name) })},
		{Name: "steps", Value: document.ListOf(&r.steps, func(into *string) document.Value { return document.Text(into) })},
		{Name: "sauce", Value: document.OffOr(false, func() { r.sauce = "off" }, "name",
			document.Mapping(document.Keys{{Name: "name", Value: document.Text(&r.sauce)}}))},
		{Name: "covered", Value: document.Truth(func(bool) {}).Then(func(document.Place) { r.covered = true })},
		{Name: "seeds", Value: document.Count(0, math.MaxInt64, func(n int64) { r.seeds = n })},
		{Name: "note", Value: document.Text(&r.note, func(text string) string { return without("bad", text) },
			func(text string) string { return without("very", text) })},
	}
}

func without(word, text string) (wrong string) {
	if strings.Contains(text, word) {
		return "holds " + word
	}
	return ""
}

func read(text string, loose bool) (recipe, error) {
	r := &document.Reader{File: "r.yaml", Form: document.Form{MaxSize: 1 << 16, Loose: loose, Needs: "give it a title", Second: "keep one"}}
	var got recipe
	if text, ok := r.Text([]byte(text)); ok {
		r.Read(text, got.keys())
	}
	return got, r.Err()
}

const dinner = `
title: Soup
course: starter
serves: 1_0
stars: 4.5
vegan: true
rests: 1m30s
until: 2030-01-31T13:00:00+01:00
price: "0.000000001"
extra: {b: 12345678901234567890, a: [~, "x<", .5e1]}
tags: hot, cold
steps: [boil, eat]
sauce: {name: pesto}
covered: false
`

func TestRead(t *testing.T) {
	t.Parallel()
	for _, loose := range []bool{false, true} {
		got, err := read(dinner, loose)
		require.NoError(t, err)
		require.Equal(t, recipe{
			title: "Soup", course: "starter", serves: 10, stars: 4.5, vegan: true, rests: 90 * time.Second,
			until: time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC), price: 1, extra: json.RawMessage(`{"b":12345678901234567890,"a":[null,"x<",5]}`),
			tags: []string{"hot", "cold"}, steps: []string{"boil", "eat"}, sauce: "pesto", covered: true,
		}, got)
	}
}

func TestLoose(t *testing.T) {
	t.Parallel()
	got, err := read("title: 12\nserves: '4'\nrests: 1.5\nsteps: &a [&b 1, *b]\ntags: *a\n", true)
	require.EqualError(t, err, `r.yaml:4:12: tags[1]: the tag "1" is listed twice; keep one`)
	require.Equal(t, "12", got.title)
	require.EqualValues(t, 4, got.serves)
	require.Equal(t, 1500*time.Millisecond, got.rests)
	require.Equal(t, []string{"1", "1"}, got.steps)
	_, err = read("title: 12\nserves: '4'\nrests: 0s\n", false)
	require.EqualError(t, err, "r.yaml has 3 problems:\n"+
		"  r.yaml:1:8: title: is a number, not a text; put it in quotes\n"+
		"  r.yaml:2:9: serves: \"4\" is a text, not a whole number; leave the quotes out\n"+
		"  r.yaml:3:8: rests: is \"0s\"; give a duration with its unit, such as 30s or 5m")
}

// TestBombs: few bytes that stand for very many values, or for themselves.
func TestBombs(t *testing.T) {
	t.Parallel()
	laughs := "title: x\nextra: {a: &a [x,x,x,x,x,x,x,x,x,x]"
	for c := 'b'; c <= 'h'; c++ {
		ref := "*" + string(c-1)
		laughs += ", " + string(c) + ": &" + string(c) + " [" + strings.Repeat(ref+",", 9) + ref + "]"
	}
	for text, want := range map[string]string{
		laughs + "}\n":                         "has too many values; aliases may repeat themselves",
		"title: x\nextra: &a {b: *a, c: *a}\n": "nests deeper than 64 levels; make it flatter",
		"title: x\nsteps: &a [*a]\n":           "is a list, not a text",
		"title: x\nextra: {a: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}\n": "nests deeper than 64 levels; make it flatter",
		"title: " + strings.Repeat("x", 1<<16):                                              "has more than 65536 bytes; make it smaller",
	} {
		_, err := read(text, true)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n", "once")
	}
}

// FuzzRead: whatever a file holds, reading ends; what is read without a problem
// fits the schema that the same keys make.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{dinner, "title: x\nsauce: off\n", "title: &a [*a]\n", "? [a]: b", "<<: {title: x}\n", "- a\n", "title: x\n---\n", "title: !!str 5\nextra: {a: 0x10}\n", "\tx"} {
		f.Add(seed)
	}
	resolved, err := new(recipe).keys().Schema().Resolve(&jsonschema.ResolveOptions{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = read(text, true)
		var value any
		if _, err := read(text, false); err != nil || yaml.Unmarshal([]byte(text), &value) != nil {
			return
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return // what YAML decodes to and JSON does not hold, such as keys that are numbers
		}
		require.NoError(t, json.Unmarshal(raw, &value))
		require.NoError(t, resolved.Validate(value), "%s", text)
	})
}
