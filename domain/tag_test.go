package domain_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// TestTagKeys pins what a tag looks like in a message's metadata.
func TestTagKeys(t *testing.T) {
	t.Parallel()
	execution := executionID(1)
	step := execution.Step(1)
	full := domain.Tag{AgentID: sampleAgent(), ExecutionID: execution, StepID: step, ToolExecutionID: step.Tool(0), Trace: true}
	require.JSONEq(t, `{
		"agent_id": "4526f792-a438-5054-b7fb-4fcbcd7db4c0", "execution_id": "de4f2f92-ddf4-5909-b53e-cfb65fdaec06",
		"step_id": "8ee2ea59-0c0a-5c05-8a94-c7c203ce0e69", "tool_execution_id": "e1d22611-c3ed-5cb6-ab79-435b8cd0a708",
		"is_trace": true}`, encoded(t, full.Apply(domain.UserMessage("x")).Metadata))
	answer := domain.Tag{AgentID: sampleAgent(), ExecutionID: execution, StepID: step}.Apply(domain.UserMessage("x"))
	require.NotContains(t, answer.Metadata, "is_trace", "absent and not false")
	require.NotContains(t, answer.Metadata, "tool_execution_id")
	user := domain.Tag{ExecutionID: execution}.Apply(domain.UserMessage("x"))
	require.Equal(t, `{"execution_id":"de4f2f92-ddf4-5909-b53e-cfb65fdaec06"}`, encoded(t, user.Metadata))
	require.Nil(t, domain.Tag{}.Apply(user).Metadata)
}

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
