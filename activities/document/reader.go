package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
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
	// nodes is how many more values may be looked at.
	nodes int
}

// Text returns the text of a file, its line ends as \n.
func (r *Reader) Text(data []byte) (string, bool) {
	fail := func(format string, args ...any) (string, bool) {
		r.Problems = append(r.Problems, Problem{File: r.File, Message: fmt.Sprintf(format, args...)})
		return "", false
	}
	switch {
	case len(data) > r.MaxSize:
		return fail("has more than %d bytes; make it smaller", r.MaxSize)
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return fail("is in UTF-16; save it as UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		line := 1
		for text := range bytes.Lines(data) {
			if !utf8.Valid(text) {
				break
			}
			line++
		}
		r.ProblemAt(line, 1, "", "is not valid UTF-8; save the file as UTF-8")
		return "", false
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
	if strings.TrimSpace(text) == "" {
		return fail("is empty; %s", r.Needs)
	}
	return text, true
}

// Read reads the only document of a YAML text, and returns its keys; nil: there is none.
func (r *Reader) Read(text string, keys Keys) Given {
	root := r.Root(text)
	if root == nil {
		return nil
	}
	return r.Mapping("", root, keys)
}

// Parsed is Read for a mapping that another has parsed.
func (r *Reader) Parsed(field string, mapping *yaml.Node, keys Keys) Given {
	r.nodes = maxNodes
	return r.Mapping(field, mapping, keys)
}

// Root is the only value of a YAML text; nil: there is none, and all about it is told.
func (r *Reader) Root(text string) *yaml.Node {
	if strings.HasSuffix(strings.ToLower(r.File), ".toml") {
		r.nodes = maxNodes
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
	if errors.Is(err, io.EOF) || err == nil && empty(document) {
		r.ProblemAt(1, 1, "", "has no keys; %s", r.Needs)
		return nil
	}
	if err == nil {
		var more yaml.Node
		if err = decoder.Decode(&more); err == nil {
			r.Problem(&more, "", "begins a second document; %s", r.Second)
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		r.syntax(text, err)
		return nil
	}
	r.nodes = maxNodes
	root := document.Content[0]
	if !r.Loose && !r.plain(root, 0) {
		return nil
	}
	return r.value("", root)
}

func empty(document yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].ShortTag() == tagNull && document.Content[0].Anchor == ""
}

// plain reports anchors, aliases and tags, and nesting that is too deep; false: nothing else is read.
func (r *Reader) plain(node *yaml.Node, depth int) bool {
	if depth > maxDepth {
		r.tooDeep(node, "")
		return false
	}
	switch {
	case node.Kind == yaml.AliasNode, node.Anchor != "":
		r.Problem(node, "", "%s", noAliases)
	case node.Style&yaml.TaggedStyle != 0:
		r.Problem(node, "", "the tag %s is not supported; write the value alone", Shorten(node.Tag))
	}
	for _, child := range node.Content {
		if !r.plain(child, depth+1) {
			return false
		}
	}
	return true
}

func (r *Reader) tooDeep(node *yaml.Node, field string) {
	r.Problem(node, field, "nests deeper than %d levels; make it flatter", maxDepth)
}

// value returns the node that stands for a value, nil where all about it is told.
func (r *Reader) value(field string, node *yaml.Node) *yaml.Node {
	if !r.Loose && (node.Kind == yaml.AliasNode || node.Style&yaml.TaggedStyle != 0) {
		return nil // plain has told
	}
	for {
		if r.nodes--; r.nodes < 0 {
			if r.nodes == -1 {
				r.Problem(node, field, "has too many values; aliases may repeat themselves")
			}
			return nil
		}
		if node.Kind != yaml.AliasNode {
			return node
		}
		node = node.Alias
	}
}

// Given are the keys of a mapping that are there, with the nodes of their names.
type Given map[string]*yaml.Node

// Entries reads a mapping of known keys, nil for any, each once and none without a value.
func (r *Reader) Entries(field string, node *yaml.Node, known []string, each func(field string, name, value *yaml.Node)) Given {
	if !r.is(field, node, yaml.MappingNode) {
		return nil
	}
	given := make(Given, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i]
		inner, ok := r.key(field, name, known, given)
		if !ok {
			continue
		}
		value := r.value(inner, node.Content[i+1])
		switch {
		case value == nil:
		case value.Kind == yaml.ScalarNode && value.ShortTag() == tagNull:
			r.Problem(value, inner, "is empty; "+give, "key")
		default:
			each(inner, name, value)
		}
	}
	return given
}

// key checks a mapping's key and returns the field that it stands for.
func (r *Reader) key(field string, name *yaml.Node, known []string, given Given) (inner string, ok bool) {
	inner = Join(field, Shorten(name.Value))
	first, twice := given[name.Value]
	switch {
	case name.Kind == yaml.AliasNode && !r.Loose: // told already
	case name.Kind != yaml.ScalarNode:
		r.Problem(name, field, "has a key that is %s; keys are texts", Describe(name))
	case name.Value == "<<" && name.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0:
		r.Problem(name, inner, "merge keys are not supported; write the keys out")
	case known != nil && !slices.Contains(known, name.Value):
		hint := Suggest(name.Value, known)
		if field == "" && r.Keys != "" && strings.HasPrefix(hint, thereAre) {
			hint = r.Keys
		}
		r.Problem(name, inner, "there is no such key; %s", hint)
	case twice:
		r.Problem(name, inner, "is given twice, first in line %d; keep one", first.Line+r.Offset)
	default:
		given[name.Value] = name
		return inner, true
	}
	return "", false
}

// Mapping reads a mapping whose keys are all known, and says which it lacks.
func (r *Reader) Mapping(field string, node *yaml.Node, keys Keys) Given {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	given := r.Entries(field, node, names, func(field string, name, value *yaml.Node) {
		keys[slices.Index(names, name.Value)].Value.Read(r, field, value)
	})
	for _, k := range keys {
		if k.Needed != "" && given != nil && given[k.Name] == nil {
			r.Problem(node, Join(field, k.Name), "is missing; %s", k.Needed)
		}
	}
	return given
}

// Items reads each item of a list, and reports what is empty in it.
func (r *Reader) Items(field string, node *yaml.Node, each func(field string, node *yaml.Node)) {
	if !r.is(field, node, yaml.SequenceNode) {
		return
	}
	for i, n := range node.Content {
		inner := fmt.Sprintf("%s[%d]", field, i)
		switch n = r.value(inner, n); {
		case n == nil:
		case n.Kind == yaml.ScalarNode && n.ShortTag() == tagNull:
			r.Problem(n, inner, "is empty; "+give, "item")
		default:
			each(inner, n)
		}
	}
}

func (r *Reader) is(field string, node *yaml.Node, kind yaml.Kind) bool {
	if node.Kind == kind {
		return true
	}
	want, hint := "a mapping of keys to values", ""
	if kind == yaml.SequenceNode {
		if want = "a list"; node.Kind == yaml.ScalarNode {
			hint = "; write it as [" + Shorten(node.Value) + "]"
		}
	}
	r.Problem(node, field, "is %s, not %s%s", Describe(node), want, hint)
	return false
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

// Join is the field of a key in another field.
func Join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

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
