package modelfacts

import (
	"bytes"
	_ "embed" // for the figures
	"encoding/json"

	"everstep/domain"
)

//go:embed builtin.json
var builtinJSON []byte

// builtinFile is builtin.json. Its prices are integer nano-dollars for a
// million tokens.
type builtinFile struct {
	Vendors []struct {
		Vendor    string                 `json:"vendor"`
		Providers []string               `json:"providers"`
		Date      string                 `json:"date"`
		Sources   []string               `json:"sources"`
		Models    map[string]builtinFact `json:"models"`
	} `json:"vendors"`
}

type builtinFact struct {
	Facts
	Aliases []string `json:"aliases"`
	Note    string   `json:"note"`
}

// Builtin returns what Everstep is built with. An error means a broken build.
func Builtin() (Table, error) {
	broken := func(format string, args ...any) (Table, error) {
		return Table{}, domain.Errorf(domain.Internal, "built-in figures of models: "+format, args...)
	}
	var file builtinFile
	decoder := json.NewDecoder(bytes.NewReader(builtinJSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return broken("%s", err)
	}
	models := make(map[name]Facts)
	for _, vendor := range file.Vendors {
		for model, fact := range vendor.Models {
			if fact.Price == nil {
				return broken("%s: no price", model)
			}
			if err := fact.Price.Check(); err != nil {
				return broken("%s: %s", model, err)
			}
			fact.Source = "built in, put together " + vendor.Date
			for _, provider := range vendor.Providers {
				for _, n := range append([]string{model}, fact.Aliases...) {
					key := name{provider, n}
					if _, taken := models[key]; taken {
						return broken("%s stands there twice", key)
					}
					models[key] = fact.Facts
				}
			}
		}
	}
	return Table{builtin: models}, nil
}
