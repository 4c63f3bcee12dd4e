//go:build !linux

package script_test

import (
	"os/exec"

	"github.com/rogpeppe/go-internal/testscript"
)

// onTerminal fails: a script that needs it is skipped elsewhere than on Linux.
func (u *user) onTerminal(ts *testscript.TestScript, name string, _ *exec.Cmd) {
	ts.Fatalf("%s: terminals are made on Linux only", name)
}
