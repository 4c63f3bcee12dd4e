package domain

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// EffectKeyOf is the same for all calls of an agent that are the same effect: of the tool, with equal values of
// the arguments that its EffectKey names, else of all. Values are equal as JSON is: whatever the order of keys,
// the white space, or how a number or text is written.
func (t ToolSpec) EffectKeyOf(agent AgentID, arguments string) Digest {
	parts := []string{"effect", agent.String(), t.Name}
	value, ok := decoded(cmp.Or(arguments, "{}")) // empty arguments mean an object without fields
	object, is := value.(map[string]any)
	switch {
	case !ok || !is: // no tool takes it
		parts = append(parts, arguments)
	case len(t.EffectKey) == 0:
		parts = append(parts, sameJSON(object))
	default:
		for _, name := range t.EffectKey {
			value, given := object[name]
			parts = append(parts, name, strconv.FormatBool(given), sameJSON(value))
		}
	}
	return DigestOfTexts(parts...)
}

// decoded reads one JSON value, with numbers as they are written.
func decoded(text string) (value any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return value, errors.Is(err, io.EOF)
}

// sameJSON is one text for all JSON texts of a value that was decoded.
func sameJSON(value any) string {
	text, _ := json.Marshal(withSameNumbers(value)) // what was decoded can be encoded
	return string(text)
}

// withSameNumbers puts numbers in place of others that are written otherwise.
func withSameNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		// Each is put where it was.
		//workflowcheck:ignore
		for key, one := range v {
			v[key] = withSameNumbers(one)
		}
	case []any:
		for i, one := range v {
			v[i] = withSameNumbers(one)
		}
	case json.Number:
		return json.Number(sameNumber(string(v)))
	}
	return value
}

// sameNumber is one text for all JSON texts of a number, exactly: its digits, and the power of ten that they count.
func sameNumber(text string) string {
	sign, rest := "", text
	if after, negative := strings.CutPrefix(text, "-"); negative {
		sign, rest = "-", after
	}
	mantissa, power, scaled := strings.Cut(strings.ToLower(rest), "e")
	exponent := 0
	if scaled {
		n, err := strconv.Atoi(power)
		if err != nil || n > maxExponent || n < -maxExponent {
			return text
		}
		exponent = n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return "0"
	}
	return sign + significant + "e" + strconv.Itoa(exponent+len(digits)-len(significant))
}

// maxExponent bounds those that are computed with: what is beyond stays as it is written.
const maxExponent = 1 << 20
