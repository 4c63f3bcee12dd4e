package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, map[string]string{"old.txt": "old text", "run.sh": "", "locked": "kept", "file": ""})
	require.NoError(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o777))
	require.NoError(t, os.Chmod(filepath.Join(dir, "locked"), 0o444))
	for _, c := range []struct{ path, text, want string }{
		{"new.txt", "é", "wrote 2 bytes to new.txt"},
		{"old.txt", "new", "wrote 3 bytes to old.txt"},
		{"old.txt", "new", "wrote 3 bytes to old.txt"},
		{"a/b/c.txt", "", "wrote 0 bytes to a/b/c.txt"},
		{"run.sh", "#!/bin/sh\n", "wrote 10 bytes to run.sh"},
	} {
		require.Equal(t, c.want, answer(t, root, "write_file", fields{"path": c.path, "content": c.text}))
		require.Equal(t, c.text, stored(t, dir, c.path))
	}
	info, err := os.Stat(filepath.Join(dir, "run.sh"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o777), info.Mode().Perm(), "permissions are kept, whatever new files get")
	info, err = os.Stat(filepath.Join(dir, "new.txt"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm()&0o600)
	require.NotContains(t, strings.Join(names(t, dir), " "), asidePrefix, "nothing is left lying about")

	for path, want := range map[string]string{
		"a":                                    "is a folder",
		"locked":                               "is read-only",
		"file/below.txt":                       "is a file and not a folder",
		"":                                     "names a folder",
		strings.Repeat("x", 300):               "too long for the file system",
		"a/" + strings.Repeat("y", 300) + "/z": "too long for the file system",
	} {
		own := refusal(t, root, "write_file", fields{"path": path, "content": "x"})
		require.Contains(t, own.Message, want)
		require.False(t, own.Kind.Retryable())
	}
	require.Equal(t, "kept", stored(t, dir, "locked"))
}

// TestWriteIsBounded in bytes, in files of a folder and in folders, and says what the bound is and what to do.
func TestWriteIsBounded(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, map[string]string{"full/a": "", "full/b": "", "full/c": "old", "big": strings.Repeat("x", 30)})
	root.bounds.fileBytes, root.bounds.entries, root.bounds.folders = 20, 3, 2
	for _, c := range []struct{ tool, path, text, want string }{
		{"write_file", "new", strings.Repeat("é", 11), "content: it has 22 bytes, more than the 20 that a file is given, and that can be read and edited; write several files"},
		{"write_file", "full/d", "", `path: the folder "full" holds 3 entries or more, as many as are listed; use another folder, or write to a file that is there`},
		{"write_file", "1/2/3/new", "", "path: 3 of its folders do not exist, and one call makes at most 2; give a path of fewer"},
		{"edit_file", "full/c", strings.Repeat("n", 21), `new: "full/c" would have 21 bytes, more than the 20 that can be edited; put it into another file`},
		{"edit_file", "big", "", `path: "big" has 30 bytes, too many to edit`},
	} {
		given := fields{"path": c.path, "content": c.text}
		if c.tool == "edit_file" {
			given = fields{"path": c.path, "old": "old", "new": c.text}
		}
		own := refusal(t, root, c.tool, given)
		require.Equal(t, c.want, own.Message)
		require.Equal(t, domain.TooLarge, own.Kind)
	}
	require.NoDirExists(t, filepath.Join(dir, "1"), "none of the folders is made")
	require.Equal(t, "old", stored(t, dir, "full/c"))
	for path, text := range map[string]string{"1/2/other": strings.Repeat("é", 10), "1/2/new": "", "full/c": "replaced"} {
		answer(t, root, "write_file", fields{"path": path, "content": text})
		require.Equal(t, text, stored(t, dir, path))
	}
	answer(t, root, "edit_file", fields{"path": "full/c", "old": "replaced", "new": strings.Repeat("n", 20)})
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// An attempt that was killed between writing aside and renaming leaves its file
// behind; the next attempt of the same call takes it away.
func TestWriteClearsUpAfterAKilledAttempt(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, nil)
	work := tool.Call{ID: domain.ToolExecutionID{UUID: uuid.MustParse("00000000-0000-4000-8000-000000000007")}, Attempt: 1}
	require.NoError(t, root.putAside(".everstep-00000000-0000-4000-8000-000000000007-1.tmp", "half of it", 0))
	require.Equal(t, "[no entries]", answer(t, root, "list_files", ""), "it is nobody's business")

	work.Attempt = 2
	_, err := call(tool.WithExecution(t.Context(), work), t, root, "write_file", `{"path":"report.md","content":"all"}`)
	require.NoError(t, err)
	require.Equal(t, []string{"report.md"}, names(t, dir))
	require.Equal(t, "all", stored(t, dir, "report.md"))
}

func TestEdit(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, map[string]string{
		"a.txt": "one\ntwo\nthree\n", "twice": "x x", "overlap": "aaa", "image": "\x00x", "crlf": "a\r\nb", "locked": "x",
	})
	require.NoError(t, os.Chmod(filepath.Join(dir, "a.txt"), 0o600))
	require.NoError(t, os.Chmod(filepath.Join(dir, "locked"), 0o400))
	require.Equal(t, "replaced 4 bytes by 3 bytes in a.txt, line 2",
		answer(t, root, "edit_file", `{"path":"a.txt","old":"two\n","new":"2\r\n"}`))
	require.Equal(t, "one\n2\r\nthree\n", stored(t, dir, "a.txt"))
	info, err := os.Stat(filepath.Join(dir, "a.txt"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, "replaced 6 bytes by 0 bytes in a.txt, line 3", answer(t, root, "edit_file", `{"path":"a.txt","old":"three\n","new":""}`))
	require.Equal(t, "one\n2\r\n", stored(t, dir, "a.txt"))

	for _, c := range []struct{ path, old, new, want string }{
		{"a.txt", "two", "x", `old: it does not occur in "a.txt"; read the file again`},
		{"twice", "x", "y", `old: it occurs more than once in "twice"`},
		{"overlap", "aa", "b", "old: it occurs more than once"},
		{"a.txt", "", "x", "old: it is empty"},
		{"a.txt", "one", "one", "new: it equals old"},
		{"image", "x", "y", "is not UTF-8 text"},
		{"crlf", "a\nb", "y", "does not occur"},
		{"none", "x", "y", `path: "none" does not exist`},
		{".", "x", "y", "names a folder"},
		{"locked", "x", "y", "is read-only"},
	} {
		require.Contains(t, refusal(t, root, "edit_file", fields{"path": c.path, "old": c.old, "new": c.new}).Message, c.want)
	}
	require.Equal(t, "x x", stored(t, dir, "twice"))
	root.bounds.fileBytes = 2
	require.Equal(t, domain.TooLarge, refusal(t, root, "edit_file", `{"path":"twice","old":"x x","new":"y"}`).Kind)
}

func TestEditsAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "<%d>", i)
	}
	root, dir := folder(t, map[string]string{"a.txt": text.String()})
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			_, err := root.edit(context.Background(), editArgs{Path: "a.txt", Old: fmt.Sprintf("<%d>", i), New: fmt.Sprintf("(%d)", i)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.Equal(t, strings.NewReplacer("<", "(", ">", ")").Replace(text.String()), stored(t, dir, "a.txt"))
}

// A change is of a file, by whichever path: also of one that is not there yet.
func TestPathsToOneFileAreChangedInTurn(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, map[string]string{"d/x": "one two"})
	require.NoError(t, os.Symlink("d", filepath.Join(dir, "l")))
	for _, name := range []string{"x", "new"} {
		_, err := root.change(t.Context(), "d/"+name, func() (string, error) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := root.change(ctx, "l/"+name, func() (string, error) { return "", nil })
			require.ErrorContains(t, err, "before the file was touched", "it waits")
			_, err = root.change(ctx, "l/other", func() (string, error) { return "", nil })
			require.NoError(t, err, "another file does not")
			return "", nil
		})
		require.NoError(t, err)
	}
	answer(t, root, "edit_file", `{"path":"l/x","old":"one","new":"1"}`)
	answer(t, root, "edit_file", `{"path":"d/x","old":"two","new":"2"}`)
	require.Equal(t, "1 2", stored(t, dir, "d/x"))
	require.Contains(t, refusal(t, root, "edit_file", `{"path":"none/x","old":"a","new":"b"}`).Message, `"none/x" does not exist`)
}

func TestEditLeavesAFileThatOthersChange(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, map[string]string{"a.txt": "old"})
	read, err := root.open("a.txt")
	require.NoError(t, err)
	replace := func() error { return root.replace(t.Context(), "a.txt", "new", 0, read.info) }
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("older"), 0o644))
	require.ErrorContains(t, replace(), "was changed by someone else meanwhile")
	answer(t, root, "write_file", `{"path":"a.txt","content":"old"}`)
	require.Error(t, replace(), "the same text, and another file")
	require.NoError(t, os.Remove(filepath.Join(dir, "a.txt")))
	require.ErrorContains(t, replace(), "does not exist")
	answer(t, root, "write_file", `{"path":"a.txt","content":"old"}`)
	require.Equal(t, []string{"a.txt"}, names(t, dir))

	read, err = root.open("a.txt")
	require.NoError(t, err)
	require.NoError(t, replace())
	require.Equal(t, "new", stored(t, dir, "a.txt"))
}

// A change that hangs, as on a mount whose server is gone, holds up its file alone.
func TestAChangeThatHangsHoldsUpItsFileAlone(t *testing.T) {
	t.Parallel()
	root, dir := folder(t, map[string]string{"a.txt": "one", "b.txt": "one"})
	hangs, release := make(chan struct{}), make(chan struct{})
	var held sync.WaitGroup
	held.Go(func() {
		_, _ = root.change(context.Background(), "a.txt", func() (string, error) {
			close(hangs)
			<-release
			return "", nil
		})
	})
	<-hangs
	answer(t, root, "edit_file", `{"path":"./b.txt","old":"one","new":"two"}`)
	require.Equal(t, "two", stored(t, dir, "b.txt"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := root.write(ctx, writeArgs{Path: "./a.txt", Content: "two"})
	require.ErrorContains(t, err, "before the file was touched")
	close(release)
	held.Wait()
	answer(t, root, "write_file", `{"path":"a.txt","content":"two"}`)
	require.Equal(t, "two", stored(t, dir, "a.txt"))
	require.Empty(t, root.writing)
}
