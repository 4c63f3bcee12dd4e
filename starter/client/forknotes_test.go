package client

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// A fork from before the first step begins with what its origin had been given, and not with what it noted since.
func TestAForkFromTheBeginningHasTheMetadataOfThen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	state := domain.NewAgentState(domain.AgentID{UUID: uuid.New()}, domain.AgentID{}, now, domain.LLMConfig{Provider: "scripted", Model: "/x"})
	for key, value := range map[string]string{"given": `"changed"`, "todo": `[{"text":"later"}]`} {
		var err error
		state, err = state.WithMetadata(key, json.RawMessage(value), now)
		require.NoError(t, err)
	}
	given, err := domain.NewStartOptions(domain.Metadata{"given": json.RawMessage(`"first"`)}, nil, nil)
	require.NoError(t, err)
	then, err := withNotesAtStart(state, given, now)
	require.NoError(t, err)
	require.Equal(t, domain.Metadata{"given": json.RawMessage(`"first"`)}, then.Metadata)
	then, err = withNotesAtStart(state, nil, now)
	require.NoError(t, err)
	require.Empty(t, then.Metadata)
	require.Len(t, state.Metadata, 2)
}
