package domain_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// filledEvents has one event of each type, with something in every field.
func filledEvents(t testing.TB) []domain.RecordedEvent {
	t.Helper()
	var events []domain.RecordedEvent
	for _, typ := range domain.EventTypes() {
		empty, err := domain.Decode[domain.RecordedEvent](fmt.Appendf(nil, `{"type":%q}`, typ))
		require.NoError(t, err)
		event := reflect.New(reflect.TypeOf(empty.Event)).Elem()
		fill(event, string(typ))
		events = append(events, domain.RecordedEvent{Event: event.Interface().(domain.Event)})
	}
	return events
}

// TestEventTypesAgree reads the source: each Go type that embeds an EventHeader
// is an event, named by a constant, listed once and read back as itself.
func TestEventTypesAgree(t *testing.T) {
	t.Parallel()
	names := eventConstants(t)
	embeds := map[string]bool{}
	for _, file := range sources(t) {
		ast.Inspect(parsed(t, file), func(n ast.Node) bool {
			if n, ok := n.(*ast.TypeSpec); ok && embedsHeader(t, n) {
				embeds[n.Name.Name] = true
			}
			return true
		})
	}
	var listed []string
	for _, event := range filledEvents(t) {
		name := string(domain.EventTypeOf(event.Event))
		listed = append(listed, name)
		require.True(t, embeds[name], name)
		require.True(t, names[name], "%s has no constant", name)
		require.Equal(t, name, reflect.TypeOf(event.Event).Name(), "what is read back")
	}
	require.Len(t, embeds, len(listed), "an event that is not listed")
	require.Len(t, names, len(listed))
}

func embedsHeader(t *testing.T, spec *ast.TypeSpec) bool {
	t.Helper()
	structure, ok := spec.Type.(*ast.StructType)
	return ok && len(structure.Fields.List) > 0 && len(structure.Fields.List[0].Names) == 0 &&
		printed(t, structure.Fields.List[0].Type) == "EventHeader"
}

// eventConstants are the values of the constants of type EventType.
func eventConstants(t *testing.T) map[string]bool {
	t.Helper()
	values := map[string]bool{}
	for _, decl := range parsed(t, "event.go").Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			if c, ok := spec.(*ast.ValueSpec); ok && printed(t, c.Type) == "EventType" {
				value, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				values[value] = true
			}
		}
	}
	return values
}

func TestEventsHoldTheirHeader(t *testing.T) {
	t.Parallel()
	for _, event := range filledEvents(t) {
		head := event.Head()
		require.Equal(t, int64(7), head.Sequence)
		require.Equal(t, noon, head.Time)
		data := encoded(t, event)
		require.True(t, strings.HasPrefix(data, fmt.Sprintf(`{"type":%q,"sequence":7,`, domain.EventTypeOf(event.Event))), data)
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
		event, err := domain.Decode[domain.RecordedEvent]([]byte(text))
		require.ErrorContains(t, err, fault, text)
		require.Nil(t, event.Event, text)
	}
	_, err := json.Marshal(domain.RecordedEvent{})
	require.ErrorContains(t, err, "event: is none")
}
