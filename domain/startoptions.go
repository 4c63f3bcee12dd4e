package domain

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// StartOptions are what an execution begins with beside its prompt. Make them with NewStartOptions; nil is nothing.
type StartOptions struct {
	// Metadata are notes for the agent's context; one that is there already is replaced.
	Metadata Metadata `json:"metadata,omitempty"`
	// Messages join the transcript before the prompt, with the tags that they have: a trace of another execution
	// stays one. Their Index means nothing.
	Messages []Entry `json:"messages,omitempty"`
	// Trusted are the session's trusted values where they come with its first prompt, else the execution's.
	Trusted Trusted `json:"trusted,omitempty"`
}

// Notes are the names of the notes, sorted.
func (g *StartOptions) Notes() []string { return sortedKeys(g.Metadata) }

// MaxMetadata bounds the metadata of an agent when encoded: every request of a hook made with IO carries it.
const MaxMetadata = 64 << 10

// maxSection is the longest name of a section that messages are given in.
const maxSection = 64

// NewStartOptions returns what is given as it is recorded, or says what is wrong with it. Of a message only its section
// and what was said count. It is nil where nothing is given.
func NewStartOptions(metadata Metadata, messages []Entry, trusted Trusted) (*StartOptions, error) {
	if len(metadata)+len(messages)+len(trusted) == 0 {
		return nil, nil
	}
	g := &StartOptions{}
	var err error
	if g.Trusted, err = Trusted(nil).With(trusted); err != nil {
		return nil, err
	}
	if g.Metadata, err = keep(metadata); err != nil {
		return nil, invalid(in("metadata", err))
	}
	for i, e := range messages {
		m, err := keep(e.Message)
		encoded, wrong := json.Marshal(m)
		if err = cmp.Or(err, wrong); err != nil {
			return nil, invalid(inItem("messages", i, err))
		}
		g.Messages = append(g.Messages, Entry{Section: e.Section, Message: m, Digest: DigestOf(encoded)})
	}
	if err := g.Check(AgentState{}); err != nil {
		return nil, err
	}
	return g, nil
}

// Check says what is wrong with what is given to an agent: the zero one, or one that has metadata and trusted values
// already.
func (g *StartOptions) Check(to AgentState) error {
	if g == nil {
		return nil
	}
	_, err := to.SessionTrusted.With(g.Trusted)
	if err = cmp.Or(g.checkMetadata(to.Metadata), err); err != nil {
		return err
	}
	var order MessageOrder
	size := 0
	for i, e := range g.Messages {
		err := order.Add(e)
		if e.Digest.IsZero() {
			err = errors.New("has no digest; give messages with a client of Everstep")
		}
		if err != nil {
			return invalid(inItem("messages", i, err))
		}
		size += e.Size()
	}
	if at, err := order.Dangling(); err != nil {
		return invalid(inItem("messages", at, err))
	}
	if size > MaxCarriedMessages {
		return TooLargef("messages: take %d bytes; at most %d can be given, so leave the oldest out", size, MaxCarriedMessages)
	}
	return nil
}

func (g *StartOptions) checkMetadata(has Metadata) error {
	if len(g.Metadata) == 0 {
		return nil
	}
	all := Metadata{}
	maps.Copy(all, has)
	for _, key := range g.Notes() {
		if key == "" || !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) {
			return Invalidf("metadata: %q is no key; give a name without control characters", Shorten(key, 60))
		}
		all[key] = g.Metadata[key]
	}
	return CheckFits("metadata", all, MaxMetadata)
}

// WithNotesOf returns the state with the metadata and the trusted values that were given.
func (s AgentState) WithNotesOf(g *StartOptions, now time.Time) (_ AgentState, err error) {
	if g == nil {
		return s, nil
	}
	for _, key := range g.Notes() {
		if s, err = s.WithMetadata(key, g.Metadata[key], now); err != nil {
			return s, err
		}
	}
	return s.WithTrusted(g.Trusted, now)
}

// A MessageOrder checks messages one by one: each by itself, and that every call has its one result right after
// the message that made it, as providers ask. The zero value has seen none.
type MessageOrder struct {
	// open are the ids of calls that wait for their results.
	open []string
	seen int
	// calls is the message that made the newest calls.
	calls int
}

// Add says what is wrong with the next message.
func (o *MessageOrder) Add(e Entry) error {
	m := e.Message
	if len(e.Section) > maxSection || !utf8.ValidString(e.Section) || strings.ContainsFunc(e.Section, unicode.IsControl) {
		return in("section", fmt.Errorf("is no name of at most %d bytes without control characters", maxSection))
	}
	if err := cmp.Or(CheckRecorded(m), checkWords(m), m.checkKind(), m.checkParts(), m.checkTexts()); err != nil {
		return err
	}
	if m.Role == RoleTool {
		at := slices.Index(o.open, m.ToolResult.CallID)
		if at < 0 {
			return in("tool_result.call_id", fmt.Errorf("%q is no call that waits for its result; "+
				"results follow the message that made their calls, one for each", Shorten(m.ToolResult.CallID, 60)))
		}
		o.open, o.seen = slices.Delete(o.open, at, at+1), o.seen+1
		return nil
	}
	if len(o.open) > 0 {
		return fmt.Errorf("comes before the result of call %q; results follow the message that made their calls at once", Shorten(o.open[0], 60))
	}
	for _, call := range m.ToolCalls {
		o.open, o.calls = append(o.open, call.ID), o.seen
	}
	o.seen++
	return nil
}

// Dangling says which call has no result, and where it was made, when all messages have been added.
func (o *MessageOrder) Dangling() (int, error) {
	if len(o.open) == 0 {
		return 0, nil
	}
	return o.calls, in("tool_calls", fmt.Errorf("call %q has no result; leave the message out, or give the messages of an execution that has ended", Shorten(o.open[0], 60)))
}

// checkKind says what a message of its role may not hold, or lacks.
func (m Message) checkKind() error {
	switch {
	case (m.Role == RoleTool) != (m.ToolResult != nil):
		return in("tool_result", errors.New("belongs to messages of role tool, and to each of them"))
	case m.Role != RoleAssistant && len(m.ToolCalls) > 0:
		return in("tool_calls", errors.New("are the model's alone; give them role assistant"))
	case len(m.ToolCalls) > MaxRequestedCalls:
		return in("tool_calls", fmt.Errorf("are %d; at most %d can be given", len(m.ToolCalls), MaxRequestedCalls))
	case len(m.Parts)+len(m.ToolCalls) == 0 && m.ToolResult == nil:
		return in("parts", errors.New(`are missing; what is said stands in them, as [{"type": "text", "text": "…"}]`))
	}
	return nil
}

// checkParts says which part no provider could be sent.
func (m Message) checkParts() error {
	for i, p := range m.Parts {
		var err error
		switch {
		case m.Role == RoleTool && p.Type != PartImage:
			err = in("type", fmt.Errorf("is %s; what a tool said stands in tool_result, and only its images beside that", p.Type))
		case p.Type == PartText || m.Role == RoleAssistant:
		case m.Role != RoleUser && m.Role != RoleTool:
			err = in("type", fmt.Errorf("is %s; a message of role %s holds text", p.Type, m.Role))
		case p.Type == PartReasoning:
			err = in("type", errors.New("is reasoning, which is the model's alone; leave it out"))
		case p.Type == PartAudio && len(p.Data) == 0, p.URL == "" && len(p.Data) == 0:
			err = in("data", errors.New("is missing; give the content"))
		}
		if u, wrong := url.Parse(p.URL); wrong == nil && u.User != nil {
			err = in("url", errors.New("holds a user or password, which would be recorded; leave them out"))
		}
		if err != nil {
			return inItem("parts", i, err)
		}
	}
	return nil
}

// checkTexts says which text would not be kept as it is.
func (m Message) checkTexts() error {
	return walk(&m, walker{visit: func(v reflect.Value) error {
		if v.Kind() == reflect.String && !utf8.ValidString(v.String()) {
			return errors.New("is not valid UTF-8; convert it")
		}
		return nil
	}})
}
