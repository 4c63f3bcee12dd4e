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
	"strings"

	"github.com/google/uuid"

	"everstep/activities/tool"
	"everstep/domain"
)

type writeArgs struct {
	Path    string `json:"path" jsonschema:"the file, relative to the root"`
	Content string `json:"content" jsonschema:"all of the new text"`
}

type editArgs struct {
	Path string `json:"path" jsonschema:"the file, relative to the root"`
	Old  string `json:"old" jsonschema:"the passage to replace, exactly as it stands in the file, spaces and line ends included"`
	New  string `json:"new" jsonschema:"what is to stand there instead"`
}

func (r *Root) edit(ctx context.Context, args editArgs) (string, error) {
	name, err := localFile(args.Path)
	if err != nil {
		return "", err
	}
	switch args.Old {
	case "":
		return "", domain.Invalidf("old: it is empty; give the passage to replace, or use write_file")
	case args.New:
		return "", domain.Invalidf("new: it equals old, so there is nothing to do")
	}
	return r.change(ctx, name, func() (string, error) {
		perm, err := r.writable(name)
		if err != nil {
			return "", err
		}
		found, err := r.open(name)
		if err != nil {
			return "", err
		}
		before, after, occurs := strings.Cut(found.text, args.Old)
		text := before + args.New + after
		switch {
		case found.cut:
			return "", domain.TooLargef("path: %q has %d bytes, too many to edit", name, found.size)
		case found.binary:
			return "", domain.Invalidf("path: %q is not UTF-8 text", name)
		case !occurs:
			return "", domain.Invalidf("old: it does not occur in %q; read the file again, spaces and line ends count", name)
		case strings.LastIndex(found.text, args.Old) != len(before):
			return "", domain.Invalidf("old: it occurs more than once in %q; take in more of what is around it", name)
		case int64(len(text)) > r.bounds.fileBytes:
			return "", domain.TooLargef("new: %q would have %d bytes, more than the %d that can be edited; put it into another file", name, len(text), r.bounds.fileBytes)
		}
		if err := r.replace(ctx, name, text, perm, found.info); err != nil {
			return "", err
		}
		line := 1 + strings.Count(before, "\n")
		return fmt.Sprintf("replaced %s by %s in %s, line %d", plural(len(args.Old), "byte"), plural(len(args.New), "byte"), shown(name), line), nil
	})
}

func (r *Root) write(ctx context.Context, args writeArgs) (string, error) {
	name, err := localFile(args.Path)
	if err != nil {
		return "", err
	}
	if size := int64(len(args.Content)); size > r.bounds.fileBytes {
		return "", domain.TooLargef("content: it has %d bytes, more than the %d that a file is given, and that can be read and edited; write several files", size, r.bounds.fileBytes)
	}
	if err := r.makeFolders(path.Dir(name)); err != nil {
		return "", err
	}
	return r.change(ctx, name, func() (string, error) {
		perm, err := r.writable(name)
		if err == nil && perm == 0 {
			err = r.hasRoom(name)
		}
		if err != nil {
			return "", err
		}
		if err := r.replace(ctx, name, args.Content, perm, nil); err != nil {
			return "", err
		}
		return fmt.Sprintf("wrote %s to %s", plural(len(args.Content), "byte"), shown(name)), nil
	})
}

// makeFolders makes what is missing of a folder's path, or none of it.
func (r *Root) makeFolders(dir string) error {
	missing := 0
	for above := dir; above != "."; above = path.Dir(above) {
		if _, err := r.root.Stat(above); err == nil {
			break
		}
		missing++
	}
	if missing > r.bounds.folders {
		return domain.TooLargef("path: %d of its folders do not exist, and one call makes at most %d; give a path of fewer", missing, r.bounds.folders)
	}
	if missing == 0 {
		return nil
	}
	return explain(dir, r.root.MkdirAll(dir, 0o755))
}

// hasRoom refuses another file in a folder that has more than can be listed.
func (r *Root) hasRoom(name string) error {
	dir := path.Dir(name)
	folder, err := r.atOnce(dir)
	if err != nil {
		return explain(dir, err)
	}
	defer folder.Close()
	if names, _ := folder.Readdirnames(r.bounds.entries); len(names) >= r.bounds.entries { // what cannot be read is refused by what follows
		return domain.TooLargef("path: the folder %q holds %d entries or more, as many as are listed; use another folder, or write to a file that is there", dir, r.bounds.entries)
	}
	return nil
}

// writable returns the permissions of the file that is replaced, zero for a new one.
func (r *Root) writable(name string) (fs.FileMode, error) {
	info, err := r.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, explain(name, err)
	}
	mode := info.Mode()
	switch {
	case mode&fs.ModeSymlink != 0: // a file put in its place would break it
		target, err := r.root.Readlink(name)
		if err != nil {
			return 0, explain(name, err)
		}
		if filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.FromSlash(path.Dir(name)), target)) {
			return 0, errLeadsOut(name)
		}
		return 0, domain.Invalidf("path: %q is a symbolic link to %q; give the path that it leads to", name, target)
	case !mode.IsRegular():
		return 0, domain.Invalidf("path: %q is a %s; give the path of a file", name, r.kindOf(name, info))
	case mode&0o200 == 0:
		return 0, domain.Deniedf("path: %q is read-only", name)
	}
	return mode.Perm(), nil
}

// replace puts a text under a name at once, also before a crash. A file that another process has changed since it was read
// is refused; nil: whatever is there is replaced.
func (r *Root) replace(ctx context.Context, name, text string, perm fs.FileMode, read fs.FileInfo) error {
	if ctx.Err() != nil {
		return errNotTouched()
	}
	call, ok := tool.ExecutionOf(ctx)
	if !ok {
		call.ID.UUID = uuid.New()
	}
	dir, aside := path.Dir(name), ""
	for attempt := range call.Attempt + 1 {
		aside = path.Join(dir, fmt.Sprintf("%s%s-%d%s", asidePrefix, call.ID, attempt, asideSuffix))
		_ = r.root.Remove(aside) // what an attempt that was killed has left behind
	}
	defer func() { _ = r.root.Remove(aside) }() // unless it took its place
	err := r.putAside(aside, text, perm)
	if err == nil && read != nil {
		var now fs.FileInfo
		now, err = r.root.Lstat(name)
		if err == nil && (!os.SameFile(now, read) || now.Size() != read.Size() || !now.ModTime().Equal(read.ModTime())) {
			err = domain.Errorf(domain.Unavailable, "path: %q was changed by someone else meanwhile and was left alone; read it again", name)
		}
	}
	if err == nil {
		err = r.root.Rename(aside, name)
	}
	if err != nil {
		return explain(name, err)
	}
	if folder, err := r.atOnce(dir); err == nil {
		_ = folder.Sync() // not every file system can
		_ = folder.Close()
	}
	return nil
}

const (
	asidePrefix = ".everstep-"
	asideSuffix = ".tmp"
)

func isTemporary(name string) bool {
	return strings.HasPrefix(name, asidePrefix) && strings.HasSuffix(name, asideSuffix)
}

// putAside writes a file and waits until the disk has it.
func (r *Root) putAside(name, text string, perm fs.FileMode) error {
	file, err := r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, cmp.Or(perm, 0o666))
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err == nil && perm != 0 {
		err = file.Chmod(perm)
	}
	if err == nil {
		err = file.Sync()
	}
	return cmp.Or(err, file.Close())
}
