package agentfile

import "go.yaml.in/yaml/v3"

const (
	noAliases = "anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes"
	// maxDepth bounds how deep values nest.
	maxDepth = 64
)

// plain reports anchors, aliases and tags, wherever they are, and nesting that
// is too deep, once. It returns false for the latter: nothing else is read then.
func (r *reader) plain(node *yaml.Node, depth int) bool {
	if depth > maxDepth {
		r.problem(node, "", "nests deeper than %d levels; make it flatter", maxDepth)
		return false
	}
	switch {
	case node.Kind == yaml.AliasNode, node.Anchor != "":
		r.problem(node, "", "%s", noAliases)
	case node.Style&yaml.TaggedStyle != 0:
		r.problem(node, "", "the tag %s is not supported; write the value alone", shorten(node.Tag))
	}
	for _, child := range node.Content {
		if !r.plain(child, depth+1) {
			return false
		}
	}
	return true
}
