package files

import (
	"cmp"
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

// A walker visits the entries below a path that a glob chooses, in the order of
// their names. It does not follow links and does not enter .git.
type walker struct {
	root   *Root
	start  string
	chosen glob
	// limit is how many lines the model wants at most.
	limit int
	// left is how many entries may still be visited; negative: there were more.
	left   int
	deep   bool
	unread int
	// visit ends the walk where it returns fs.SkipAll.
	visit func(name string, info fs.FileInfo) error
}

const repository = ".git"

// walker returns one for what a model asks for; no limit stands for the usual one.
func (r *Root) walker(start, pattern string, limit, usual, most int) (*walker, error) {
	start, err := local(start)
	if err != nil {
		return nil, err
	}
	if limit < 0 {
		return nil, domain.Invalidf("limit: %d is negative; give 1 to %d, or leave it out", limit, most)
	}
	chosen, err := parseGlob(pattern)
	return &walker{root: r, start: start, chosen: chosen, limit: min(cmp.Or(limit, usual), most), left: r.bounds.visited}, err
}

// walk visits start's entries, or start itself where it is a file.
func (w *walker) walk(ctx context.Context) error {
	info, err := w.root.root.Stat(w.start)
	if err != nil {
		return explain(w.start, err)
	}
	if info.IsDir() {
		err = w.enter(ctx, w.start)
	} else if w.chosen.match(path.Base(w.start)) {
		err = w.visit(w.start, info)
	}
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (w *walker) enter(ctx context.Context, dir string) error {
	names, err := w.names(dir)
	if err != nil {
		return explain(dir, err)
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
		if w.chosen.match(strings.TrimPrefix(full, w.start+"/")) { // seen from where the walk began
			if err := w.visit(full, info); err != nil {
				return err
			}
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
func (w *walker) names(dir string) ([]string, error) {
	if w.left < 0 {
		return nil, nil
	}
	folder, err := w.root.atOnce(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(w.left + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if w.left -= len(names); w.left < 0 {
		names = names[1:]
	}
	names = slices.DeleteFunc(names, isTemporary)
	slices.Sort(names)
	return names, nil
}

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

// A glob chooses paths. One without a slash is about the last part of a path,
// in whatever folder; in one with slashes ** stands for any number of folders.
// The zero value takes every path.
type glob []string

const maxGlob = 1000

func parseGlob(pattern string) (glob, error) {
	if pattern == "" {
		return nil, nil
	}
	if len(pattern) > maxGlob {
		return nil, domain.Invalidf("glob: it has %d bytes; %d are allowed", len(pattern), maxGlob)
	}
	if strings.ContainsAny(pattern, "{}") {
		return nil, domain.Invalidf("glob: %q: braces are not known here; ask once for each alternative", pattern)
	}
	parts := strings.Split(strings.Trim(pattern, "/"), "/")
	if !strings.Contains(pattern, "/") {
		parts = []string{"**", pattern}
	}
	for _, part := range parts {
		if _, err := path.Match(part, ""); err != nil {
			return nil, domain.Invalidf("glob: %q is not valid: close every [ and put something after every \\", pattern)
		}
	}
	return parts, nil
}

// match reports whether a path, relative to where the search began, is chosen.
func (g glob) match(name string) bool {
	if len(g) == 0 {
		return true
	}
	names := strings.Split(name, "/")
	// reached[j] says that the parts so far can stand for the first j names.
	reached := make([]bool, len(names)+1)
	reached[0] = true
	for _, part := range g {
		next := make([]bool, len(names)+1)
		for j := range reached {
			if part == "**" {
				next[j] = reached[j] || j > 0 && next[j-1]
			} else if j > 0 && reached[j-1] {
				next[j], _ = path.Match(part, names[j-1])
			}
		}
		reached = next
	}
	return reached[len(names)]
}
