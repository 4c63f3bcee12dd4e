package domain

import (
	"bytes"
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

// sameJSON is one text for all JSON texts of a value.
func sameJSON(value any) string {
	var b bytes.Buffer
	writeSame(&b, value)
	return b.String()
}

func writeSame(b *bytes.Buffer, value any) {
	switch v := value.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, key := range sortedKeys(v) {
			b.WriteString(strconv.Quote(key) + ":")
			writeSame(b, v[key])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			writeSame(b, item)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case string:
		b.WriteString(strconv.Quote(v))
	case json.Number:
		b.WriteString(sameNumber(string(v)))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	default:
		b.WriteString("null")
	}
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
