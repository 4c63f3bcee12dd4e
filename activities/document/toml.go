package document

import (
	"bytes"
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"go.yaml.in/yaml/v3"
)

// A tomlReader makes of a text in TOML the nodes that YAML has for the same values, so that all else reads both alike.
type tomlReader struct {
	reader *Reader
	parser unstable.Parser
	// line is that of the byte at, and behind the byte start.
	line, at, start int
	// tables are those that headers and dotted keys lead to, and lists of them.
	tables map[tomlKey]*yaml.Node
}

// A tomlKey is a key of a table.
type tomlKey struct {
	table *yaml.Node
	name  string
}

// maxTOML bounds a text in TOML in bytes: the library takes for each table as long as there are others.
const maxTOML = 96 << 10

// toml is the table that a whole text is; nil: it is no TOML, and that is told.
func (r *Reader) toml(text string) *yaml.Node {
	if len(text) > maxTOML {
		r.ProblemAt(1, 1, "", "has more than %d bytes of TOML; make it smaller", maxTOML)
		return nil
	}
	t := &tomlReader{reader: r, line: 1, start: -1, tables: map[tomlKey]*yaml.Node{}}
	t.parser.Reset([]byte(text))
	root := &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1}
	for table := root; len(r.Problems) == 0 && t.parser.NextExpression(); {
		e := t.parser.Expression()
		if e.Kind == unstable.KeyValue {
			t.put(table, e, 0)
			continue
		}
		names := t.names(e.Key())
		table = root
		for i, name := range names {
			kind := yaml.MappingNode
			if e.Kind == unstable.ArrayTable && i == len(names)-1 {
				kind = yaml.SequenceNode
			}
			table = t.below(table, name, kind)
		}
	}
	if len(r.Problems) > 0 {
		return nil
	}
	// The library's parser tells where values stand, and its decoder alone what is wrong with a text.
	err := toml.Unmarshal([]byte(text), new(map[string]any))
	if err == nil {
		return root
	}
	line, column, field := 1, 1, ""
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column = wrong.Position()
		field = strings.Join(wrong.Key(), ".")
	}
	r.ProblemAt(line, column, field, "is no TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
	return nil
}

// made is a mapping or a list, at the place of its key.
func made(kind yaml.Kind, key *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: kind, Line: key.Line, Column: key.Column}
}

// below is the table that a key leads to, made where there is none; of a list it is the newest, and another one where a list is
// asked for.
func (t *tomlReader) below(table, name *yaml.Node, kind yaml.Kind) *yaml.Node {
	key := tomlKey{table, name.Value}
	found := t.tables[key]
	if found == nil {
		found = made(kind, name)
		t.tables[key] = found
		table.Content = append(table.Content, name, found)
	}
	if found.Kind != yaml.SequenceNode {
		return found
	}
	if kind == yaml.SequenceNode {
		found.Content = append(found.Content, made(yaml.MappingNode, name))
	}
	return found.Content[len(found.Content)-1]
}

// put puts a value into a table, at a key that may lead through others.
func (t *tomlReader) put(table *yaml.Node, e *unstable.Node, depth int) {
	names := t.names(e.Key())
	last := len(names) - 1
	for _, name := range names[:last] {
		table = t.below(table, name, yaml.MappingNode)
	}
	table.Content = append(table.Content, names[last], t.value(names[last], e.Value(), depth+last))
}

// value is a value, at the place of its key where it has none of its own.
func (t *tomlReader) value(key *yaml.Node, e *unstable.Node, depth int) *yaml.Node {
	if depth > maxDepth {
		t.reader.At("", key).tooDeep()
		return key
	}
	parts := e.Children()
	if e.Kind == unstable.InlineTable {
		table := made(yaml.MappingNode, key)
		for parts.Next() {
			t.put(table, parts.Node(), depth+1)
		}
		return table
	}
	if e.Kind == unstable.Array {
		list := made(yaml.SequenceNode, key)
		for parts.Next() {
			list.Content = append(list.Content, t.value(key, parts.Node(), depth+1))
		}
		return list
	}
	one := t.scalar(e)
	if tag := map[unstable.Kind]string{unstable.Bool: tagBool, unstable.Integer: tagInt, unstable.Float: tagFloat}[e.Kind]; tag != "" {
		one.Tag, one.Value = tag, strings.ReplaceAll(one.Value, "_", "")
	}
	return one
}

// names are the parts of a key.
func (t *tomlReader) names(key unstable.Iterator) (names []*yaml.Node) {
	for key.Next() {
		if names = append(names, t.scalar(key.Node())); len(names) > maxDepth {
			t.reader.At("", names[0]).tooDeep()
			return names[:1]
		}
	}
	return names
}

// scalar is a text at its place. Places are asked for in the order of the file.
func (t *tomlReader) scalar(e *unstable.Node) *yaml.Node {
	passed := t.parser.Data()[t.at:e.Raw.Offset]
	if end := bytes.LastIndexByte(passed, '\n'); end >= 0 {
		t.line += bytes.Count(passed, []byte("\n"))
		t.start = t.at + end
	}
	t.at = int(e.Raw.Offset)
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tagText, Value: string(e.Data), Line: t.line, Column: t.at - t.start}
}
