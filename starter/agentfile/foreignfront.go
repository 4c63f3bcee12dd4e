package agentfile

import (
	"cmp"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
)

// A front is the front matter of another tool's file, as YAML: those tools read it line by line, so that much of it is none.
type front struct {
	// node has the keys with their values, each at its place, and names all keys in the order of the file: one without a
	// value is among names alone.
	node  *yaml.Node
	names []string
	// broken is what makes no keys, below empty lines for those above it; inside are keys that limit the agent, and stand in
	// the text of another one.
	broken string
	inside []string
	// field is where the keys stand, and above the mapping around them of which some hold too; nil: they are all.
	field string
	above *yaml.Node
}

// mended reads front matter key by key. What is no YAML, or has an anchor, an alias or a tag, is the text up to the next
// line that begins with a known key: but where a list or mapping of meaning is broken, since that may limit the agent.
func (v vocabulary) mended(text string) front {
	f := front{node: &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1}}
	from, broken := 0, false
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	indent := indented.FindStringSubmatch(text)[1]
	end := func(to int) {
		if to > from {
			f.add(lines[from:to], from, v.structured)
		}
		from, broken = to, false
	}
	for i := range lines {
		if len(f.names) > maxForeign {
			break
		}
		lines[i] = strings.TrimPrefix(lines[i], indent)
		if name, _, ok := keyed(lines[i]); ok {
			broken = broken || i > from && mapping(strings.Join(lines[from:i], "\n"), from) == nil
			if !broken || v.own[name] || v.theirs[canonical(name)] {
				end(i)
			}
		}
	}
	end(len(lines))
	return f
}

// indented is what stands before the first key.
var indented = regexp.MustCompile(`^(?:[ \t]*\n)*( *)`)

var keyLine = regexp.MustCompile(`^(["']?)([A-Za-z][\w.-]*)["']?[ \t]*:(?:[ \t]+(.*))?$`)

// limiting is a line with a key that limits the agent.
var limiting = regexp.MustCompile(`(?mi)^\s*["']?((?:(?:dis)?allowed|excluded)?[-_]?tools|permissions?(?:[-_]?mode)?|approvals|read[-_]?only)["']?\s*:`)

// keyed parts a line that begins with a key.
func keyed(line string) (name, rest string, ok bool) {
	found := keyLine.FindStringSubmatch(line)
	if found == nil {
		return "", "", false
	}
	return found[2], found[3], true
}

// mapping is what plain YAML says that is below so many lines; nil: it is none.
func mapping(text string, above int) *yaml.Node {
	var document yaml.Node
	if yaml.Unmarshal([]byte(text), &document) != nil || len(document.Content) == 0 {
		return nil
	}
	if root := document.Content[0]; root.Kind == yaml.MappingNode && untagged(root) {
		lower(root, above)
		return root
	}
	return nil
}

func lower(node *yaml.Node, lines int) {
	node.Line += lines
	for _, child := range node.Content {
		lower(child, lines)
	}
}

func untagged(node *yaml.Node) bool {
	if node.Kind == yaml.AliasNode || node.Anchor != "" || node.Style&yaml.TaggedStyle != 0 || node.Tag == "!!merge" {
		return false
	}
	for _, child := range node.Content {
		if !untagged(child) {
			return false
		}
	}
	return true
}

// add takes a key with its lines, or several.
func (f *front) add(lines []string, above int, structured func(name string) bool) {
	text, more := strings.Join(lines, "\n"), strings.Join(lines[1:], "\n")
	name, rest, ok := keyed(lines[0])
	root := mapping(text, above)
	if root == nil && ok { // editors indent lists with tabs
		root = mapping(strings.ReplaceAll(text, "\t", "  "), above)
	}
	words := root != nil && ok && len(root.Content) == 2 && root.Content[1].Kind != yaml.ScalarNode && (name == "name" || name == "description")
	switch {
	case root != nil && !words: // [WIP] is a word of the text
		f.take(root)
	case !ok && strings.TrimSpace(regexp.MustCompile(`(?m)^\s*#.*$`).ReplaceAllString(text, "")) == "":
	case !ok, root == nil && structured(name) && (strings.TrimSpace(more) != "" || regexp.MustCompile(`^([\[{]|"[^"]*$|'[^']*$|[&!].*[\[{]|\*\w)`).MatchString(rest)):
		f.names, f.broken = append(f.names, name), cmp.Or(f.broken, strings.Repeat("\n", above)+text)
	default:
		for _, found := range limiting.FindAllStringSubmatch(more, -1) {
			f.inside = append(f.inside, found[1])
		}
		scalar := func(column int, text string) *yaml.Node {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: above + 1, Column: column}
		}
		f.take(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(1, name), scalar(len(name)+3, plain(rest, lines[1:]))}})
	}
}

// take takes the keys of a mapping.
func (f *front) take(mapping *yaml.Node) {
	for key, value := range document.Pairs(mapping) {
		if f.names = append(f.names, key.Value); value.ShortTag() != "!!null" {
			f.node.Content = append(f.node.Content, key, value)
		}
	}
}

// plain is the text that begins behind a key, without the quotes around it or the sign of a block.
func plain(first string, more []string) string {
	if regexp.MustCompile(`^[|>][+-]?\d?$`).MatchString(strings.TrimSpace(first)) {
		first = ""
	}
	texts := []string{first}
	for _, line := range more {
		texts = append(texts, strings.TrimSpace(line))
	}
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	if n := len(text); n > 1 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		text = text[1 : n-1]
	}
	return strings.ToValidUTF8(text, "")
}

var wrapping = regexp.MustCompile("^(?:\\s|<!--(?s:.*?)-->)*(?:(`{3,})[a-z]*[ \\t]*\n\\s*)?")

// unwrapped is a text without the empty lines, comments and code fence around its front matter, and how many lines that are.
func unwrapped(text string) (inner string, above int) {
	found := wrapping.FindStringSubmatch(text)
	if inner = text[len(found[0]):]; !strings.HasPrefix(inner, "---") {
		return text, 0
	}
	if found[1] != "" {
		inner = strings.TrimSuffix(strings.TrimSpace(inner), found[1])
	}
	return inner, strings.Count(found[0], "\n")
}
