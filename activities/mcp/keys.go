package mcp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/domain/spelling"
)

// Key is the key of here for one of other programs' files.
func Key(key string) string {
	// Each stands before what they call it.
	for _, names := range []string{
		"type transport transporttype", "command cmd", "args", "env environment envs", "envFile envfile", "cwd workingdirectory workdir",
		"url httpurl serverurl baseurl endpoint uri", "headers httpheaders", "oauth", "effect", "timeout tooltimeout tooltimeoutsec",
		"tools includetools enabledtools allowedtools availabletools", "excludeTools excludetools disabledtools excludedtools blockedtools",
		"disabled", "enabled isactive active", "stateful",
	} {
		if all := strings.Fields(names); slices.Contains(all, plainKey(key)) {
			return all[0]
		}
	}
	return key
}

// Loosens reports whether a key of other programs has calls of a server run without asking a person.
func Loosens(key string) bool {
	return slices.Contains(strings.Fields("alwaysallow autoapprove autoapprovetools trust approvalmode defaulttoolsapprovalmode"), plainKey(key))
}

// unheeded is what becomes of a key of other programs that is not heeded here, where that may surprise.
func unheeded(key string) string {
	if Loosens(key) {
		return "is not heeded: which calls wait for a person the agent and the worker say (approvals)"
	}
	switch plainKey(key) {
	case "sandbox", "sandboxenabled":
		return "is not heeded: nothing confines the program of a server"
	case "apikey", "apikeyenv", "authtoken", "requestoptions", "auth", "authprovidertype", "headershelper":
		return "is not heeded: put what proves who asks into headers, as ${NAME}"
	case "oauth":
		return "is not heeded: a worker opens no browser; oauth needs a client_id here"
	}
	return ""
}

// renamed is a server's mapping with the names that its keys have here. Keys that nobody here knows are passed over in one note, but
// for one that is nearly one that limits what agents get.
func (s *reading) renamed(at document.Place, keys document.Keys) *yaml.Node {
	node := at.Node
	if node.Kind != yaml.MappingNode {
		return node
	}
	made := *node
	made.Content = nil
	var passed []string
	for name, value := range document.Valued(node) {
		key := Key(name.Value)
		near, misspelt := spelling.Nearest(key, []string{"tools", "effect", "stateful", "disabled", "excludetools"})
		switch {
		case oddKey(name):
			made.Content = append(made.Content, name, value) // which is refused
		case key == "command" && value.Kind == yaml.MappingNode: // it has the program as path, and args and env
			for name, value := range document.Valued(value) {
				as := *name
				if as.Value = Key(name.Value); as.Value == "path" {
					as.Value = "command"
				}
				made.Content = append(made.Content, &as, document.WithValues(value))
			}
		case key == "type" && value.Kind != yaml.ScalarNode:
		case name.Value == "url" && document.Member(node, "httpUrl") != nil: // which is the one over streamable HTTP
		case key == "url" && name.Value != "url" && name.Value != "httpUrl" && document.Member(node, "url") != nil:
		case s.lent(at.In(name.Value, value), key):
		case plainKey(name.Value) == "availabletools" && len(value.Content) == 0: // which are all
		case key == "tools" && approves(value):
			s.Notes = append(s.Notes, name.Value+" "+unheeded("approvalmode"))
		case unheeded(key) != "" && (key != "oauth" || document.Member(value, "client_id") == nil):
			s.Notes = append(s.Notes, name.Value+" "+unheeded(key))
		case slices.ContainsFunc(keys, func(k document.Key) bool { return k.Name == key }):
			as := *name
			as.Value = key
			if _, err := strconv.Atoi(value.Value); err == nil && plainKey(name.Value) == "tooltimeoutsec" {
				value = like(value, value.Value+"s")
			}
			made.Content = append(made.Content, &as, document.WithValues(value))
		case misspelt:
			at.In(name.Value, name).Problem("there is no such key; did you mean %s?", near)
		case key != "name" && key != "description" && !remark.MatchString(key):
			passed = append(passed, document.Shorten(name.Value))
		}
	}
	if more := len(passed) - 12; more > 0 {
		passed = append(passed[:12], fmt.Sprintf("and %d more", more))
	}
	if len(passed) > 0 {
		s.Notes = append(s.Notes, "passed over: "+strings.Join(passed, ", "))
	}
	return &made
}

// approves reports whether a mapping of tools says but which of their calls wait for a person.
func approves(tools *yaml.Node) bool {
	given := 0
	for _, config := range document.Valued(tools) {
		if given++; len(config.Content) != 2 || document.Member(config, "approval_mode") == nil {
			return false
		}
	}
	return given > 0 && given == len(tools.Content)/2 // one without a value is no config
}

// lent puts the variables of a key that but names them into env or headers; false: it is no such key.
func (s *reading) lent(at document.Place, key string) bool {
	lend := func(into *[]Variable, check func(Variable) string, name, lead string, variable *yaml.Node) {
		v := Variable{name, lead + "${" + variable.Value + "}"}
		if wrong := check(v); wrong != "" {
			at.On(variable).Problem("%s", wrong)
		}
		*into = append(*into, v)
	}
	switch plainKey(key) {
	case "envkeys", "envvars":
		names := inWords(at.Node)
		if names.Kind != yaml.SequenceNode {
			at.Problem("is no list of names of variables; give one")
			return true
		}
		for _, name := range names.Content {
			if own := document.Member(name, "name"); own != nil {
				name = own
			}
			lend(&s.Env, checkVariable, name.Value, "", name)
		}
	case "bearertokenenvvar":
		lend(&s.Headers, checkHeader, "Authorization", "Bearer ", at.Node)
	case "envhttpheaders":
		for name, variable := range document.Valued(at.Node) {
			lend(&s.Headers, checkHeader, name.Value, "", variable)
		}
	default:
		return false
	}
	return true
}

// entries is a mapping of what stands in a list: NAME=VALUE, or a name beside a value.
func entries(node *yaml.Node) *yaml.Node {
	if node.Kind != yaml.SequenceNode {
		return node
	}
	made := &yaml.Node{Kind: yaml.MappingNode, Line: node.Line, Column: node.Column}
	for _, item := range node.Content {
		name, value := document.Member(item, "name"), document.Member(item, "value")
		if before, after, pair := strings.Cut(item.Value, "="); pair {
			name, value = like(item, before), like(item, after)
		}
		if name == nil || value == nil {
			return node
		}
		made.Content = append(made.Content, name, value)
	}
	return made
}

// inWords is a list of the words of a text, where no sign says that some belong together.
func inWords(node *yaml.Node) *yaml.Node {
	if node.Kind != yaml.ScalarNode || strings.ContainsAny(node.Value, "\"'\\") {
		return node
	}
	made := &yaml.Node{Kind: yaml.SequenceNode, Line: node.Line, Column: node.Column}
	for word := range strings.FieldsSeq(node.Value) {
		made.Content = append(made.Content, like(node, word))
	}
	return made
}

// like is a text at the place of another value.
func like(node *yaml.Node, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: node.Line, Column: node.Column}
}
