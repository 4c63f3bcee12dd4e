package agentfile

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A source is the parts of a file.
type source struct {
	// text is the YAML.
	text string
	// markdown says that there is a body: the text below the front matter,
	// which begins at a line of the file.
	markdown bool
	body     string
	bodyLine int
}

const fence = "---"

// frontMatter parts a Markdown file.
func (r *reader) frontMatter(text string) (source, bool) {
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], " \t") != fence {
		r.problemAt(1, 1, "", "has no front matter; let the first line be %s, then keys such as `model: PROVIDER/NAME`, then %s, then the system prompt", fence, fence)
		return source{}, false
	}
	for i, line := range lines[1:] {
		if strings.TrimRight(line, " \t") != fence {
			continue
		}
		r.offset = 1
		rest := lines[i+2:]
		first := i + 3
		for len(rest) > 0 && strings.TrimSpace(rest[0]) == "" {
			rest = rest[1:]
			first++
		}
		body := strings.TrimRight(strings.Join(rest, "\n"), " \t\n")
		return source{text: strings.Join(lines[1:i+1], "\n") + "\n", markdown: true, body: body, bodyLine: first}, true
	}
	r.problemAt(1, 1, "", "the front matter has no end; put a line %s below its last key", fence)
	return source{}, false
}

// document parses the YAML, and reports what an agent's file may not have
// anywhere: several documents, anchors, aliases and tags.
func (r *reader) document(s source) (*yaml.Node, bool) {
	var document, more yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(s.text))
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) || err == nil && empty(document) {
		r.problemAt(1, 1, "", "has no keys; give it at least `model: PROVIDER/NAME`")
		return nil, false
	}
	if err == nil {
		err = decoder.Decode(&more)
		if err == nil {
			r.problem(&more, "", "begins a second document; keep one agent in a file, and put a system prompt below front matter into a file that ends in .md")
			return nil, false
		}
	}
	if !errors.Is(err, io.EOF) {
		r.syntax(s.text, err)
		return nil, false
	}
	return document.Content[0], r.plain(document.Content[0], 0)
}

func empty(document yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].ShortTag() == tagNull && document.Content[0].Anchor == ""
}

var (
	// place finds the line in an error of the YAML parser.
	place = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)
	// unknownAnchor finds the name in one that has no line.
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntax notes an error of the YAML parser.
func (r *reader) syntax(text string, err error) {
	line, message := 1, err.Error()
	if found := place.FindStringSubmatch(message); found != nil {
		message = found[2]
		if found[1] != "" {
			line, _ = strconv.Atoi(found[1]) // digits
		}
	}
	lines := strings.Split(text, "\n")
	if found := unknownAnchor.FindStringSubmatch(message); found != nil {
		for i, l := range lines {
			if column := strings.Index(l, "*"+found[1]); column >= 0 {
				r.problemAt(i+1+r.offset, column+1, "", "%s", noAliases)
				return
			}
		}
	}
	if at, column, ok := tabbed(lines, line, message); ok {
		r.problemAt(at+r.offset, column, "", "is indented with a tab; indent with spaces")
		return
	}
	what := "is no YAML"
	if strings.HasPrefix(message, "did not find expected") {
		line++ // the parser counts these from 0, and means where the part begins
		what += " from here on"
	}
	r.problemAt(min(line, len(lines))+r.offset, 1, "", "%s: %s; put a text that has a colon or begins with a special character into quotes", what, message)
}

// tabbed finds the tab in an indentation that the parser's error is about. The
// error names the line, or where the part begins that the line is in.
func tabbed(lines []string, line int, message string) (at, column int, ok bool) {
	certain := strings.Contains(message, "a tab character")
	if !certain && !strings.Contains(message, "cannot start any token") {
		return 0, 0, false
	}
	for i := line - 1; i < len(lines); i++ {
		l := lines[i]
		indent := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if tab := strings.Index(indent, "\t"); tab >= 0 && strings.TrimSpace(l) != "" {
			return i + 1, tab + 1, true
		}
		if !certain {
			break
		}
	}
	return 0, 0, false
}
