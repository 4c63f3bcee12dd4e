package domain_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestDerivedIDs holds the ids by which records name agents and executions. The
// literals were reckoned with another implementation of UUIDv5.
func TestDerivedIDs(t *testing.T) {
	t.Parallel()
	const run = "0195f0c2-6a5e-7c11-8f0a-2b1c3d4e5f60"
	agent, err := domain.AgentIDOf("alice")
	require.NoError(t, err)
	execution := agent.Execution(run, 1)
	step := execution.Step(1)
	for name, id := range map[string]struct {
		got  uuid.UUID
		want string
	}{
		"agent":            {agent.UUID, "4526f792-a438-5054-b7fb-4fcbcd7db4c0"},
		"execution":        {execution.UUID, "de4f2f92-ddf4-5909-b53e-cfb65fdaec06"},
		"second execution": {agent.Execution(run, 2).UUID, "301f0326-093c-5715-9ea0-7fb41d94df99"},
		"scheduled agent":  {domain.ScheduledAgent(run).UUID, "cd200f12-12da-5f13-af94-a707479f0de5"},
		"waiting message":  {agent.Waiting(run, 1).UUID, "d7831410-b259-5316-93e9-cac99cc0ec0f"},
		"prompt":           {execution.Prompt().UUID, "454ade3c-baae-5e72-8103-b36b38da9132"},
		"step":             {step.UUID, "8ee2ea59-0c0a-5c05-8a94-c7c203ce0e69"},
		"twelfth step":     {execution.Step(12).UUID, "56581ec3-296d-5128-b491-799c6db3283b"},
		"tool":             {step.Tool(0).UUID, "e1d22611-c3ed-5cb6-ab79-435b8cd0a708"},
		"message":          {step.Message(0).UUID, "33b59880-83aa-505e-88ed-8255ccd6a020"},
		"eleventh message": {step.Message(10).UUID, "5189f8a2-c292-50cf-94d0-459f097dd74b"},
		"of a request": {
			contract.ToolRequest{ExecutionID: execution, Step: 1, Position: 0}.ID().UUID, "e1d22611-c3ed-5cb6-ab79-435b8cd0a708",
		},
	} {
		require.Equal(t, id.want, id.got.String(), name)
	}
}

func TestAgentIDOf(t *testing.T) {
	t.Parallel()
	id, err := domain.AgentIDOf("4526F792-A438-5054-B7FB-4FCBCD7DB4C0")
	require.NoError(t, err)
	require.Equal(t, "4526f792-a438-5054-b7fb-4fcbcd7db4c0", id.String())
	require.Equal(t, "agent/alice", domain.WorkflowID("alice"))
}

func TestCheckAgentName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "z", "A", "Z", "0", "9", "alice", "build-42.main_x", "a.-_", strings.Repeat("n", domain.MaxAgentName)} {
		require.NoError(t, domain.CheckAgentName(name), name)
	}
	for name, fault := range map[string]string{
		"": "is empty", strings.Repeat("n", domain.MaxAgentName+1): "at most 200",
		"two words": `' ' at byte 3`, "a/b": `'/'`, ".a": `'.' at byte 0`, "-a": `'-' at byte 0`, "_a": "at byte 0", "`": "at byte 0", "{": "at byte 0", "@": "at byte 0", "[": "at byte 0", ":": "at byte 0", "ä": `'ä'`, "a\x00": `'\x00'`,
		"a\xff": "at byte 1", "4526f792-a438-5054-b7fb-4fcbcd7db4c0": "looks like a UUID",
		"4526f792a4385054b7fb4fcbcd7db4c0": "looks like a UUID",
	} {
		require.ErrorContains(t, domain.CheckAgentName(name), "id: ", name)
		require.ErrorContains(t, domain.CheckAgentName(name), fault, name)
		if len(name) == 36 {
			continue
		}
		_, err := domain.AgentIDOf(name)
		require.ErrorContains(t, err, fault, name)
	}
}

func TestTheZeroUUIDNamesNobody(t *testing.T) {
	t.Parallel()
	_, err := domain.AgentIDOf("00000000-0000-0000-0000-000000000000")
	require.ErrorContains(t, err, "id: ")
}

func TestDigestOfTextsIsThatOfBytes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 1000)
	for _, parts := range [][]string{nil, {""}, {"a", "", "bc"}, {long, "x"}, {long[:1024]}, {long[:1025]}} {
		var bytes [][]byte
		for _, part := range parts {
			bytes = append(bytes, []byte(part))
		}
		require.Equal(t, domain.DigestOf(bytes...), domain.DigestOfTexts(parts...))
	}
	require.NotEqual(t, domain.DigestOfTexts("a", "bc"), domain.DigestOfTexts("ab", "c"), "lengths count")
	require.Empty(t, domain.Digest{}.String())
}
