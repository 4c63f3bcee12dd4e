package files

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"everstep/domain"
)

type readArgs struct {
	Path     string `json:"path" jsonschema:"the file, relative to the root"`
	FromLine int    `json:"from_line,omitzero" jsonschema:"the first line wanted, counted from 1; left out: 1"`
	ToLine   int    `json:"to_line,omitzero" jsonschema:"the last line wanted; left out: the last one"`
}

// maxShown is how much text one call returns: less than what a worker would cut.
const maxShown = 60_000

func (r *Root) read(_ context.Context, args readArgs) (string, error) {
	name, err := localFile(args.Path)
	if err != nil {
		return "", err
	}
	if args.FromLine < 0 || args.ToLine < 0 {
		return "", domain.Invalidf("from_line, to_line: lines are counted from 1")
	}
	if args.ToLine > 0 && args.ToLine < args.FromLine {
		return "", domain.Invalidf("to_line: %d comes before from_line %d", args.ToLine, args.FromLine)
	}
	found, err := r.open(name)
	if err != nil {
		return "", err
	}
	if found.binary {
		return fmt.Sprintf("[%s: %s, not UTF-8 text]", shown(name), plural(found.size, "byte")), nil
	}
	return found.lines(max(args.FromLine, 1), args.ToLine)
}

type content struct {
	name string
	text string
	// size is the file's, which may be more than was read.
	size int64
	cut  bool
	// binary means that it is not UTF-8 text, or holds zero bytes.
	binary bool
	info   fs.FileInfo
}

func (r *Root) open(name string) (content, error) {
	// Looked at first: to open a device may do something.
	if _, err := r.regular(name, func() (fs.FileInfo, error) { return r.root.Stat(name) }); err != nil {
		return content{}, err
	}
	file, err := r.atOnce(name)
	if err != nil {
		return content{}, explain(name, err)
	}
	defer file.Close()
	info, err := r.regular(name, file.Stat)
	if err != nil {
		return content{}, err
	}
	data, err := io.ReadAll(io.LimitReader(file, r.bounds.fileBytes+1))
	if err != nil {
		return content{}, explain(name, err)
	}
	c := content{name: name, size: max(info.Size(), int64(len(data))), info: info}
	c.text = domain.Shorten(string(data), int(r.bounds.fileBytes))
	cut := len(data) - len(c.text)
	c.cut = cut > 0
	c.binary = cut > utf8.UTFMax || !utf8.ValidString(c.text) || strings.ContainsRune(c.text, 0)
	return c, nil
}

// regular looks at what has a name, which has to be a file.
func (r *Root) regular(name string, look func() (fs.FileInfo, error)) (fs.FileInfo, error) {
	info, err := look()
	switch {
	case err != nil:
		return nil, explain(name, err)
	case info.IsDir():
		return nil, domain.Invalidf("path: %q is a folder; use list_files", name)
	case !info.Mode().IsRegular():
		return nil, domain.Invalidf("path: %q is a %s and not a file", name, r.kindOf(name, info))
	}
	return info, nil
}

// lines returns as many lines as may be shown, after one that says which they are.
func (c content) lines(from, to int) (string, error) {
	all := slices.Collect(strings.Lines(c.text))
	total := plural(len(all), "line")
	if c.cut {
		total = fmt.Sprintf("the first %d bytes of %d", len(c.text), c.size)
	}
	if len(all) == 0 && from == 1 {
		return fmt.Sprintf("[%s: empty]", shown(c.name)), nil
	}
	if from > len(all) {
		return "", domain.Invalidf("from_line: %d is past the end: %q has %s", from, c.name, total)
	}
	to = min(cmp.Or(to, len(all)), len(all))
	size, last := 0, from-1
	for last < to && size+len(all[last]) <= maxShown {
		size += len(all[last])
		last++
	}
	text, note := strings.Join(all[from-1:last], ""), ""
	if last == from-1 {
		line := all[last]
		text, last = domain.Shorten(line, maxShown), from
		note = fmt.Sprintf("; of line %d only the first %d of %d bytes", from, len(text), len(line))
	} else if last < to {
		note = fmt.Sprintf("; read on with from_line %d", last+1)
	}
	if from > 1 || last < len(all) || c.cut {
		total = fmt.Sprintf("lines %d to %d of %s", from, last, total)
	}
	return fmt.Sprintf("[%s: %s%s]\n%s", shown(c.name), total, note, text), nil
}
