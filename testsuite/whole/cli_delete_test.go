package whole_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/starter/client"
)

// left counts what is there of the chatterbox: files, and runs that the server has.
func (c *chatterbox) left(t *testing.T) (n int) {
	t.Helper()
	for _, folder := range []string{c.storage, c.records} {
		_ = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error { // what is deleted meanwhile is not there
			if err == nil && !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				n++
			}
			return nil
		})
	}
	for range c.agents.List(within(t), client.ListOptions{All: true, ListFilter: client.ListFilter{Agent: c.name}}) {
		n++
	}
	return n
}

// TestDeleteThatIsKilled: the command is killed with -9 each time that something has gone, and called again: the rest goes,
// nothing is left, and what names the rest goes last. It runs in slices of a few milliseconds, stopped between them while
// the test looks, so that it cannot end unseen.
func TestDeleteThatIsKilled(t *testing.T) {
	t.Parallel()
	c := newChatterbox(t, "continuing", "quagga"+newCanary().head)
	recordedIn(t, storeAt(t, c.records), c.name, 2)
	user := newCLI(t).at(c.stack).on("EVERSTEP_STORAGE="+c.storage, "EVERSTEP_RECORDS="+c.records)
	kills, last := 0, said{}
	for before := c.left(t); ; before = c.left(t) {
		require.Less(t, kills, 100)
		deleting := user.start("delete", c.name, "--yes")
		for deleting.running() && c.left(t) == before {
			deleting.signal(syscall.SIGCONT)
			time.Sleep(2 * time.Millisecond)
			deleting.signal(syscall.SIGSTOP)
		}
		if deleting.running() {
			deleting.kill()
			kills++
		}
		if last = deleting.wait(); last.code >= 0 { // it ended by itself
			break
		}
	}
	require.Contains(t, []int{0, 4}, last.code, last.err) // all may have been deleted by the one that was killed last
	require.Positive(t, kills)
	t.Logf("killed %d times", kills)
	require.Eventually(t, func() bool { return c.left(t) == 0 }, patience, 50*time.Millisecond)
	for _, folder := range []string{c.storage, c.records} {
		v := new(trove)
		v.addFiles(t, "files", folder)
		require.Empty(t, v.holds([]byte(c.secret)), folder)
	}
	_, err := os.Stat(filepath.Join(c.records, domainID(t, c.name).String()))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, 4, user.do("delete", c.name, "--yes").code, "nothing is left of it")
}
