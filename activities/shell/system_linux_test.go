package shell

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestANamespaceIsFoundWhereTheSystemGivesOne: tests of what only a namespace does are skipped where none is found, so
// that an error in finding it must not look like a system without.
func TestANamespaceIsFoundWhereTheSystemGivesOne(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 || exec.Command("unshare", "--pid", "--fork", "true").Run() != nil {
		t.Skip("SKIPPED: this user gets no namespace of processes here")
	}
	s, _ := open(t, Config{})
	require.NotEqual(t, none, s.namespace)
}
