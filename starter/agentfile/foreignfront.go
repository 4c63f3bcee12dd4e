package agentfile

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A front is the front matter of another tool's file, as YAML: those tools read it line by line, so that much of it is none.
type front struct {
	// text has the lines of the file, each where it was.
	text string
	// values are those of its keys, names the keys in the order of the file. A key without a value is among names alone.
	values map[string]*yaml.Node
	names  []string
	// garbled means that something stands before the first key; inside are keys that limit the agent, and stand in the text
	// of another one.
	garbled bool
	// node is the mapping that has the keys, where they are no front matter, and above what holds for it, too.
	node, above *yaml.Node
	inside      []string
}

// mended reads front matter key by key. What is no YAML, or has an anchor, an alias or a tag, is the text up to the next
// line that begins with a known key: but where a list or mapping of meaning is broken, since that may limit the agent.
func (v vocabulary) mended(text string) front {
	f := front{values: map[string]*yaml.Node{}}
	var block, out []string
	broken := false
	end := func() {
		if len(block) > 0 {
			out = append(out, f.add(block, v.structured)...)
		}
		block, broken = nil, false
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	indent := ""
	if first := slices.IndexFunc(lines, func(line string) bool { return strings.TrimSpace(line) != "" }); first >= 0 {
		indent = lines[first][:len(lines[first])-len(strings.TrimLeft(lines[first], " "))]
	}
	for _, line := range lines {
		if len(f.names) > maxForeign {
			break
		}
		line = strings.TrimPrefix(line, indent)
		if name, _, ok := keyed(line); ok {
			broken = broken || len(block) > 0 && mapping(block) == nil
			if !broken || v.known(name) {
				end()
			}
		}
		block = append(block, line)
	}
	end()
	f.text = strings.Join(out, "\n") + "\n"
	return f
}

var keyLine = regexp.MustCompile(`^(["']?)([A-Za-z][\w.-]*)["']?[ \t]*:(?:[ \t]+(.*))?$`)

// limiting is a line with a key that limits the agent.
var limiting = regexp.MustCompile(`(?mi)^\s*["']?((?:(?:dis)?allowed|excluded)?[-_]?tools|permissions?(?:[-_]?mode)?|approvals)["']?\s*:`)

// keyed parts a line that begins with a key.
func keyed(line string) (name, rest string, ok bool) {
	found := keyLine.FindStringSubmatch(line)
	if found == nil {
		return "", "", false
	}
	return found[2], found[3], true
}

// mapping is what lines of plain YAML say; nil: they are none.
func mapping(lines []string) *yaml.Node {
	var document yaml.Node
	if yaml.Unmarshal([]byte(strings.Join(lines, "\n")), &document) != nil || len(document.Content) == 0 {
		return nil
	}
	if root := document.Content[0]; root.Kind == yaml.MappingNode && untagged(root) {
		return root
	}
	return nil
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

// add takes a key with its lines, and returns as many that are YAML.
func (f *front) add(lines []string, structured func(name string) bool) []string {
	blank := func(first string) []string { return append([]string{first}, make([]string, len(lines)-1)...) }
	name, rest, ok := keyed(lines[0])
	root := mapping(lines)
	if !ok && root == nil { // comments, or what the reader of YAML says is none
		f.garbled = f.garbled || strings.TrimSpace(regexp.MustCompile(`(?m)^\s*#.*$`).ReplaceAllString(strings.Join(lines, "\n"), "")) != ""
		return lines
	}
	if root == nil { // editors indent lists with tabs
		spaced := strings.Split(strings.ReplaceAll(strings.Join(lines, "\n"), "\t", "  "), "\n")
		if root = mapping(spaced); root != nil {
			lines = spaced
		}
	}
	if root != nil && ok && len(root.Content) == 2 {
		value := root.Content[1]
		if value.ShortTag() == "!!null" {
			f.names = append(f.names, name)
			return blank("")
		}
		if value.Kind != yaml.ScalarNode && (name == "name" || name == "description") {
			root = nil // [WIP] is a word of the text
		}
	}
	if root == nil && structured(name) && (strings.ContainsAny(rest[:min(len(rest), 1)], `[{"'`) || strings.TrimSpace(strings.Join(lines[1:], "")) != "") {
		f.garbled, f.names = true, append(f.names, name)
		return lines
	}
	if root == nil {
		for _, found := range limiting.FindAllStringSubmatch(strings.Join(lines[1:], "\n"), -1) {
			f.inside = append(f.inside, found[1])
		}
		text, _ := json.Marshal(plain(rest, lines[1:])) // a text cannot fail
		lines = blank(name + ": " + string(text))
		root = mapping(lines)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		f.names = append(f.names, root.Content[i].Value)
		f.values[root.Content[i].Value] = root.Content[i+1]
	}
	return lines
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
	if inner = text[len(found[0]):]; !strings.HasPrefix(inner, fence) {
		return text, 0
	}
	if found[1] != "" {
		inner = strings.TrimSuffix(strings.TrimSpace(inner), found[1])
	}
	return inner, strings.Count(found[0], "\n")
}
