// Package report has the one form in which the proofs tell what they found: rows of figures, facts of the whole, and the
// promises that were broken.
//
// Its main type is [Report]. Its one rule: each figure is named once, in a [Cell], by which both the text that people read
// and the JSON come about.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"everstep/starter/render"
)

// A Report is what a proof found.
type Report struct {
	// Rows are shown as tables: those that follow one another with the same titles are one table.
	Rows []Row
	// Facts are figures of the whole.
	Facts  Row
	Broken []Broken
}

// A Row is some figures of one thing, which the first cell names.
type Row []Cell

// A Cell is one figure.
type Cell struct {
	Key   string // in JSON
	Title string // in text
	// Value is a text, a number, a [Share], [Bytes], or a time.Duration, which is in seconds in JSON. Nil: there is none.
	Value any
}

// A Share is a number of so many. In JSON it is the number.
type Share struct{ N, Of int }

// Bytes is an amount of memory. Zero: the machine does not tell.
type Bytes int64

// A Promise names something that must hold.
type Promise string

// A Broken promise.
type Broken struct {
	Promise Promise `json:"promise"`
	Agent   string  `json:"agent,omitzero"`
	ID      string  `json:"id,omitzero"`
	Detail  string  `json:"detail"`
}

// String is one line.
func (b Broken) String() string {
	if b.Agent == "" {
		return fmt.Sprintf("%s: %s", b.Promise, b.Detail)
	}
	return fmt.Sprintf("%s: agent %s (%s): %s", b.Promise, b.Agent, b.ID, b.Detail)
}

// Err says which promises were broken; nil: none.
func (r Report) Err() error {
	if len(r.Broken) == 0 {
		return nil
	}
	lines := make([]string, len(r.Broken))
	for i, b := range r.Broken {
		lines[i] = "broken promise: " + b.String()
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}

// Row is the row whose first cell has the value; nil: there is none.
func (r Report) Row(name string) Row {
	at := slices.IndexFunc(r.Rows, func(row Row) bool { return row[0].text() == name })
	if at < 0 {
		return nil
	}
	return r.Rows[at]
}

// Add adds a cell.
func (r *Row) Add(key, title string, value any) {
	*r = append(*r, Cell{Key: key, Title: title, Value: value})
}

// Value is that of the cell with a key; nil: there is none.
func (r Row) Value(key string) any {
	for _, c := range r {
		if c.Key == key {
			return c.Value
		}
	}
	return nil
}

// Text is the report as people read it: the tables, then the facts.
func (r Report) Text(out *render.Output) string {
	var parts []string
	for rows := r.Rows; len(rows) > 0; {
		n := 1
		for n < len(rows) && slices.Equal(rows[n].titles(), rows[0].titles()) {
			n++
		}
		t := render.Table{Numbers: rows[0].numbers(), Head: rows[0].titles()}
		for _, row := range rows[:n] {
			t.Rows = append(t.Rows, row.texts())
		}
		parts = append(parts, t.Render(out))
		rows = rows[n:]
	}
	facts := render.Table{Head: []string{"in all", ""}}
	for _, c := range r.Facts {
		facts.Rows = append(facts.Rows, []string{c.Title, c.text()})
	}
	return strings.Join(append(parts, facts.Render(out)), "\n")
}

// numbers reports whether all cells but the first are numbers.
func (r Row) numbers() bool {
	return !slices.ContainsFunc(r[1:], func(c Cell) bool { _, text := c.Value.(string); return text })
}

func (r Row) titles() (all []string) {
	for _, c := range r {
		all = append(all, c.Title)
	}
	return all
}

func (r Row) texts() (all []string) {
	for _, c := range r {
		all = append(all, c.text())
	}
	return all
}

func (c Cell) text() string {
	switch v := c.Value.(type) {
	case nil:
		return "-"
	case time.Duration:
		switch {
		case v == 0:
			return "-"
		case v < time.Second:
			return fmt.Sprintf("%d ms", v.Milliseconds())
		}
		return fmt.Sprintf("%.2f s", v.Seconds())
	case float64:
		return fmt.Sprintf("%.3f", v)
	case Share:
		return fmt.Sprintf("%d of %d", v.N, v.Of)
	case Bytes:
		switch {
		case v == 0:
			return "-"
		case v < 1e6:
			return fmt.Sprintf("%.0f KB", float64(v)/1e3)
		}
		return fmt.Sprintf("%.0f MB", float64(v)/1e6)
	}
	return fmt.Sprint(c.Value)
}

// MarshalJSON is an object with the facts, "rows" and "broken".
func (r Report) MarshalJSON() ([]byte, error) {
	rows, broken := r.Rows, r.Broken
	if rows == nil {
		rows = []Row{}
	}
	if broken == nil {
		broken = []Broken{}
	}
	return append(slices.Clip(r.Facts), Cell{Key: "rows", Value: rows}, Cell{Key: "broken", Value: broken}).MarshalJSON()
}

// MarshalJSON is an object with the cells in their order.
func (r Row) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, c := range r {
		value := c.Value
		switch v := value.(type) {
		case time.Duration:
			value = float64(v.Round(time.Millisecond).Milliseconds()) / 1000
		case Share:
			value = v.N
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("report: %s: %w", c.Key, err)
		}
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		b.WriteByte(separator)
		fmt.Fprintf(&b, "%q:%s", c.Key, text)
	}
	if len(r) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Percentile is the smallest time that so many of a hundred do not exceed; zero: there are none.
func Percentile(times []time.Duration, hundredths int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)*hundredths+99)/100-1]
}
