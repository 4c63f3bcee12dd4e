//go:build unix

package wire

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPermitted stands inside the package: no test can mount a secret.
func TestPermitted(t *testing.T) {
	t.Parallel()
	const root, worker, other = 0, 1000, 1001
	for name, test := range map[string]struct {
		mode    fs.FileMode
		owner   int64
		mounted bool
		wrong   string
	}{
		"the worker's":               {mode: 0o600, owner: worker},
		"root's":                     {mode: 0o400, owner: root},
		"another's":                  {mode: 0o600, owner: other, wrong: "run chown"},
		"for all":                    {mode: 0o444, owner: root, wrong: "mount it as a secret below /run/secrets"},
		"for the group":              {mode: 0o440, owner: root, wrong: "run chmod 600"},
		"a secret of Docker's":       {mode: 0o444, owner: root, mounted: true},
		"a secret of Kubernetes'":    {mode: 0o440, owner: root, mounted: true},
		"a secret, the worker's":     {mode: 0o644, owner: worker, mounted: true},
		"a secret, another's":        {mode: 0o444, owner: other, mounted: true, wrong: "run chown"},
		"a secret that all write":    {mode: 0o646, owner: root, mounted: true, wrong: "let others write"},
		"a secret the group writes":  {mode: 0o660, owner: root, mounted: true, wrong: "let others write"},
		"a secret, closed to others": {mode: 0o600, owner: worker, mounted: true},
	} {
		err := permitted(test.mode, test.owner, worker, test.mounted)
		if test.wrong == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, test.wrong, name)
	}
}
