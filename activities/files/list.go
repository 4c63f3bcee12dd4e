package files

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
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
	w, err := r.walker(args.Path, args.Glob, args.Limit, defaultListed, maxListed)
	if err != nil {
		return "", err
	}
	var lines []string
	more := 0
	w.deep = args.Recursive
	w.visit = func(name string, info fs.FileInfo) error {
		if len(lines) >= w.limit {
			more++
			return nil
		}
		kind := r.kindOf(name, info)
		if info.IsDir() {
			if args.Recursive && path.Base(name) == repository {
				kind += ", not entered"
			}
			name += "/"
		}
		lines = append(lines, shown(name)+"\t"+kind)
		return nil
	}
	if err := w.walk(ctx); err != nil {
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
