package agentfile

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/domain/spelling"
)

// validTool is what a tool may be called.
var validTool = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// tools reads a list of tools, as a list, as a text with commas, or as what is
// allowed less what is denied. The result is nil only where it cannot be read.
func (r *reader) tools(field string, node *yaml.Node) []string {
	if node.Kind != yaml.MappingNode {
		return r.toolList(field, node)
	}
	var allow, deny []string
	var denied *yaml.Node
	keys := r.mapping(field, node,
		key{"allow", func(field string, node *yaml.Node) { allow = r.toolList(field, node) }},
		key{"deny", func(field string, node *yaml.Node) { deny, denied = r.toolList(field, node), node }},
	)
	if keys["allow"] == nil {
		r.problem(node, join(field, "allow"), "is missing; an agent has the tools that are allowed, so there is nothing to deny")
		return nil
	}
	left := allow
	for i, name := range deny {
		if allow == nil {
			break // allow cannot be read: told already
		}
		if !slices.Contains(allow, name) {
			at := denied
			if denied.Kind == yaml.SequenceNode && len(denied.Content) == len(deny) {
				at = denied.Content[i]
			}
			r.problem(at, join(field, "deny"), "%s is not allowed in the first place%s", name, mean(name, allow))
		}
		left = slices.DeleteFunc(slices.Clone(left), func(allowed string) bool { return allowed == name })
	}
	return left
}

func mean(name string, names []string) string {
	if near, ok := nearName(name, names); ok {
		return "; did you mean " + near + "?"
	}
	return "; leave it out"
}

func nearName(name string, names []string) (string, bool) { return spelling.Nearest(name, names) }

// toolList reads names, each of which may be a tool's.
func (r *reader) toolList(field string, node *yaml.Node) []string {
	if node.Kind == yaml.ScalarNode {
		text, ok := r.scalarText(field, node)
		if !ok {
			return nil
		}
		tools := []string{}
		for name := range strings.SplitSeq(text, ",") {
			tools = r.tool(field, node, strings.TrimSpace(name), tools)
		}
		return tools
	}
	if !r.is(field, node, yaml.SequenceNode) {
		return nil
	}
	tools := []string{}
	r.list(field, node, func(field string, node *yaml.Node) {
		if name, ok := r.scalarText(field, node); ok {
			tools = r.tool(field, node, name, tools)
		}
	})
	return tools
}

// tool adds a tool's name to those before it.
func (r *reader) tool(field string, node *yaml.Node, name string, tools []string) []string {
	switch {
	case name == "":
		r.problem(node, field, "has a comma without a name beside it; leave it out")
	case strings.ContainsAny(name, "*?"):
		r.problem(node, field, "%q is a wildcard, which is not supported; name each tool", shorten(name))
	case !validTool.MatchString(name):
		r.problem(node, field, "%q is no name of a tool; use 1 to 64 letters, digits, dashes and underscores", shorten(name))
	case slices.Contains(tools, name):
		r.problem(node, field, "%s is listed twice; keep one", name)
	default:
		return append(tools, name)
	}
	return tools
}

// names reads names of a kind, each once: a list, or a text with commas.
func (r *reader) names(field string, node *yaml.Node, kind string) []string {
	names := []string{}
	take := func(field string, node *yaml.Node, name string) {
		switch {
		case name == "":
			r.problem(node, field, "has a comma without a name beside it; leave it out")
		case slices.Contains(names, name):
			r.problem(node, field, "the %s %q is listed twice; keep one", kind, shorten(name))
		default:
			names = append(names, name)
		}
	}
	if node.Kind == yaml.ScalarNode {
		if text, ok := r.scalarText(field, node); ok {
			for name := range strings.SplitSeq(text, ",") {
				take(field, node, strings.TrimSpace(name))
			}
		}
		return names
	}
	r.list(field, node, func(field string, node *yaml.Node) {
		if name, ok := r.scalarText(field, node); ok {
			take(field, node, name)
		}
	})
	return names
}
