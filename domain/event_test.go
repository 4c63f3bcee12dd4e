package domain_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// filledEvents has one event of each type, with something in every field.
func filledEvents(t testing.TB) []domain.Event {
	t.Helper()
	var events []domain.Event
	for _, typ := range domain.EventTypes() {
		event, err := domain.Decode[domain.Event](fmt.Appendf(nil, `{"type":%q}`, typ))
		require.NoError(t, err)
		fill(reflect.ValueOf(&event.EventHeader).Elem(), string(typ))
		if event.Data != nil {
			data := reflect.New(reflect.TypeOf(event.Data)).Elem()
			fill(data, string(typ))
			event.Data = data.Interface()
		}
		events = append(events, event)
	}
	return events
}

// TestEventsAreFlat: the type comes first, then the header and the data, and what was written is read back.
func TestEventsAreFlat(t *testing.T) {
	t.Parallel()
	for _, event := range filledEvents(t) {
		data := encoded(t, event)
		require.True(t, strings.HasPrefix(data, fmt.Sprintf(`{"type":%q,"sequence":7,`, event.Type)), data)
		require.InDelta(t, len(data), event.Size(), 100, data)
		back, err := domain.Decode[domain.Event]([]byte(data))
		require.NoError(t, err)
		require.Equal(t, event, back)
	}
}

func TestEventsThatAreNone(t *testing.T) {
	t.Parallel()
	for text, fault := range map[string]string{
		`{}`:                      "has no type",
		`null`:                    "has no type",
		`{"type":""}`:             "is none of AgentExecutionStarted",
		`{"type":"agentstarted"}`: "is none of AgentExecutionStarted",
		`7`:                       "cannot unmarshal number",
		`{"type":"AgentStepStarted","sequence":"one"}`:          "sequence",
		`{"type":"AgentExecutionStopped","stop_reason":"whim"}`: "is none of error",
	} {
		event, err := domain.Decode[domain.Event]([]byte(text))
		require.ErrorContains(t, err, fault, text)
		require.Empty(t, event.Type, text)
	}
	_, err := json.Marshal(domain.Event{})
	require.ErrorContains(t, err, "event: has no type")
}
