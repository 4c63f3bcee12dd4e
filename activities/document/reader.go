package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
	"everstep/domain/spelling"
)

// The tags that the YAML parser gives to scalars.
const (
	tagText  = "!!str"
	tagInt   = "!!int"
	tagFloat = "!!float"
	tagBool  = "!!bool"
	tagNull  = "!!null"
)

const (
	// maxDepth bounds how deep values nest.
	maxDepth = 64
	// maxNodes bounds the values in a file, aliases followed.
	maxNodes = 1 << 18

	noAliases = "anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes"
	give      = "give it a value or leave the %s out"
)

// A Form is what all files of a kind have in common.
type Form struct {
	// MaxSize bounds a file in bytes.
	MaxSize int
	// Needs says what to do about a file without any key, Second about one with
	// a second document.
	Needs, Second string
	// Keys says where all keys of a file stand, for one that is like none of them. Empty: they are named.
	Keys string
	// Loose files may have anchors and aliases, and quotes do not matter: a
	// number is a text where a text is wanted, and the other way round.
	Loose bool
}

// A Reader reads the values of one file, and goes on after a problem.
type Reader struct {
	Form
	// File is the file's name in problems.
	File string
	// Offset is the lines of the file before the YAML.
	Offset   int
	Problems Problems
	// nodes is how many values were looked at.
	nodes int
}

// Text returns the text of a file, its line ends as \n.
func (r *Reader) Text(data []byte) (string, bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	wrong, line := "", 0
	switch {
	case len(data) > r.MaxSize:
		wrong = fmt.Sprintf("has more than %d bytes; make it smaller", r.MaxSize)
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		wrong = "is in UTF-16; save it as UTF-8"
	case !utf8.Valid(data):
		wrong, line = "is not valid UTF-8; save the file as UTF-8", 1
		for text := range bytes.Lines(data) {
			if !utf8.Valid(text) {
				break
			}
			line++
		}
	case len(bytes.TrimSpace(data)) == 0:
		wrong = "is empty; " + r.Needs
	default:
		return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)), true
	}
	r.ProblemAt(line, min(line, 1), "", "%s", wrong)
	return "", false
}

// Read reads the only document of a YAML text, and returns its keys; nil: there is none.
func (r *Reader) Read(text string, keys Keys) Given {
	root := r.Root(text)
	if root == nil {
		return nil
	}
	return r.At("", root).Mapping(keys)
}

// Root is the only value of a YAML text; nil: there is none, and all about it is told.
func (r *Reader) Root(text string) *yaml.Node {
	if strings.HasSuffix(strings.ToLower(r.File), ".toml") {
		return r.toml(text)
	}
	var document yaml.Node
	given := text
	if r.json() {
		var whole bool
		text = plainJSON(text)
		if given, whole = r.escapes(text); !whole {
			return nil
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(given))
	err := decoder.Decode(&document)
	nothing := len(document.Content) == 0 || document.Content[0].ShortTag() == tagNull && document.Content[0].Anchor == ""
	if errors.Is(err, io.EOF) || err == nil && nothing {
		r.ProblemAt(1, 1, "", "has no keys; %s", r.Needs)
		return nil
	}
	if err == nil {
		var more yaml.Node
		if err = decoder.Decode(&more); err == nil {
			r.At("", &more).Problem("begins a second document; %s", r.Second)
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		r.syntax(text, err)
		return nil
	}
	root := document.Content[0]
	if !r.Loose && !r.plain(root, 0) {
		return nil
	}
	return r.At("", root).value()
}

// plain reports anchors, aliases and tags, and nesting that is too deep; false: nothing else is read.
func (r *Reader) plain(node *yaml.Node, depth int) bool {
	at := r.At("", node)
	if depth > maxDepth {
		at.tooDeep()
		return false
	}
	switch {
	case node.Kind == yaml.AliasNode, node.Anchor != "":
		at.Problem("%s", noAliases)
	case node.Style&yaml.TaggedStyle != 0:
		at.Problem("the tag %s is not supported; write the value alone", Shorten(node.Tag))
	}
	for _, child := range node.Content {
		if !r.plain(child, depth+1) {
			return false
		}
	}
	return true
}

// Describe says what kind of value a node is.
func Describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		switch node.ShortTag() {
		case tagInt, tagFloat:
			return "a number"
		case tagBool:
			return "true or false"
		case tagNull:
			return "empty"
		case tagText:
			return "a text"
		}
		return "a date"
	case yaml.DocumentNode, yaml.AliasNode:
	}
	return "an alias"
}

// Suggest names the word that was most likely meant, or all.
func Suggest(word string, names []string) string {
	if near, ok := spelling.Nearest(word, names); ok {
		return fmt.Sprintf("did you mean %s?", near)
	}
	for _, name := range names {
		if strings.HasPrefix(strings.ToLower(word), name+"_") {
			return fmt.Sprintf("did you mean %s?", name)
		}
	}
	return thereAre + strings.Join(names, ", ")
}

const thereAre = "there are "

// Shorten is a text of the file as a message quotes it.
func Shorten(text string) string {
	if short := domain.Shorten(text, 60); short != text {
		return short + "…"
	}
	return text
}

var (
	// place finds the line in an error of the YAML parser.
	place = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)
	// unknownAnchor finds the name in one that has no line.
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

func (r *Reader) syntax(text string, err error) {
	line, message := 1, err.Error()
	if found := place.FindStringSubmatch(message); found != nil {
		message = found[2]
		if found[1] != "" {
			line, _ = strconv.Atoi(found[1]) // digits
		}
	}
	if r.json() {
		r.syntaxJSON(text, message)
		return
	}
	lines := strings.Split(text, "\n")
	if found := unknownAnchor.FindStringSubmatch(message); found != nil {
		for i, l := range lines {
			if column := strings.Index(l, "*"+found[1]); column >= 0 {
				r.ProblemAt(i+1+r.Offset, column+1, "", "%s", noAliases)
				return
			}
		}
	}
	if at, column, ok := tabbed(lines, line, message); ok {
		r.ProblemAt(at+r.Offset, column, "", "is indented with a tab; indent with spaces")
		return
	}
	what, mend := "is no YAML", "put a text that has a colon or begins with a special character into quotes"
	if strings.HasPrefix(message, "did not find expected") {
		line++ // the parser counts these from 0, and means where the part begins
		what, mend = what+" from here on", "close what it opens, indent its lines alike, or put a text into quotes"
	}
	r.ProblemAt(min(line, len(lines))+r.Offset, 1, "", "%s: %s; %s", what, message, mend)
}

// tabbed finds the tab that the parser's error is about, which names the line or where its part begins.
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
