package modelfacts

import (
	"cmp"
	_ "embed" // for the figures
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"everstep/domain"
)

// Facts are what is known of one model. What nobody says is left out.
type Facts struct {
	// Price is nil where it is unknown. A free model has a price of zero.
	Price *domain.Price `json:"price"`
	// ContextWindow and MaxOutputTokens are in tokens; zero: unknown.
	ContextWindow   int64 `json:"context_window"`
	MaxOutputTokens int64 `json:"max_output_tokens"`
	// Tools, Images and JSONSchema say whether the model can be given tools, can
	// see images, and can be held to a JSON Schema by its own API. Nil: unknown.
	Tools      *bool `json:"tools"`
	Images     *bool `json:"images"`
	JSONSchema *bool `json:"json_schema"`
	// Source is the date of what is built in, or the name of a file.
	Source string `json:"-"`
}

// A Table is what is known of many models. It never changes, and its zero value
// knows none.
type Table struct {
	builtin map[name]Facts
	own     map[name]Facts
}

type name struct{ provider, model string }

//go:embed builtin.json
var builtinJSON []byte

// builtinFile is builtin.json. Its prices are integer nano-dollars for a
// million tokens.
type builtinFile struct {
	Vendors []struct {
		Vendor    string   `json:"vendor"`
		Providers []string `json:"providers"`
		Date      string   `json:"date"`
		Sources   []string `json:"sources"`
		Models    map[string]struct {
			Facts
			Aliases []string `json:"aliases"`
			Note    string   `json:"note"`
		} `json:"models"`
	} `json:"vendors"`
}

// Builtin returns what Everstep is built with.
func Builtin() Table {
	var file builtinFile
	if err := json.Unmarshal(builtinJSON, &file); err != nil {
		panic(fmt.Sprintf("built-in figures of models: %s", err))
	}
	models := make(map[name]Facts)
	for _, vendor := range file.Vendors {
		for model, fact := range vendor.Models {
			fact.Source = "built in, put together " + vendor.Date
			for _, provider := range vendor.Providers {
				for _, n := range append(fact.Aliases, model) {
					models[name{provider, n}] = fact.Facts
				}
			}
		}
	}
	return Table{builtin: models}
}

// Load returns the built-in figures with those of files over them, the later
// ones first. Its errors are of kind Invalid and list all that is wrong.
func Load(paths ...string) (Table, error) {
	table := Builtin()
	wrong := make([]error, len(paths))
	for i, path := range paths {
		table, wrong[i] = table.With(path)
	}
	return table, errors.Join(wrong...)
}

// With returns the table with a file's models over those that it has.
func (t Table) With(path string) (Table, error) {
	if path == "" {
		return t, domain.Invalidf("is empty; name a file of prices, YAML or JSON")
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return t, domain.Invalidf("%s: is a directory; name a file of prices, YAML or JSON", path)
	}
	if err == nil && info.Size() > maxFile {
		return t, domain.TooLargef("%s: has %d bytes, more than %d; name a file of prices", path, info.Size(), maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		// Without the path, which stands before it.
		return t, domain.Invalidf("%s: cannot be read: %s; name a file of prices, YAML or JSON", path, cmp.Or(errors.Unwrap(err), err))
	}
	return t.WithData(path, data)
}

// WithData is With for what is already read. The path is named in errors.
func (t Table) WithData(path string, data []byte) (Table, error) {
	models, err := readFile(path, data)
	if err != nil {
		return t, err
	}
	own := maps.Collect(maps.All(t.own))
	maps.Copy(own, models)
	t.own = own
	return t, nil
}

const maxFile = 4 << 20

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
	var facts Facts
	var known, builtin bool
	for _, n := range names {
		if f, ok := t.own[n]; ok && !known {
			facts, known = f, true
		}
		if f, ok := t.builtin[n]; ok && ownServer && !builtin {
			facts, known, builtin = facts.over(f), true, true
		}
	}
	return facts, known
}

func (f Facts) over(other Facts) Facts {
	return Facts{
		Price:           cmp.Or(f.Price, other.Price),
		ContextWindow:   cmp.Or(f.ContextWindow, other.ContextWindow),
		MaxOutputTokens: cmp.Or(f.MaxOutputTokens, other.MaxOutputTokens),
		Tools:           cmp.Or(f.Tools, other.Tools),
		Images:          cmp.Or(f.Images, other.Images),
		JSONSchema:      cmp.Or(f.JSONSchema, other.JSONSchema),
		Source:          cmp.Or(f.Source, other.Source),
	}
}

// undated takes -latest, -2025-08-07 or -20250807 from the end of a model's name.
func undated(model string) (base string, ok bool) {
	if base, ok := strings.CutSuffix(model, "-latest"); ok {
		return base, true
	}
	for _, form := range []string{"-2006-01-02", "-20060102"} {
		at := len(model) - len(form)
		if at <= 0 {
			continue
		}
		if date, err := time.Parse(form, model[at:]); err == nil && date.Year()/100 == 20 {
			return model[:at], true
		}
	}
	return "", false
}
