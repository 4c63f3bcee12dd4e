package domain_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

func TestTagOfNonsense(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`"4526f792-a438-5054-b7fb-4fcbcd7db4cX"`, `7`, `null`, `"x"`, `{"a":1}`, ``,
		`{4526f792-a438-5054-b7fb-4fcbcd7db4c0}`, `"urn:uuid:4526f792-a438-5054-b7fb-4fc"`,
	} {
		m := domain.Message{Metadata: domain.Metadata{
			"agent_id": json.RawMessage(raw), "step_id": json.RawMessage(raw), "is_trace": json.RawMessage(raw),
		}}
		require.Equal(t, domain.Tag{}, domain.TagOf(m), raw)
	}
	require.Equal(t, domain.Tag{}, domain.TagOf(domain.Message{}))
}

// TestTagLaws: a tag reads back, the newest replaces any other, what else is
// noted stays, and the message that was given never changes.
func TestTagLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Custom(func(t *rapid.T) (id uuid.UUID) {
			if rapid.Bool().Draw(t, "present") {
				copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
			}
			return id
		})
		drawn := func(name string) domain.Tag {
			return domain.Tag{
				AgentID:         domain.AgentID{UUID: id.Draw(t, name+" agent")},
				ExecutionID:     domain.ExecutionID{UUID: id.Draw(t, name+" execution")},
				StepID:          domain.StepID{UUID: id.Draw(t, name+" step")},
				ToolExecutionID: domain.ToolExecutionID{UUID: id.Draw(t, name+" tool")},
				Trace:           rapid.Bool().Draw(t, name+" trace"),
			}
		}
		one, two := drawn("one"), drawn("two")
		m := domain.Message{Role: domain.RoleUser, Metadata: domain.Metadata{"note": json.RawMessage(`1`)}}
		tagged := one.Apply(m)
		require.Equal(t, one, domain.TagOf(tagged))
		again := two.Apply(tagged)
		require.Equal(t, two, domain.TagOf(again))
		require.Equal(t, one, domain.TagOf(tagged), "never shared")
		require.Equal(t, domain.Metadata{"note": json.RawMessage(`1`)}, m.Metadata)
		require.Equal(t, json.RawMessage(`1`), again.Metadata["note"])
		saved, err := domain.Decode[domain.Message]([]byte(encodedIn(t, again)))
		require.NoError(t, err)
		require.Equal(t, again, saved)
	})
}

func encodedIn(t *rapid.T, value any) string {
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return string(data)
}
