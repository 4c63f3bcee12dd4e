package wire

import (
	"bytes"
	"encoding/json"
	"math"
)

// A Text is a string that some servers write as null, a number or an object.
type Text string

// UnmarshalJSON takes what is no string as it is written. Of valid JSON it
// never fails.
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

// IsNull reports whether a JSON value is null, by which an option leaves a
// field out.
func IsNull(data json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(data), []byte("null")) }
