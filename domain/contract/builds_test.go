package contract

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuilds(t *testing.T) {
	t.Parallel()
	var b Builds
	require.Empty(t, b.Newest())
	for _, step := range []struct {
		build string
		want  Builds
	}{
		{"a", Builds{Begun: "a"}}, {"a", Builds{Begun: "a"}}, {"b", Builds{"a", "b"}}, {"b", Builds{"a", "b"}}, {"a", Builds{"a", "a"}}, {"c", Builds{"a", "c"}},
	} {
		b = b.With(step.build)
		require.Equal(t, step.want, b)
		require.Equal(t, step.build, b.Newest())
	}
}
