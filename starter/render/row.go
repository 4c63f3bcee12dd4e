package render

import (
	"bytes"
	"strings"

	"everstep/domain"
)

// A row is one fact: for programs under its key, for people under its title. Help lists the keys.
type row struct {
	// key is its name in JSON, about says in help what stands there, and value is that. Without a key only people get it.
	key, about string
	value      any
	// title is its name in text, and facts are what is said under it, each in one line or several. Without facts only
	// programs get it.
	title string
	facts []string
}

// fact is one fact, of lines of which some may be empty.
func fact(lines ...string) []string { return []string{joined("\n", lines...)} }

// facts are one for each item.
func facts[T any](items []T, of func(T) string) []string {
	var all []string
	for _, item := range items {
		all = append(all, of(item))
	}
	return all
}

// An object is rows as an object of JSON.
type object []row

// MarshalJSON keeps the order of the rows.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	separator := byte('{')
	for _, r := range o {
		value, err := domain.Encode(r.value)
		if err != nil {
			return nil, err
		}
		b.WriteByte(separator)
		b.WriteString(`"` + r.key + `":`)
		b.Write(value)
		separator = ','
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// keyTable lists the keys of rows, in Markdown.
func keyTable(rows []row) string {
	var b strings.Builder
	b.WriteString("| key | what it is |\n|---|---|\n")
	for _, r := range rows {
		b.WriteString("| `" + r.key + "` | " + r.about + " |\n")
	}
	return b.String()
}
