package host

import (
	"everstep/activities/modelfacts"
	"everstep/domain"
)

// facts returns what is known of models on this worker.
func (c Config) facts() (func(domain.LLMConfig) (modelfacts.Facts, bool), error) {
	var files []string
	if c.Prices != "" {
		files = append(files, c.Prices)
	}
	table, err := modelfacts.Load(files...)
	if err != nil {
		return nil, err
	}
	return func(model domain.LLMConfig) (modelfacts.Facts, bool) {
		return table.Find(model.Provider, model.Model, c.vendorServer(model))
	}, nil
}
