package artifact_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"

	"everstep/activities/artifact"
	"everstep/domain"
	"everstep/domain/contract"
)

func of(t *testing.T, agent string) context.Context {
	t.Helper()
	return contract.WithPlace(t.Context(), contract.Place{WorkflowID: agent})
}

// TestArtifact: a text is read back whole, part by part, by whoever's it is and by nobody else.
func TestArtifact(t *testing.T) {
	t.Parallel()
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	store := artifact.New(bucket)
	read := store.Tool()
	require.NoError(t, read.Check())
	require.Equal(t, domain.ReadOnly, read.Spec().Effect)
	id := domain.ToolExecutionID{UUID: uuid.MustParse("00000000-0000-4000-8000-000000000001")}
	text := strings.Repeat("aé€😀", 20_000)
	require.NoError(t, store.Keep(of(t, "agent/notes"), id, "an earlier attempt's"))
	require.NoError(t, store.Keep(of(t, "agent/notes"), id, text))

	for _, limit := range []int{7, 1000, 60_000, 61_440} {
		var whole strings.Builder
		parts := 0
		for offset := 0; offset < len(text) && parts < 300; parts++ {
			result, err := read.Call(of(t, "agent/notes"), fmt.Sprintf(`{"id":%q,"offset":%d,"limit":%d}`, id, offset, limit))
			require.NoError(t, err)
			require.LessOrEqual(t, len(result.Content), domain.MaxToolResult)
			head, part, _ := strings.Cut(result.Content, "\n")
			require.True(t, utf8.ValidString(part))
			require.NotContains(t, part, "\uFFFD", "%s", head)
			require.LessOrEqual(t, len(part), limit)
			whole.WriteString(part)
			offset += len(part)
			next := fmt.Sprintf("offset %d reads on]", offset)
			if offset == len(text) {
				next = "to its end]"
			}
			require.Contains(t, head, next)
		}
		require.True(t, strings.HasPrefix(text, whole.String()))
		if limit > 7 {
			require.Equal(t, len(text), whole.Len())
		}
	}
	for name, test := range map[string]struct{ agent, arguments, wrong string }{
		"another agent's":   {"agent/others", fmt.Sprintf(`{"id":%q}`, id), "this agent has no artifact"},
		"none":              {"agent/notes", `{"id":"00000000-0000-4000-8000-000000000002"}`, "this agent has no artifact"},
		"a path":            {"agent/notes", `{"id":"../others/00000000-0000-4000-8000-000000000001"}`, "is no artifact's"},
		"a form of a UUID":  {"agent/notes", `{"id":"{00000000-0000-4000-8000-000000000001}"}`, "is no artifact's"},
		"capitals":          {"agent/notes", `{"id":"urn:uuid:00000000-0000-4000-8000-000000000001"}`, "is no artifact's"},
		"beyond its end":    {"agent/notes", fmt.Sprintf(`{"id":%q,"offset":1000000}`, id), "the artifact has 200000 bytes"},
		"with a point":      {"agent/notes", fmt.Sprintf(`{"id":%q,"offset":1.0}`, id), "arguments: offset: is 1.0; give a whole number, without a point"},
		"before":            {"agent/notes", fmt.Sprintf(`{"id":%q,"offset":-1}`, id), "at /offset: is -1"},
		"more than at once": {"agent/notes", fmt.Sprintf(`{"id":%q,"limit":100000}`, id), "at /limit: is 100000"},
	} {
		_, err := read.Call(of(t, test.agent), test.arguments)
		require.ErrorContains(t, err, test.wrong, name)
		require.Equal(t, domain.Invalid, domain.AsError(err).Kind, name)
	}
	result, err := read.Call(of(t, "agent/notes"), fmt.Sprintf(`{"id":%q,"offset":200000}`, id))
	require.NoError(t, err)
	require.Equal(t, "[bytes 200000 to 200000 of 200000; to its end]\n", result.Content)
	result, err = read.Call(of(t, "agent/notes"), fmt.Sprintf(`{"id":%q,"offset":2,"limit":4}`, id))
	require.NoError(t, err)
	require.Equal(t, "[bytes 2 to 6 of 200000; offset 6 reads on]\n\uFFFD€", result.Content, "the rest of a character at the beginning is replaced")
}
