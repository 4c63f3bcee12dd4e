package modelfacts

import (
	"errors"
	"maps"
	"os"
	"strings"

	"everstep/domain"
)

// Facts are what is known of one model. What nobody says is left out.
type Facts struct {
	// Price is nil where it is unknown. A free model has a price of zero.
	Price *domain.Price
	// ContextWindow and MaxOutputTokens are in tokens; zero: unknown.
	ContextWindow   int64
	MaxOutputTokens int64
	// Tools, Images and JSONSchema say whether the model can be given tools, can
	// see images, and can be held to a JSON Schema by its own API. Nil: unknown.
	Tools      *bool
	Images     *bool
	JSONSchema *bool
	// Source says where the figures are from: the date of those that are built
	// in, or the name of a file.
	Source string
}

// A Table is what is known of many models. It never changes, and its zero value
// knows none.
type Table struct {
	builtin map[name]Facts
	own     map[name]Facts
}

// name is a model's, as a definition has it.
type name struct{ provider, model string }

func (n name) String() string { return n.provider + "/" + n.model }

// Load returns the built-in figures with those of files over them, the later
// ones first. Its errors are of kind Invalid and list all that is wrong.
func Load(paths ...string) (Table, error) {
	table, err := Builtin()
	if err != nil {
		return Table{}, err
	}
	var wrong []error
	for _, path := range paths {
		with, err := table.With(path)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		table = with
	}
	return table, errors.Join(wrong...)
}

// With returns the table with a file's models over those that it has.
func (t Table) With(path string) (Table, error) {
	if path == "" {
		return t, domain.Errorf(domain.Invalid, "is empty; name a file of prices, YAML or JSON")
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return t, domain.Errorf(domain.Invalid, "%s: cannot be read: %s; name a file of prices, YAML or JSON", path, plain(err))
	case info.IsDir():
		return t, domain.Errorf(domain.Invalid, "%s: is a directory; name a file of prices, YAML or JSON", path)
	case info.Size() > maxFile:
		return t, domain.Errorf(domain.TooLarge, "%s: has %d bytes, more than %d; name a file of prices", path, info.Size(), maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return t, domain.Errorf(domain.Invalid, "%s: cannot be read: %s", path, plain(err))
	}
	return t.WithData(path, data)
}

// WithData is With for what is already read. The path is named in errors.
func (t Table) WithData(path string, data []byte) (Table, error) {
	models, err := readFile(path, data)
	if err != nil {
		return t, err
	}
	own := maps.Clone(t.own)
	if own == nil {
		own = make(map[name]Facts, len(models))
	}
	maps.Copy(own, models)
	t.own = own
	return t, nil
}

// maxFile bounds a file of prices.
const maxFile = 4 << 20

// plain is an error of the file system without the path, which stands before it.
func plain(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// Find returns what is known of a model. Built-in figures hold on the vendor's
// own server only; those of a file hold wherever their model's name does. What
// an entry of a file leaves out is taken from the built-in one.
//
// A name with a date or "latest" at its end that the table does not have is
// looked for without: gpt-5-2025-08-07 as gpt-5. Nothing else is guessed.
func (t Table) Find(provider, model string, ownServer bool) (Facts, bool) {
	names := []name{{provider, model}}
	if base, ok := undated(model); ok {
		names = append(names, name{provider, base})
	}
	var builtin, own *Facts
	for _, n := range names {
		if f, ok := t.own[n]; ok && own == nil && builtin == nil {
			own = &f
		}
		if f, ok := t.builtin[n]; ok && ownServer && builtin == nil {
			builtin = &f
		}
	}
	switch {
	case own != nil && builtin != nil:
		return own.over(*builtin), true
	case own != nil:
		return *own, true
	case builtin != nil:
		return *builtin, true
	}
	return Facts{}, false
}

// over is the facts, with others where they say nothing.
func (f Facts) over(other Facts) Facts {
	if f.ContextWindow == 0 {
		f.ContextWindow = other.ContextWindow
	}
	if f.MaxOutputTokens == 0 {
		f.MaxOutputTokens = other.MaxOutputTokens
	}
	for _, pair := range []struct {
		own   **bool
		other *bool
	}{{&f.Tools, other.Tools}, {&f.Images, other.Images}, {&f.JSONSchema, other.JSONSchema}} {
		if *pair.own == nil {
			*pair.own = pair.other
		}
	}
	return f
}

// undated takes a snapshot's mark from the end of a model's name: -latest,
// -2025-08-07 or -20250807.
func undated(model string) (base string, ok bool) {
	if base, ok := strings.CutSuffix(model, "-latest"); ok && base != "" {
		return base, true
	}
	for _, form := range []string{"-dddd-dd-dd", "-dddddddd"} {
		if at := len(model) - len(form); at > 0 && dated(model[at:], form) {
			return model[:at], true
		}
	}
	return "", false
}

// dated reports whether a text is a date of this century in the form, where d
// stands for a digit.
func dated(text, form string) bool {
	digits := make([]byte, 0, 8)
	for i := range len(form) {
		switch {
		case form[i] == '-':
			if text[i] != '-' {
				return false
			}
		case text[i] < '0' || text[i] > '9':
			return false
		default:
			digits = append(digits, text[i])
		}
	}
	date := string(digits)
	month, day := date[4:6], date[6:8]
	return date[:2] == "20" && month >= "01" && month <= "12" && day >= "01" && day <= "31"
}
