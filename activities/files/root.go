package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"everstep/activities/tool"
	"everstep/domain"
)

// A Root is a folder that agents may work in. It is safe for concurrent use.
type Root struct {
	root   *os.Root
	bounds bounds

	mu sync.Mutex
	// writing are the changes under way: two edits of one file do not lose one another,
	// and no file waits for another.
	writing []*change
}

// A change is of the file that has a name in a folder, by whichever links a path led there.
type change struct {
	folder, file os.FileInfo // no file: there is none yet
	base         string
	over         chan struct{}
}

func (c *change) meets(other *change) bool {
	return c.base == other.base && os.SameFile(c.folder, other.folder) || os.SameFile(c.file, other.file)
}

type bounds struct {
	// visited counts entries, fileBytes are of one file, allBytes of all in one search.
	visited   int
	fileBytes int64
	allBytes  int64
	// entries are of a folder in which a file is made, folders those that one call makes.
	entries, folders int
}

// Open opens a folder for tools. Nothing outside it can be reached through the
// root, also not after the folder was moved.
func Open(dir string) (*Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder for file tools: %w", err)
	}
	return &Root{
		root:   root,
		bounds: bounds{visited: 50_000, fileBytes: 1 << 20, allBytes: 256 << 20, entries: maxListed, folders: 16},
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

// change runs a change of a file, one of each file at a time. The file's folder exists.
func (r *Root) change(ctx context.Context, name string, run func() (string, error)) (string, error) {
	own := &change{base: path.Base(name), over: make(chan struct{})}
	for {
		var err error
		if own.folder, err = r.root.Stat(path.Dir(name)); err != nil {
			return "", explain(name, err)
		}
		own.file, _ = r.root.Lstat(name)
		r.mu.Lock()
		i := slices.IndexFunc(r.writing, own.meets)
		if i < 0 {
			r.writing = append(r.writing, own)
			r.mu.Unlock()
			break
		}
		other := r.writing[i]
		r.mu.Unlock()
		select {
		case <-other.over:
		case <-ctx.Done():
			return "", errNotTouched()
		}
	}
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.writing = slices.DeleteFunc(r.writing, func(c *change) bool { return c == own })
		close(own.over)
	}()
	return run()
}

// atOnce opens a file or a folder to read it. A pipe that has come in its place is not waited for.
func (r *Root) atOnce(name string) (*os.File, error) {
	return r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// errNotTouched is for a change that was cancelled before it began.
func errNotTouched() error {
	return tool.NotStarted(domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun, "not run: it was cancelled before the file was touched"))
}

// local returns a path of the model's in the form that the root takes, or says
// why it cannot be in the folder. The root itself is ".". Dots are resolved
// before links are, so "link/.." is where the link stands.
func local(name string) (string, error) {
	name = cmp.Or(name, ".")
	switch {
	case strings.ContainsRune(name, 0):
		return "", domain.Invalidf("path: %q holds a zero byte", name)
	case strings.HasPrefix(name, "/"), filepath.IsAbs(name):
		return "", domain.Deniedf("path: %q is absolute; give it relative to the root, like docs/notes.md", name)
	case !filepath.IsLocal(filepath.FromSlash(name)):
		return "", domain.Deniedf("path: %q leads out of the root; give a path inside it", name)
	}
	return path.Clean(name), nil
}

// localFile is local for a path that must name a file.
func localFile(name string) (string, error) {
	clean, err := local(name)
	if err == nil && (clean == "." || strings.HasSuffix(name, "/")) {
		return "", domain.Invalidf("path: %q names a folder; give the path of a file", name)
	}
	return clean, err
}

func explain(name string, err error) error {
	if _, ok := errors.AsType[*domain.Error](err); ok || err == nil {
		return err
	}
	inner, wrapped := errors.AsType[*fs.PathError](err)
	if wrapped && inner.Err.Error() == "path escapes from parent" { // there is no error to compare with
		return errLeadsOut(name)
	}
	for _, known := range []struct {
		is   error
		kind domain.Kind
		says string
	}{
		{fs.ErrNotExist, domain.Invalid, "path: %q does not exist; list_files shows what does"},
		{fs.ErrExist, domain.Invalid, "path: a part of %q is a file and not a folder"}, // where a folder was to be made
		{fs.ErrPermission, domain.Denied, "path: %q: the worker may not do that there"},
		{syscall.EROFS, domain.Denied, "path: %q: the worker may not do that there"},
		{syscall.ENOTDIR, domain.Invalid, "path: %q: a part of it is a file and not a folder"},
		{syscall.EISDIR, domain.Invalid, "path: %q is a folder"},
		{syscall.ENAMETOOLONG, domain.Invalid, "path: %q is too long for the file system"},
		{syscall.ELOOP, domain.Invalid, "path: %q is a circle of symbolic links"},
		{syscall.ENOSPC, domain.Denied, "path: %q: no space left to write it"},
		{syscall.EDQUOT, domain.Denied, "path: %q: no space left to write it"},
	} {
		if errors.Is(err, known.is) {
			return domain.Errorf(known.kind, known.says, domain.Shorten(name, 1000))
		}
	}
	if wrapped {
		err = inner.Err // without the path, which is the machine's own
	}
	return domain.Errorf(domain.Unavailable, "path: %q: %s", name, err)
}

func errLeadsOut(name string) error {
	return domain.Deniedf("path: %q leads out of the root through a symbolic link; give a path inside the root", name)
}

// shown is a path quoted where it holds what would break a line or a terminal.
func shown(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

func (r *Root) kindOf(name string, info os.FileInfo) string {
	if info.Mode().IsRegular() {
		return plural(info.Size(), "byte")
	}
	if target, err := r.root.Readlink(name); err == nil {
		return "link to " + shown(target)
	}
	words := map[fs.FileMode]string{fs.ModeDir: "folder", fs.ModeSymlink: "link", fs.ModeNamedPipe: "pipe", fs.ModeSocket: "socket"}
	return cmp.Or(words[info.Mode().Type()], "device")
}

func plural[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
