package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"regexp/syntax"
	"strings"

	"everstep/domain"
)

type searchArgs struct {
	Pattern string `json:"pattern" jsonschema:"what to find in a line: an RE2 regular expression, (?i) in front to ignore case"`
	Literal bool   `json:"literal,omitzero" jsonschema:"the pattern is a text to find as it is"`
	Path    string `json:"path,omitzero" jsonschema:"the folder or file, relative to the root; left out: the root itself"`
	Glob    string `json:"glob,omitzero" jsonschema:"only files that match, like *.go, or src/**/*.go seen from the folder"`
	Limit   int    `json:"limit,omitzero" jsonschema:"how many lines at most; left out: 100"`
}

const (
	defaultFound = 100
	maxFound     = 1000
	maxPattern   = 1000
	maxLine      = 240
)

func (r *Root) search(ctx context.Context, args searchArgs) (string, error) {
	w, err := r.walker(args.Path, args.Glob, args.Limit, defaultFound, maxFound)
	if err != nil {
		return "", err
	}
	pattern, err := parsePattern(args.Pattern, args.Literal)
	if err != nil {
		return "", err
	}
	s := searcher{root: r, pattern: pattern, limit: w.limit, left: r.bounds.allBytes}
	w.deep = true
	w.visit = func(name string, info fs.FileInfo) error {
		if info.Mode().IsRegular() {
			return s.file(name)
		}
		return nil
	}
	if err := w.walk(ctx); err != nil {
		return "", err
	}
	return strings.Join(append(s.answer(), w.notes()...), "\n"), nil
}

func parsePattern(pattern string, literal bool) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, domain.Invalidf("pattern: it is empty; say what to find")
	}
	if len(pattern) > maxPattern {
		return nil, domain.Invalidf("pattern: it has %d bytes; %d are allowed", len(pattern), maxPattern)
	}
	if literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	compiled, err := regexp.Compile(pattern)
	if wrong, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, domain.Invalidf("pattern: %s: %q; mend it, or set literal", wrong.Code, wrong.Expr)
	}
	return compiled, err
}

type searcher struct {
	root    *Root
	pattern *regexp.Regexp
	limit   int
	left    int64
	lines   []string
	// full means that there are more lines, spent that there are more bytes.
	full, spent bool
	// binary, unread and cut count the files that were not read, or not whole.
	binary, unread, cut int
}

func (s *searcher) file(name string) error {
	if s.left <= 0 {
		s.spent = true
		return fs.SkipAll
	}
	found, err := s.root.open(name)
	if err != nil {
		s.unread++
		return nil
	}
	s.left -= int64(len(found.text))
	if found.binary {
		s.binary++
		return nil
	}
	if found.cut {
		s.cut++
	}
	number := 0
	for line := range strings.Lines(found.text) {
		number++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		at := s.pattern.FindStringIndex(line)
		if at == nil {
			continue
		}
		if len(s.lines) == s.limit {
			s.full = true
			return fs.SkipAll
		}
		s.lines = append(s.lines, fmt.Sprintf("%s:%d: %s", shown(name), number, excerpt(line, at[0])))
	}
	return nil
}

// excerpt is a line, or so much of it around a match as is shown.
func excerpt(line string, at int) string {
	if len(line) <= maxLine {
		return line
	}
	from := len(domain.Shorten(line, min(max(at-maxLine/3, 0), len(line)-maxLine)))
	text := domain.Shorten(line[from:], maxLine)
	if from > 0 {
		text = "…" + text
	}
	return fmt.Sprintf("%s… [%d bytes]", text, len(line))
}

func (s *searcher) answer() []string {
	lines := s.lines
	note := func(hold bool, format string, args ...any) {
		if hold {
			lines = append(lines, fmt.Sprintf("["+format+"]", args...))
		}
	}
	note(len(lines) == 0, "no matches")
	note(s.full, "more than %d lines match; raise limit, or narrow it with path or glob", s.limit)
	note(s.spent, "not all was searched: the files hold more than %d bytes; narrow it with path or glob", s.root.bounds.allBytes)
	note(s.cut > 0, "%s longer than %d bytes: only the beginning was searched", plural(s.cut, "file"), s.root.bounds.fileBytes)
	note(s.binary > 0, "%s not searched: not UTF-8 text", plural(s.binary, "file"))
	note(s.unread > 0, "%s could not be read", plural(s.unread, "file"))
	return lines
}
