//go:build linux

package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkCommand is what one command costs that does nothing.
func BenchmarkCommand(b *testing.B) {
	s, err := Open(Config{Dir: b.TempDir()})
	require.NoError(b, err)
	defer s.Close()
	for b.Loop() {
		_, err := call(b.Context(), s, `{"command":["true"]}`)
		require.NoError(b, err)
	}
}
