package files

import (
	"context"
	"fmt"
	"os"
	"strings"

	"everstep/domain"
)

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
		return "", domain.Errorf(domain.Invalid, "old: it is empty; give the passage to replace, or use write_file")
	case args.New:
		return "", domain.Errorf(domain.Invalid, "new: it equals old, so there is nothing to do")
	}
	return r.change(ctx, func() (string, error) {
		perm, err := r.writable(name)
		if err != nil {
			return "", err
		}
		found, err := r.open(name)
		if err != nil {
			return "", err
		}
		text, err := found.edited(args)
		if err != nil {
			return "", err
		}
		if err := r.replace(ctx, name, text, perm, func() error { return r.unchanged(found) }); err != nil {
			return "", err
		}
		before, _, _ := strings.Cut(found.text, args.Old)
		line := 1 + strings.Count(before, "\n")
		return fmt.Sprintf("replaced %s by %s in %s, line %d", plural(len(args.Old), "byte"), plural(len(args.New), "byte"), shown(name), line), nil
	})
}

// unchanged refuses a file that another process has changed since it was read.
func (r *Root) unchanged(read content) error {
	now, err := r.root.Lstat(read.name)
	if err != nil {
		return explain(read.name, err)
	}
	if !os.SameFile(now, read.info) || now.Size() != read.info.Size() || !now.ModTime().Equal(read.info.ModTime()) {
		return domain.Errorf(domain.Unavailable, "path: %q was changed by someone else meanwhile and was left alone; read it again", read.name)
	}
	return nil
}

func (c content) edited(args editArgs) (string, error) {
	switch {
	case c.cut:
		return "", domain.Errorf(domain.TooLarge, "path: %q has %d bytes, too many to edit", c.name, c.size)
	case c.binary:
		return "", domain.Errorf(domain.Invalid, "path: %q is not UTF-8 text", c.name)
	}
	switch first := strings.Index(c.text, args.Old); first {
	case -1:
		return "", domain.Errorf(domain.Invalid, "old: it does not occur in %q; read the file again, spaces and line ends count", c.name)
	case strings.LastIndex(c.text, args.Old):
		return c.text[:first] + args.New + c.text[first+len(args.Old):], nil
	}
	return "", domain.Errorf(domain.Invalid, "old: it occurs more than once in %q; take in more of what is around it", c.name)
}
