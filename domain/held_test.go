package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestAddedSince lists what a change of a state has added.
func TestAddedSince(t *testing.T) {
	t.Parallel()
	s := busyState()
	require.Empty(t, s.AddedSince(s))
	more := must(s.WithMessages("", []domain.Message{domain.UserMessage("one"), domain.UserMessage("two")}, after(9)))
	more = must(more.WithMessages("notes", []domain.Message{domain.UserMessage("three")}, after(9)))
	var texts []string
	for _, e := range more.AddedSince(s) {
		texts = append(texts, e.Section+": "+e.Message.Text())
	}
	require.Equal(t, []string{"messages: one", "messages: two", "notes: three"}, texts)
}

// TestStoreOf keeps the log's messages, by section, in order.
func TestStoreOf(t *testing.T) {
	t.Parallel()
	var log domain.Log
	for _, text := range []string{"a", "b", "c", "d"} {
		section := ""
		if text == "b" {
			section = "notes"
		}
		log = log.Append(section, domain.UserMessage(text), domain.Digest{})
	}
	store := domain.StoreOf(log.Entries())
	require.Equal(t, []string{"messages", "notes"}, store.Sections())
	s := busyState().WithMessageStore(store)
	require.Equal(t, busyState().UpdatedAt, s.UpdatedAt)
	require.Len(t, s.Messages(), 3)
	require.Equal(t, "d", s.Messages()[2].Text())
	require.Equal(t, "b", store.Section("notes")[0].Text())
}

// TestExtends: a state extends another where each section has its messages, as
// they were, in front.
func TestExtends(t *testing.T) {
	t.Parallel()
	with := func(section string, texts ...string) domain.AgentState {
		var log domain.Log
		for _, text := range texts {
			log = log.Append(section, domain.UserMessage(text), domain.Digest{})
		}
		return domain.AgentState{}.WithMessageStore(domain.StoreOf(log.Entries()))
	}
	earlier := with("", "a", "b")
	for name, c := range map[string]struct {
		state   domain.AgentState
		extends bool
	}{
		"the same": {earlier, true}, "one more": {with("", "a", "b", "c"), true}, "one less": {with("", "a"), false},
		"another first": {with("", "x", "b"), false}, "another last": {with("", "a", "x", "b"), false}, "another section": {with("notes", "a", "b"), false},
	} {
		require.Equal(t, c.extends, c.state.Extends(earlier), name)
	}
	require.True(t, earlier.Extends(domain.AgentState{}))
	empty, err := domain.MessageStore{}.With("notes")
	require.NoError(t, err)
	require.True(t, earlier.Extends(domain.AgentState{}.WithMessageStore(empty)), "an empty section has nothing to keep")
}

// TestStepSharesTheMessagesOfItsLog: a message that both keep is held once, and what is given out of it is a copy.
func TestStepSharesTheMessagesOfItsLog(t *testing.T) {
	t.Parallel()
	id := executionID(1).Step(1)
	state := must(begunState().WithStepStarted(id, after(1)))
	said := domain.Tag{StepID: id, Trace: true}.Apply(domain.Message{
		ID: id.Message(0), CreatedAt: after(1), Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "a text"}},
	})
	another := said
	another.Parts = []domain.Part{{Type: domain.PartText, Text: "another text"}}
	log := domain.Log{}.Append("", said, domain.DigestOf([]byte("said")))
	held, _ := log.At(0)

	same := must(state.WithCurrentStepIn(log, domain.AgentStep{Output: []domain.Message{said}}, after(1)))
	require.Same(t, &held.Message.Parts[0], domain.FirstPart(same))
	apart := must(state.WithCurrentStep(domain.AgentStep{Output: []domain.Message{said}}, after(1)))
	require.NotSame(t, &held.Message.Parts[0], domain.FirstPart(apart))
	other := must(state.WithCurrentStepIn(log, domain.AgentStep{Output: []domain.Message{another}}, after(1)))
	require.Equal(t, "another text", domain.FirstPart(other).Text)

	step, _ := same.CurrentStep()
	step.Output[0].Parts[0].Text = "changed"
	require.Equal(t, "a text", held.Message.Text())
}
