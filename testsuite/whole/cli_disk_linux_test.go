package whole_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/worker/host"
)

// TestCLIFullDisk cannot write its answer: it says so and ends 1, since a
// script that reads the file must know.
func TestCLIFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here: a disk that is full was not tried")
	}
	t.Cleanup(func() { _ = full.Close() })
	s := start(t, host.Config{})
	c := newCLI(t).at(s)
	id, model := "full-"+s.queue, c.script("hello.yaml", hello)
	for _, args := range [][]string{
		{"run", "--quiet", "--id", id, "--model", model, "hi"}, {"result", id}, {"status", id, "--json"}, {"list"}, {"watch", id, "--json"}, {"--help"},
	} {
		p := c.prepare(args...)
		p.cmd.Stdout = full
		p.begin()
		got := p.wait()
		require.Equal(t, 1, got.code, "%v: %s", args, got.err)
		require.Contains(t, got.err, "no space left", "%v", args)
	}
}
