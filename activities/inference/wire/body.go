package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Body writes a request's body: a list under its name, and then the other
// fields, of which one of that name is left out. The SDKs would go over a long
// list once for each level of nesting, and write what is to go back byte for
// byte in their own way: so its entries are encoded one by one, and what is
// around them apart.
func Body(name string, list [][]byte, rest map[string]json.RawMessage) ([]byte, error) {
	size := 64
	for _, one := range list {
		size += len(one) + 1
	}
	for key, value := range rest {
		size += len(key) + len(value) + 4
	}
	var body bytes.Buffer
	body.Grow(size)
	body.WriteByte('{')
	if err := writeName(&body, name); err != nil {
		return nil, err
	}
	body.WriteByte('[')
	for i, one := range list {
		if i > 0 {
			body.WriteByte(',')
		}
		body.Write(one)
	}
	body.WriteByte(']')
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		if key == name {
			continue
		}
		body.WriteByte(',')
		if err := writeName(&body, key); err != nil {
			return nil, err
		}
		body.Write(rest[key])
	}
	body.WriteByte('}')
	return body.Bytes(), nil
}

func writeName(body *bytes.Buffer, name string) error {
	text, err := json.Marshal(name)
	if err != nil {
		return err
	}
	body.Write(text)
	body.WriteByte(':')
	return nil
}
