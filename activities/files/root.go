package files

import (
	"context"
	"fmt"
	"os"

	"everstep/activities/tool"
	"everstep/domain"
)

// A Root is a folder that agents may work in. It is safe for concurrent use.
type Root struct {
	root *os.Root
	// writing holds a token while a file is changed, so that two edits in one step
	// do not lose one another.
	writing chan struct{}
	bounds  bounds
}

type bounds struct {
	// visited counts entries, fileBytes are of one file, allBytes of all in one search.
	visited   int
	fileBytes int64
	allBytes  int64
}

// Open opens a folder for tools. Nothing outside it can be reached through the
// root, also not after the folder was moved.
func Open(dir string) (*Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder for file tools: %w", err)
	}
	return &Root{
		root: root, writing: make(chan struct{}, 1),
		bounds: bounds{visited: 50_000, fileBytes: 1 << 20, allBytes: 256 << 20},
	}, nil
}

// Close ends the use of the folder. Calls that are under way fail.
func (r *Root) Close() error { return r.root.Close() }

// Tools returns the tools, the harmless first. Writing is idempotent, since it puts
// a whole file in place of another. An edit is at-most-once: done twice it would
// fail, or change what the first one wrote.
func (r *Root) Tools() []tool.Tool {
	return []tool.Tool{
		tool.New("list_files", "Lists the files and folders of a folder: one a line, a path and a tab and what it is. "+
			"Paths are relative to the root.", domain.ReadOnly, r.list),
		tool.New("read_file", "Reads a text file, or some of its lines. The first line of the answer, in square brackets, "+
			"says which lines follow and how many there are; the text follows as it is.", domain.ReadOnly, r.read),
		tool.New("search_files", "Finds the lines of text files that match a regular expression (RE2) or a literal text. "+
			"Answers file:line: text.", domain.ReadOnly, r.search),
		tool.New("write_file", "Writes a text file: creates it, with the folders it needs, or replaces all of it.", domain.Idempotent, r.write),
		tool.New("edit_file", "Replaces one passage of a text file by another. The passage must occur exactly once.", domain.AtMostOnce, r.edit),
	}
}

// change runs a change of a file, one at a time.
func (r *Root) change(ctx context.Context, run func() (string, error)) (string, error) {
	select {
	case r.writing <- struct{}{}:
		defer func() { <-r.writing }()
		return run()
	case <-ctx.Done():
		return "", errNotTouched()
	}
}

// errNotTouched is for a change that was cancelled before it began.
func errNotTouched() error {
	return tool.NotStarted(domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun, "not run: it was cancelled before the file was touched"))
}
