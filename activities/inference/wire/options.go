package wire

import (
	"encoding/json"
	"maps"
	"slices"

	"everstep/domain"
)

// CheckOptions says what is wrong with the options of a model: one that is not
// JSON, or one of ours, the fields that the loop decides.
func (c *Client) CheckOptions(options domain.Metadata, ours ...string) error {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if slices.Contains(ours, key) {
			return domain.Errorf(domain.Invalid, "options: %s is set by Everstep; leave it out", key).From(c.api.Name)
		}
		if !json.Valid(options[key]) {
			return domain.Errorf(domain.Invalid, "options: %s is not valid JSON", key).From(c.api.Name)
		}
	}
	return nil
}
