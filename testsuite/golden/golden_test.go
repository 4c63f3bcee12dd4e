package golden_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/testsuite/golden"
)

// failing is a test that keeps its failure and goes no further, as a test does.
type failing struct {
	testing.TB
	text string
}

func (*failing) Helper()      {}
func (*failing) Name() string { return "TestThing/case" }

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func compare(path, got string, update bool) string {
	f := &failing{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		golden.Compare(f, path, got, update, "a field may come")
	}()
	<-done
	return f.text
}

func TestCompare(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kept.txt")
	require.Contains(t, compare(path, "a\n", false), "+ a")
	require.Empty(t, compare(path, "a\nb\nc\n", true))
	require.Empty(t, compare(path, "a\nb\nc\n", false))
	require.Equal(t, "golden: "+path+` holds something else than what comes now:
from line 2:
- b
+ x
+ y
a field may come
if this is meant: go test -run 'TestThing/case' -update, and read what it wrote`, compare(path, "a\nx\ny\nc\n", false))
	long := compare(path, strings.Repeat(strings.Repeat("é", 5000)+"\n", 1000), false)
	require.Less(t, len(long), 4000)
	require.Contains(t, long, "+ … and 988 lines more")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "a\nb\nc\n", string(kept), "only -update writes")
}
