package mcp

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
)

// A form finds the servers of a file in the place where the program for which it was written has them, and gives
// their keys the names that they have here.
type form struct {
	*document.Reader
	folder  string
	inputs  []Input
	servers []Server
	// keys are the servers by their names in the file.
	keys map[string]int
	// chosen are the lists of servers by which a program allows or excludes some.
	chosen map[string][]string
}

var (
	// holdsServers is what a key looks like, without its signs and in lower case, under which servers stand.
	holdsServers = regexp.MustCompile(`^(\w*mcpservers|contextservers|servers)$`)
	// mayHold is one that has other things, too.
	mayHold  = regexp.MustCompile(`^(mcp|extensions)$`)
	notInKey = regexp.MustCompile(`[^a-z0-9]`)
)

func (f *form) read(text string) {
	root := f.Root(text)
	if root == nil {
		return
	}
	whole := f.At("", root)
	if f.find(whole, 0) {
		for name, i := range f.keys {
			allowed, bounded := f.chosen["allowed"]
			if bounded && !slices.Contains(allowed, name) || slices.Contains(f.chosen["excluded"], name) {
				f.servers[i].Disabled = true
			}
		}
		return
	}
	if !f.direct(whole) { // some have the servers at the top
		whole.Problem("has no servers; put each under mcpServers, by a name")
	}
}

// direct reads the servers that stand in a mapping by their names, beside other things, and reports whether there are any.
func (f *form) direct(at document.Place) bool {
	servers := *at.Node
	servers.Content = nil
	for name, value := range document.Valued(at.Node) {
		if isServer(value) {
			servers.Content = append(servers.Content, name, value)
		}
	}
	if len(servers.Content) == 0 {
		return false
	}
	f.group(at.On(&servers))
	return true
}

// find reads the servers that stand below keys for them, and reports whether there are such keys.
func (f *form) find(at document.Place, depth int) (found bool) {
	if depth > 4 { // an alias may lead to what it is in
		return false
	}
	for name, value := range document.Valued(at.Node) {
		switch {
		case value.Kind != yaml.SequenceNode:
		case name.Value == "inputs":
			f.ask(value)
		case at.Field == "mcp" && (name.Value == "allowed" || name.Value == "excluded"):
			list := []string{}
			for _, one := range value.Content {
				list = append(list, one.Value)
			}
			f.chosen[name.Value] = list
		}
	}
	for name, value := range document.Valued(at.Node) {
		plain, inner := plainKey(name.Value), at.In(name.Value, value)
		switch {
		case isServer(value) || !holdsServers.MatchString(plain) && !mayHold.MatchString(plain):
		case f.find(inner, depth+1):
			found = true
		case mayHold.MatchString(plain):
			found = f.direct(inner) || found
		default:
			f.group(inner)
			found = true
		}
	}
	return found
}

// plainKey is a key without its signs and in lower case.
func plainKey(key string) string { return notInKey.ReplaceAllString(strings.ToLower(key), "") }

// isServer reports whether a value says how a server is started or reached.
func isServer(node *yaml.Node) bool {
	for name, value := range document.Valued(node) {
		key := Key(name.Value)
		words := key == "command" && (value.Kind == yaml.SequenceNode || document.Member(value, "path") != nil)
		if words || value.Kind == yaml.ScalarNode && (key == "command" || key == "url") {
			return true
		}
	}
	return false
}

// ask notes what the file wants people to be asked for.
func (f *form) ask(list *yaml.Node) {
	for _, node := range list.Content {
		var input Input
		if node.Decode(&input) == nil && input.ID != "" {
			if input.Password || strings.ContainsAny(input.Default, "\r\n\x00") {
				input.Default = ""
			}
			f.inputs = append(f.inputs, input)
		}
	}
}

func (f *form) group(at document.Place) {
	switch at.Node.Kind {
	case yaml.SequenceNode:
		at.Items(func(at document.Place) {
			name := like(at.Node, fmt.Sprintf("server-%d", len(f.servers)+1))
			if own := document.Member(at.Node, "name"); own != nil && own.Kind == yaml.ScalarNode {
				name = own
			}
			f.server(at, name)
		})
	case yaml.MappingNode:
		for name, value := range document.Valued(at.Node) {
			switch {
			case oddKey(name):
				at.On(name).Problem("has a key that is no plain text; merge keys are not supported either: write the keys out")
			case value.Kind == yaml.ScalarNode && remark.MatchString(name.Value):
			default:
				f.server(at.In(name.Value, value), name)
			}
		}
	default:
		at.Problem("is %s, not a mapping of keys to values", document.Describe(at.Node))
	}
	if len(f.servers) > maxServers {
		at.Problem("has %d servers; at most %d are allowed", len(f.servers), maxServers)
	}
}

// remark finds a key by which files without comments have one.
var remark = regexp.MustCompile(`^([_$#]|//)`)

// oddKey reports whether a key is no text, or one that has other keys merged in.
func oddKey(name *yaml.Node) bool { return name.Kind != yaml.ScalarNode || name.Value == "<<" }

func (f *form) server(at document.Place, name *yaml.Node) {
	before := len(f.Problems)
	if i, twice := f.keys[name.Value]; twice {
		f.servers[i].Problem = fmt.Sprintf("%s:%d: %s: is given twice; keep one", filepath.Base(f.File), name.Line, at.Field)
		return
	}
	f.keys[name.Value] = len(f.servers)
	s := reading{Server: Server{Name: f.name(name.Value), Inputs: f.inputs}, folder: f.folder}
	if s.Name != name.Value {
		s.Notes = append(s.Notes, fmt.Sprintf("%q is %s for agents", document.Shorten(name.Value), s.Name))
	}
	keys := s.keys()
	if has := at.On(s.renamed(at, keys)).Mapping(keys); has != nil {
		s.check(at.On(name), has)
	}
	var problems []string
	for _, p := range f.Problems[before:] {
		problems = append(problems, fmt.Sprintf("%s:%d: %s: %s", filepath.Base(f.File), p.Line, p.Field, p.Message))
	}
	s.Problem, f.Problems = strings.Join(problems, "; "), f.Problems[:before]
	f.servers = append(f.servers, s.Server)
}

// name is what a server is called here: the names of its tools for models begin with it.
func (f *form) name(key string) string {
	name, distinct := ServerNames(key)
	if slices.ContainsFunc(f.servers, func(s Server) bool { return s.Name == name }) {
		return distinct
	}
	return name
}
