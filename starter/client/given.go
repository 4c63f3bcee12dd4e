package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"everstep/domain"
)

// WithState returns the start of an agent that begins with what a saved state holds: its messages and metadata, and
// its model, system prompt and response format where the definition names none. What the start has already comes
// after the state's messages, and before its metadata. The agent is another one, unless ID says otherwise, and
// counts its executions from 1. It has the trusted values that are given here: those of the state are another agent's,
// and whoever wrote the file may have written them. A state whose execution is in progress is refused.
func (s Start) WithState(state domain.AgentState) (Start, error) {
	if state.HasActiveExecution() {
		return s, invalidf("state: execution %d is in progress; save the state when it has ended, or its session alone", state.ExecutionCount)
	}
	s.Definition = over(s.Definition, state)
	if s.Explicit != nil {
		s.Explicit = new(over(*s.Explicit, state))
	}
	own := s.Metadata
	s.Metadata = domain.Metadata{}
	maps.Copy(s.Metadata, state.Metadata)
	maps.Copy(s.Metadata, own)
	var messages []domain.Entry
	store := state.Context.MessageStore
	for _, section := range store.Sections() {
		for _, m := range store.Section(section) {
			messages = append(messages, domain.Entry{Section: section, Message: m})
		}
	}
	s.Messages = append(messages, s.Messages...)
	return s, nil
}

// over is the definition, and the state's where it says nothing.
func over(d domain.Definition, state domain.AgentState) domain.Definition {
	if d.Model.Provider == "" {
		d.Model = state.LLMConfig
	}
	d.SystemPrompt = cmp.Or(d.SystemPrompt, state.SystemPrompt)
	if d.Format.Type == "" {
		d.Format = state.ResponseFormat
	}
	return d
}

// ReadMessages reads messages to be given to an execution, in JSON, one a line: entries as Messages yields them, or
// messages alone. Those that were taken back, as the command messages marks them, are left out. It checks them as Start
// does; an error names the line.
func ReadMessages(text []byte) ([]domain.Entry, error) {
	var messages []domain.Entry
	var lines []int
	var order domain.MessageOrder
	number := 0
	if whole := bytes.TrimSpace(text); bytes.HasPrefix(whole, []byte("[")) && json.Valid(whole) {
		return nil, invalidf("is a JSON list; give one message a line, as jq -c '.[]' makes of it")
	}
	for line := range bytes.Lines(text) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		entry, err := readMessage(line)
		if err == nil && unseen(line) {
			continue
		}
		if err == nil {
			err = order.Add(entry)
		}
		if err != nil {
			return nil, errorf(Invalid, err, "line %d: %s", number, err)
		}
		messages, lines = append(messages, entry), append(lines, number)
	}
	if at, err := order.Dangling(); err != nil {
		return nil, errorf(Invalid, err, "line %d: %s", lines[at], err)
	}
	if len(messages) == 0 {
		return nil, invalidf("there are no messages in it; give one a line")
	}
	if _, err := domain.NewStartOptions(nil, messages, nil); err != nil {
		return nil, invalid(err)
	}
	return messages, nil
}

// unseen reports whether a line says that its message was taken back, or cleared.
func unseen(line []byte) bool {
	var read struct {
		TakenBack bool `json:"taken_back"`
		Cleared   bool `json:"cleared"`
	}
	return json.Unmarshal(line, &read) == nil && (read.TakenBack || read.Cleared)
}

// readMessage reads one line.
func readMessage(line []byte) (none domain.Entry, _ error) {
	var keys map[string]json.RawMessage
	switch {
	case !utf8.Valid(line):
		return none, errors.New("is not valid UTF-8; convert it")
	case !json.Valid(line):
		return none, errors.New("is not JSON; give each message whole in a line, as messages --json and jq -c do")
	case json.Unmarshal(line, &keys) != nil || keys == nil:
		return none, errors.New("is no object; give one message a line, as messages --json does")
	}
	if _, whole := keys["message"]; whole {
		var read struct {
			Section string          `json:"section"`
			Message *domain.Message `json:"message"`
		}
		err := domain.DecodeInto(line, &read)
		switch {
		case err != nil:
			return none, err
		case read.Message == nil:
			return none, errors.New("message: is null; give the message")
		}
		return domain.Entry{Section: read.Section, Message: *read.Message}, nil
	}
	m, err := domain.Decode[domain.Message](line)
	if other := slices.IndexFunc(otherKeys, func(key string) bool { return keys[key] != nil }); err == nil && other >= 0 {
		err = fmt.Errorf("%s: is no key of a message; %s", otherKeys[other], messageForm)
	}
	if silent := slices.IndexFunc(m.Parts, func(p domain.Part) bool { return p.Type == domain.PartText && p.Text == "" }); err == nil && silent >= 0 && m.Role != domain.RoleAssistant {
		err = fmt.Errorf("parts[%d].text: is missing; %s", silent, messageForm)
	}
	return domain.Entry{Message: m}, err
}

// otherKeys are of messages as providers have them, and would be lost.
var otherKeys = []string{"content", "tool_call_id", "function_call", "refusal"}

const messageForm = `what is said stands in parts, as {"role": "user", "parts": [{"type": "text", "text": "…"}]}`
