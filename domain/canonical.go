package domain

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// canonical returns raw JSON as encoding/json writes it, so that a value that
// is saved and read back is the same bytes. It fails where raw is not JSON.
func canonical(raw json.RawMessage) (json.RawMessage, error) {
	if isPlain(raw) {
		return bytes.Clone(raw), nil
	}
	written, err := json.Marshal(raw)
	if err != nil {
		return nil, Errorf(Invalid, "is not valid JSON; give a JSON value")
	}
	return written, nil
}

// plain are bytes that JSON never escapes: those of ids and most notes.
const plain = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ -_.:/"

// isPlain reports whether raw is surely canonical already, as nearly all metadata is.
func isPlain(raw json.RawMessage) bool {
	text, opened := bytes.CutPrefix(raw, []byte{'"'})
	text, closed := bytes.CutSuffix(text, []byte{'"'})
	return opened && closed && len(bytes.Trim(text, plain)) == 0 || string(raw) == "true"
}

// kept returns a copy with canonical values, and nil for an empty one.
func (m Metadata) kept() (Metadata, error) {
	if len(m) == 0 {
		return nil, nil
	}
	kept := make(Metadata, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		value, err := canonical(m[key])
		if err != nil {
			return nil, in(key, err)
		}
		kept[key] = value
	}
	return kept, nil
}

// kept returns the message as a state keeps it: its time in UTC, its raw JSON canonical.
func (m Message) kept() (Message, error) {
	if m.Role == "" {
		return m, in("role", Errorf(Invalid, "is missing; say who speaks"))
	}
	metadata, err := m.Metadata.kept()
	if err != nil {
		return m, in("metadata", err)
	}
	m.CreatedAt, m.Metadata, m.ToolResult = utc(m.CreatedAt), metadata, copied(m.ToolResult)
	m.Parts, m.ToolCalls = slices.Clone(nilIfEmpty(m.Parts)), slices.Clone(nilIfEmpty(m.ToolCalls))
	if slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Type != PartText || p.Opaque != nil || p.Data != nil }) {
		m.Parts, err = keptAll("parts", m.Parts, Part.kept)
	}
	return m, err
}

func (p Part) kept() (Part, error) {
	if p.Type == "" {
		return p, in("type", Errorf(Invalid, "is missing; say what the part holds"))
	}
	p.Data, p.Opaque = bytes.Clone(nilIfEmpty(p.Data)), nilIfEmpty(p.Opaque)
	if p.Opaque == nil {
		return p, nil
	}
	var err error
	p.Opaque, err = canonical(p.Opaque)
	return p, in("opaque", err)
}

// keptAll returns a copy of a list as a state keeps it, nil for an empty one.
func keptAll[T any](field string, list []T, kept func(T) (T, error)) ([]T, error) {
	list = slices.Clone(nilIfEmpty(list))
	for i, one := range list {
		var err error
		if list[i], err = kept(one); err != nil {
			return nil, inItem(field, i, err)
		}
	}
	return list, nil
}

func (s StopSignal) kept() (StopSignal, error) {
	err := s.Reason.UnmarshalText([]byte(s.Reason))
	if err != nil {
		return s, in("reason", err)
	}
	s.Context, err = s.Context.kept()
	return s, in("context", err)
}

func (c Continuation) kept() (Continuation, error) {
	for _, list := range []struct {
		field   string
		signals *[]StopSignal
	}{{"stop_signals", &c.StopSignals}, {"overridden", &c.Overridden}, {"late", &c.Late}} {
		var err error
		if *list.signals, err = keptAll(list.field, *list.signals, StopSignal.kept); err != nil {
			return c, err
		}
	}
	return c, nil
}

// kept returns a copy of the configuration. Options that are not JSON stay, and fail where they are encoded.
func (c LLMConfig) kept() LLMConfig {
	c.Temperature, c.TopP, c.Price = copied(c.Temperature), copied(c.TopP), c.Price.clone()
	if options, err := c.Options.kept(); err == nil {
		c.Options = options
	}
	return c
}

// kept returns the format as a state keeps it. It fails where it makes no sense.
func (f ResponseFormat) kept() (ResponseFormat, error) {
	err := in("type", new(FormatType).UnmarshalText([]byte(f.Type)))
	if err == nil {
		err = in("mode", new(OutputMode).UnmarshalText([]byte(f.Mode)))
	}
	if err == nil && f.Type == FormatSchema && (f.Name == "" || len(f.Schema) == 0) {
		err = Errorf(Invalid, "json_schema needs a name and a schema")
	}
	if f.Schema = nilIfEmpty(f.Schema); err == nil && f.Schema != nil {
		f.Schema, err = canonical(f.Schema)
		err = in("schema", err)
	}
	return f, in("response_format", err)
}

// nilIfEmpty makes the two kinds of empty slice one, as JSON does.
func nilIfEmpty[S ~[]E, E any](s S) S {
	if len(s) == 0 {
		return nil
	}
	return s
}
