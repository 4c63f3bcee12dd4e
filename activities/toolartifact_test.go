package activities_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"

	"everstep/activities/artifact"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

// TestCallToolKeepsLongResults: whole, without secrets, and only those that are cut; what cannot be kept is
// said.
func TestCallToolKeepsLongResults(t *testing.T) {
	t.Parallel()
	bucket := memblob.OpenBucket(nil)
	store := artifact.New(bucket)
	text := "begin " + canary + strings.Repeat("x", 100_000) + "end"
	b := benchOf(fake(domain.ReadOnly, answering(text)))
	b.config.Artifacts, b.config.Secrets = store, oneSecret{}
	in := request("fake", domain.ReadOnly)
	reply := b.reply(t, in)
	require.LessOrEqual(t, len(reply.Content), domain.MaxToolResult)
	require.Contains(t, reply.Content, "bytes left out")
	require.True(t, strings.HasSuffix(reply.Content, fmt.Sprintf("end\n[the whole is artifact %s; read_artifact reads it]", in.ID())))
	ctx := contract.WithPlace(t.Context(), contract.Place{WorkflowID: "default-test-workflow-id"})
	kept, err := store.Tool().Call(ctx, fmt.Sprintf(`{"id":%q}`, in.ID()))
	require.NoError(t, err)
	require.Contains(t, kept.Content, "\nbegin [hidden]xxx")

	small := benchOf(fake(domain.ReadOnly, answering("short"), tool.MaxOutput(1024)))
	small.config.Artifacts = store
	in.Position++
	require.Equal(t, "short", small.reply(t, in).Content)
	_, err = store.Tool().Call(ctx, fmt.Sprintf(`{"id":%q}`, in.ID()))
	require.ErrorContains(t, err, "has no artifact")

	in.Position++
	again := b.reply(t, in)
	require.NotEqual(t, reply.Content, again.Content, "each names its own artifact")
	require.Equal(t, reply.ResultDigest, again.ResultDigest)
	other := benchOf(fake(domain.ReadOnly, answering(strings.Replace(text, "xxxx", "xyxx", 1)+" ")))
	other.config.Artifacts = store
	require.NotEqual(t, reply.ResultDigest, other.reply(t, in).ResultDigest)
	require.Zero(t, small.reply(t, in).ResultDigest, "what is shown whole says it itself")

	require.NoError(t, bucket.Close())
	require.Contains(t, b.reply(t, in).Content, "\n[the whole could not be kept]")
}
