package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"everstep/domain"
)

// A Text is a string that some servers write as null, a number or an object.
type Text string

// UnmarshalJSON takes what is no string as it is written. Of valid JSON it never fails.
func (t *Text) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0 || IsNull(data):
		*t = ""
	case data[0] == '"':
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*t = Text(s)
	default:
		*t = Text(data)
	}
	return nil
}

// A Count is a number of tokens. What is no such number counts as not reported.
type Count int64

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(data []byte) error {
	var number float64
	if err := json.Unmarshal(data, &number); err != nil || number < 0 || number > math.MaxInt32*float64(1<<10) {
		number = 0
	}
	*c = Count(number)
	return nil
}

// Present reports whether a JSON value says anything.
func Present(data json.RawMessage) bool {
	switch string(bytes.TrimSpace(data)) {
	case "", "null", "{}", `""`, "[]", "false":
		return false
	}
	return true
}

// IsNull reports whether a JSON value is null, by which an option leaves a field out.
func IsNull(data json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(data), []byte("null")) }

// Bound reads a bound of tokens among options. Zero: there is none.
func Bound(options map[string]json.RawMessage, key, where string) (int64, error) {
	value, ok := options[key]
	if !ok || IsNull(value) {
		return 0, nil
	}
	bound, err := strconv.ParseInt(strings.TrimSpace(string(value)), 10, 64)
	if err != nil || bound <= 0 {
		return 0, domain.Errorf(domain.Invalid, "options: %s%s is not a positive whole number", where, key)
	}
	return bound, nil
}
