package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"everstep/domain"
)

// A walker visits the entries below a path, folders before what they hold, in
// the order of their names. It does not follow links and does not enter .git.
type walker struct {
	root *Root
	// left is how many entries may still be visited; negative: there were more.
	left int
	// deep enters folders.
	deep bool
	// unread counts the folders that could not be read.
	unread int
	visit  func(name string, info fs.FileInfo) error
}

// errEnough is what a visit returns to end the walk.
var errEnough = errors.New("enough")

const repository = ".git"

// walk visits start's entries, or start itself where it is a file.
func (w *walker) walk(ctx context.Context, start string) error {
	info, err := w.root.root.Stat(start)
	if err != nil {
		return explain(start, err)
	}
	if !info.IsDir() {
		err = w.visit(start, info)
	} else {
		err = w.enter(ctx, start)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (w *walker) enter(ctx context.Context, dir string) error {
	names, err := w.names(ctx, dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		full := path.Join(dir, name)
		info, err := w.root.root.Lstat(full)
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone meanwhile
		}
		if err != nil {
			return explain(full, err)
		}
		if err := w.visit(full, info); err != nil {
			return err
		}
		if !w.deep || !info.IsDir() || name == repository {
			continue
		}
		if err := w.enter(ctx, full); err != nil {
			if _, ok := errors.AsType[*domain.Error](err); !ok {
				return err
			}
			w.unread++
		}
	}
	return nil
}

// names reads a folder's names in order, as far as the walk may still go.
func (w *walker) names(ctx context.Context, dir string) ([]string, error) {
	folder, err := w.root.root.Open(dir)
	if err != nil {
		return nil, explain(dir, err)
	}
	defer folder.Close()
	var names []string
	for w.left >= 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		some, err := folder.Readdirnames(1000)
		for _, name := range some {
			if isTemporary(name) {
				continue
			}
			if w.left--; w.left < 0 {
				break
			}
			names = append(names, name)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, explain(dir, err)
		}
	}
	slices.Sort(names)
	return names, nil
}

// notes says what the walk has left out.
func (w *walker) notes() []string {
	var notes []string
	if w.left < 0 {
		notes = append(notes, fmt.Sprintf("[not all was looked at: there are more than %d entries; give a path further down]", w.root.bounds.visited))
	}
	if w.unread > 0 {
		notes = append(notes, "["+plural(w.unread, "folder")+" could not be read]")
	}
	return notes
}

// below is a path as seen from where a walk began.
func below(start, name string) string {
	if start == "." {
		return name
	}
	if rest, ok := strings.CutPrefix(name, start+"/"); ok {
		return rest
	}
	return path.Base(name)
}
