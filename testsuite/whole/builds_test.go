package whole_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// otherBuild is the same user with a starter of another build.
func (c *cli) otherBuild() *cli {
	c.t.Helper()
	program, err := os.ReadFile(c.bin)
	require.NoError(c.t, err)
	other := *c
	other.bin = filepath.Join(filepath.Dir(c.dir), "starter")
	require.NoError(c.t, os.WriteFile(other.bin, append(program, "another build"...), 0o700))
	return &other
}

// build is the one that the user's starter names.
func (c *cli) build() string {
	c.t.Helper()
	found := regexp.MustCompile(`^starter (devel\+[0-9a-f]{12}/sdk-v[0-9.]+) \(go`).FindStringSubmatch(c.ok("--version"))
	require.Len(c.t, found, 2)
	return found[1]
}

// TestBuildsAreToldApart: whoever looks with another build at what is open is told so, the workers' build counts where some are
// up, and what one build has saved the other reads.
func TestBuildsAreToldApart(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	other := c.otherBuild()
	one, two := c.build(), other.build()
	require.NotEqual(t, one, two)
	model := c.script("say.yaml", "turns:\n  - text: done\n  - text: done again\n")
	c.ok("run", "--id", "notes", "--model", model, "hello")
	told := other.json("status", "notes")
	require.Equal(t, []any{one, two}, []any{told["build"], told["served_by"]})
	require.Contains(t, oneLined(other.ok("status", "notes")), "begun by build "+one+", this is "+two+": finish it there, or export and fork")
	require.NotContains(t, c.ok("status", "notes"), "build")
	require.Contains(t, other.ok("list", "--columns", "id,build"), one)
	dev := other.dev()
	dev.untilErr("open agents of another build: 1 (notes begun by build " + one + "), this is " + two + ": finish them there, or export and fork")
	require.Eventually(t, func() bool { return c.json("status", "notes")["served_by"] == two }, 30*time.Second, 50*time.Millisecond, "the server knows of a worker soon after that is up")
	for who, said := range map[*cli]string{c: "the workers are of " + two, other: "this is " + two} {
		require.Contains(t, oneLined(who.ok("status", "notes")), "begun by build "+one+", "+said+": finish it there, or export and fork")
		require.Contains(t, oneLined(who.do("doctor").out), "open agents of another build: 1 (notes begun by build "+one+"), "+said)
	}
	other.ok("send", "notes", "again", "--wait")
	require.Equal(t, two, c.json("status", "notes")["carried_by"])
	require.NotContains(t, other.ok("status", "notes"), "begun by build")
	other.ok("run", "--messages", other.file("state.json", c.ok("export", "notes", "--session")), "--id", "copy", "--model", model, "go on")
	require.Equal(t, two, c.json("status", "copy")["build"])
	c.ok("export", "notes", "-o", "notes.jsonl.zst")
	other.on("EVERSTEP_RECORDS="+filepath.Join(filepath.Dir(c.state), "kept")).ok("import", "notes.jsonl.zst")
	dev.interrupt().wait()
	c.dev().untilErr("copy begun by build " + two).untilErr("notes begun by build " + one + ", carried on by build " + two)
}
