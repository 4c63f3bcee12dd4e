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
	*Reader
	unstable.Parser
	// line is that of the byte at.
	line, at int
}

// A tomlTable is a mapping, with the tables that its keys lead to: of a list of tables, which item is then in, the newest.
type tomlTable struct {
	node, list *yaml.Node
	inside     map[string]*tomlTable
}

// maxTOML bounds a text in TOML in bytes: the library takes for each table as long as there are others.
const maxTOML = 256 << 10

// toml is the table that a whole text is; nil: it is no TOML, and that is told.
func (r *Reader) toml(text string) *yaml.Node {
	if len(text) > maxTOML {
		r.ProblemAt(1, 1, "", "has more than %d bytes of TOML; make it smaller", maxTOML)
		return nil
	}
	t := &tomlReader{Reader: r, line: 1}
	t.Reset([]byte(text))
	root := newTomlTable(&yaml.Node{Line: 1, Column: 1})
	for table := root; len(r.Problems) == 0 && t.NextExpression(); {
		e := t.Expression()
		if e.Kind == unstable.KeyValue {
			t.put(table, e, 0)
			continue
		}
		names := t.names(e.Key())
		table = root
		for i, name := range names {
			table = table.below(name, e.Kind == unstable.ArrayTable && i == len(names)-1)
		}
	}
	if len(r.Problems) > 0 {
		return nil
	}
	// The library's parser tells where values stand, and its decoder alone what is wrong with a text.
	err := toml.Unmarshal([]byte(text), new(map[string]any))
	if err == nil {
		return root.node
	}
	line, column, field := 1, 1, ""
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column = wrong.Position()
		field = strings.Join(wrong.Key(), ".")
	}
	r.ProblemAt(line, column, field, "is no TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
	return nil
}

func newTomlTable(at *yaml.Node) *tomlTable {
	return &tomlTable{node: &yaml.Node{Kind: yaml.MappingNode, Line: at.Line, Column: at.Column}, inside: map[string]*tomlTable{}}
}

// below is the table that a key leads to, made where there is none; with anew it is another item of a list.
func (t *tomlTable) below(name *yaml.Node, anew bool) *tomlTable {
	known := t.inside[name.Value]
	if known != nil && !anew {
		return known
	}
	made := newTomlTable(name)
	t.inside[name.Value] = made
	switch {
	case !anew:
		t.node.Content = append(t.node.Content, name, made.node)
		return made
	case known != nil && known.list != nil:
		made.list = known.list
	default:
		made.list = &yaml.Node{Kind: yaml.SequenceNode, Line: name.Line, Column: name.Column}
		t.node.Content = append(t.node.Content, name, made.list)
	}
	made.list.Content = append(made.list.Content, made.node)
	return made
}

// put puts a value into a table, at a key that may lead through others.
func (t *tomlReader) put(table *tomlTable, e *unstable.Node, depth int) {
	names := t.names(e.Key())
	last := len(names) - 1
	for _, name := range names[:last] {
		table = table.below(name, false)
	}
	table.node.Content = append(table.node.Content, names[last], t.value(names[last], e.Value(), depth+last))
}

// value is a value, at the place of its key where it has none of its own.
func (t *tomlReader) value(key *yaml.Node, e *unstable.Node, depth int) *yaml.Node {
	if depth > maxDepth {
		t.At("", key).tooDeep()
		return key
	}
	tags := map[unstable.Kind]string{unstable.Bool: tagBool, unstable.Integer: tagInt, unstable.Float: tagFloat}
	parts := e.Children()
	if e.Kind == unstable.InlineTable {
		made := newTomlTable(key)
		for parts.Next() {
			t.put(made, parts.Node(), depth+1)
		}
		return made.node
	}
	if e.Kind == unstable.Array {
		made := &yaml.Node{Kind: yaml.SequenceNode, Line: key.Line, Column: key.Column}
		for parts.Next() {
			made.Content = append(made.Content, t.value(key, parts.Node(), depth+1))
		}
		return made
	}
	made := t.scalar(e)
	if tag := tags[e.Kind]; tag != "" {
		made.Tag, made.Value = tag, strings.ReplaceAll(made.Value, "_", "")
	}
	return made
}

// names are the parts of a key.
func (t *tomlReader) names(key unstable.Iterator) (names []*yaml.Node) {
	for key.Next() {
		names = append(names, t.scalar(key.Node()))
	}
	if len(names) > maxDepth {
		t.At("", names[0]).tooDeep()
		return names[:1]
	}
	return names
}

// scalar is a text at its place. Places are asked for in the order of the file.
func (t *tomlReader) scalar(e *unstable.Node) *yaml.Node {
	before, at := t.Data()[:e.Raw.Offset], int(e.Raw.Offset)
	t.line += bytes.Count(before[t.at:], []byte("\n"))
	t.at = at
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tagText, Value: string(e.Data), Line: t.line, Column: at - bytes.LastIndexByte(before, '\n')}
}
