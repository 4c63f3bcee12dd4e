package wire

import (
	"encoding/json"
	"strconv"
	"strings"

	"everstep/domain"
)

// Object are the fields of a JSON object. What is none has no fields.
func Object(data []byte) (fields map[string]json.RawMessage) {
	_ = json.Unmarshal(data, &fields)
	return fields
}

// field is the value of one of some fields, or of a field in it, by its path. Nil: it is not there.
func field(fields map[string]json.RawMessage, path string) (value json.RawMessage) {
	for name := range strings.SplitSeq(path, ".") {
		value = fields[name]
		fields = Object(value)
	}
	return value
}

// checkOptions says what is wrong with a model's options, or returns the bound that they give.
func (c *Client) checkOptions(options domain.Metadata) (bound int64, err error) {
	for _, path := range c.api.Reserved {
		if field(options, path) != nil {
			return 0, domain.Invalidf("options: %s is set by Everstep; leave it out", path)
		}
	}
	for _, path := range c.api.Objects {
		if value := field(options, path); !IsNull(value) && Object(value) == nil {
			return 0, domain.Invalidf("options: %s is not an object", path)
		}
	}
	for _, path := range c.api.Bounds {
		value := field(options, path)
		if IsNull(value) {
			continue
		}
		if bound > 0 {
			return 0, domain.Invalidf("options: %s are both set; give one", strings.Join(c.api.Bounds, " and "))
		}
		bound, err = strconv.ParseInt(strings.TrimSpace(string(value)), 10, 64)
		if err != nil || bound <= 0 {
			return 0, domain.Invalidf("options: %s is not a positive whole number", path)
		}
	}
	if c.api.Options != nil {
		err = c.api.Options(options)
	}
	return bound, err
}
