package agentfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/activities/mcp"
	"everstep/domain"
)

// maxShown bounds what is shown of servers, in bytes.
const maxShown = 4000

// mcpServers are servers of the worker, by name. What the file would start or reach itself is shown, and left alone.
func (t *foreigner) mcpServers(at document.Place) {
	switch at.Node.Kind {
	case yaml.MappingNode:
		t.pairs(at, func(name string, at document.Place) string {
			t.server(at, name, at.Node)
			return ""
		})
	case yaml.SequenceNode:
		for _, item := range at.Node.Content {
			if item.Kind == yaml.MappingNode {
				t.mcpServers(at.On(item))
			} else {
				t.server(at, item.Value, nil)
			}
		}
	default:
		reading(func(word string) { t.server(at, word, nil) })(at)
	}
}

// A namedServer is an MCP server of the worker that a file names, with all of its tools or only some.
type namedServer struct {
	all  string
	only []string
}

// server takes one that the worker has, and holds the agent to what the file says of it: by its configuration, by a list of its
// tools, or by whether there is one.
func (t *foreigner) server(at document.Place, name string, config *yaml.Node) {
	for key := range document.Pairs(config) {
		if mcp.Loosens(key.Value) {
			t.ignore("%s of MCP servers (the worker's approvals hold)", key.Value)
		}
	}
	servers := t.family.settings.servers(name)
	all := domain.AllToolsOf(servers[0])
	if len(servers) == 1 && mcp.CheckServer(servers[0]) == "" && t.family.settings.has(all) && (config == nil || t.family.settings.Tools != nil) {
		t.listed = append(t.listed, namedServer{all, []string{all}})
		switch {
		case config == nil:
		case config.Kind == yaml.SequenceNode:
			t.limit(at, servers[0], "tools")
		case config.Kind == yaml.ScalarNode:
			t.limit(at, servers[0], "enabled")
		default:
			for key, value := range document.Pairs(config) {
				t.limit(at.In(key.Value, value), servers[0], key.Value)
			}
		}
		return
	}
	var means map[string]any
	if config != nil && config.Decode(&means) == nil {
		means = withoutSecrets(means)
	}
	if means["command"] == nil && means["url"] == nil {
		t.ignore("MCP server %s (the worker has none of that name)", name)
		return
	}
	t.started[name] = means
}

// showStarted says of all servers that the file would start how the worker's file has them.
func (t *foreigner) showStarted() {
	names := slices.Sorted(maps.Keys(t.started))
	line, err := json.Marshal(map[string]any{"mcpServers": t.started})
	if len(names) == 0 || err != nil {
		return
	}
	shown := domain.Shorten(string(line), maxShown)
	if len(shown) < len(line) {
		shown += "…"
	}
	t.note("not started, as an agent starts no programs: MCP server %s; for the worker's file (EVERSTEP_MCP): %s", some(names), shown)
}

// limit holds the agent to what one key says of a server.
func (t *foreigner) limit(at document.Place, server, name string) {
	key := mcp.Key(name)
	limits := isAmong(key, "tools excludeTools enabled disabled")
	switch {
	case limits && at.Node.ShortTag() == "!!null":
		at.Problem("is empty; give it a value or leave the key out")
	case canonical(name) == "availabletools" && at.Node.Kind == yaml.SequenceNode && len(at.Node.Content) == 0:
		at.Problem("is empty, which is all tools to some and none to others; name tools, or leave the key out")
	case key == "tools":
		only := []string{}
		reading(func(word string) { only = append(only, mcp.ToolName(server, word)) })(at)
		if !slices.Contains(only, mcp.ToolName(server, "*")) {
			t.listed = append(t.listed, namedServer{domain.AllToolsOf(server), only})
		}
	case key == "excludeTools":
		reading(func(word string) { t.always("mcp__"+server+"__"+word, domain.Deny) })(at)
	case limits:
		document.Truth(func(yes bool) {
			if yes == (key == "disabled") {
				t.always("mcp__"+server, domain.Deny)
			}
		}).Read(at)
	}
}

var (
	// plainWords are names of programs, packages and files at the begin of a command, as no secret is.
	plainWords = regexp.MustCompile(`^((-y|--yes|[@./]*[a-z]+([-./_][a-z]+)*\d?(@latest)?)(\s+|$))*`)
	// plainURL has words in its path alone, and numbers of versions.
	plainURL = regexp.MustCompile(`^[a-z]+://(\d{1,3}(\.\d{1,3}){3}|[a-z]{1,20}\d{0,2}([.-][a-z]{1,20}\d{0,2})*)(:\d+)?(/[a-z]{1,20}\d{0,2}([._-][a-z]{1,20}\d{0,2})*)*/?$`)
)

// withoutSecrets is how a server is started or reached, by the keys that are ours, with variables in place of what may be secret.
func withoutSecrets(config map[string]any) map[string]any {
	made := map[string]any{}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(config))) { // httpUrl counts before url, as in the worker's file
		value := config[name]
		switch key := mcp.Key(name); key {
		case "type", "cwd":
			made[key] = fmt.Sprint(value)
		case "command", "args":
			made[key] = value
			text := strings.Trim(fmt.Sprint(value), "[]")
			if plain := plainWords.FindString(text); plain != text {
				made[key] = append(strings.Fields(plain), "${ARGS}")
			}
		case "url":
			if made[key] = value; !plainURL.MatchString(fmt.Sprint(value)) {
				made[key] = "${URL}"
			}
		case "env", "headers":
			values, _ := value.(map[string]any)
			for name := range values {
				values[name] = cmp.Or(mcp.Named(fmt.Sprint(values[name])), "${"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"}")
			}
			made[key] = values
		}
	}
	return made
}
