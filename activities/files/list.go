package files

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"everstep/domain"
)

type listArgs struct {
	Path      string `json:"path,omitzero" jsonschema:"the folder, relative to the root; left out: the root itself"`
	Glob      string `json:"glob,omitzero" jsonschema:"only what matches, like *.go, or src/**/*.go seen from the folder"`
	Recursive bool   `json:"recursive,omitzero" jsonschema:"also what is in folders below; .git is not entered"`
	Limit     int    `json:"limit,omitzero" jsonschema:"how many entries at most; left out: 500"`
}

const (
	defaultListed = 500
	maxListed     = 5000
)

func (r *Root) list(ctx context.Context, args listArgs) (string, error) {
	start, err := local(args.Path)
	if err != nil {
		return "", err
	}
	chosen, err := parseGlob(args.Glob)
	if err != nil {
		return "", err
	}
	limit, err := bound("limit", args.Limit, defaultListed, maxListed)
	if err != nil {
		return "", err
	}
	var lines []string
	more := 0
	w := walker{root: r, left: r.bounds.visited, deep: args.Recursive, visit: func(name string, info fs.FileInfo) error {
		if !chosen.match(below(start, name)) {
			return nil
		}
		if len(lines) == limit {
			more++
			return nil
		}
		lines = append(lines, r.line(name, info, args.Recursive))
		return nil
	}}
	if err := w.walk(ctx, start); err != nil {
		return "", err
	}
	if len(lines) == 0 {
		lines = append(lines, "[no entries]")
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("[%d more; raise limit, or narrow it with path or glob]", more))
	}
	return strings.Join(append(lines, w.notes()...), "\n"), nil
}

// line describes one entry. A folder's path ends in a slash.
func (r *Root) line(name string, info fs.FileInfo, deep bool) string {
	kind := r.kindOf(name, info)
	if !info.IsDir() {
		return shown(name) + "\t" + kind
	}
	if deep && path.Base(name) == repository {
		kind += ", not entered"
	}
	return shown(name+"/") + "\t" + kind
}

// bound is a number that a model gave: zero stands for the usual one.
func bound(field string, given, usual, most int) (int, error) {
	switch {
	case given < 0:
		return 0, domain.Errorf(domain.Invalid, "%s: %d is negative; give 1 to %d, or leave it out", field, given, most)
	case given == 0:
		return usual, nil
	}
	return min(given, most), nil
}
