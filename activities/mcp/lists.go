package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"everstep/domain"
)

// unreadKey marks what stands in a list in the place of a tool that cannot be read.
const unreadKey = "everstep/unread"

// An unreadTool is one that a server lists and that no agent has.
type unreadTool struct{ Name, Problem string }

// listIn is a list of tools of which each can be decoded: in the place of one that cannot stands its name.
func listIn(result json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	var tools []json.RawMessage
	switch {
	case json.Unmarshal(result, &fields) != nil || !absent(fields["tools"]) && json.Unmarshal(fields["tools"], &tools) != nil:
		return nil, unread("it lists what is no list of tools")
	case fields == nil: // it is null
		return result, nil
	case len(tools) > maxTools:
		return nil, tooMany("tools")
	}
	for k, text := range tools {
		made, err := toolIn(text)
		if err != nil {
			made = inPlace(text, fmt.Sprintf("tool %d", k+1), err)
		}
		tools[k] = made
	}
	delete(fields, "tools")
	rest, _ := json.Marshal(fields) // they were read from JSON
	fields, odd := fitting[sdk.ListToolsResult](rest)
	if cursor := odd["nextCursor"]; cursor != nil {
		tools = append(tools, inPlace(nil, "all that follows", fmt.Errorf("the list goes on behind what is no text: %s", domain.Shorten(string(cursor), maxUnread))))
	}
	fields["tools"], _ = json.Marshal(tools) // they were read from JSON
	fields["ttlMs"] = json.RawMessage("0")   // who lists again wants an answer, and not the SDK's copy
	return json.Marshal(fields)
}

// A listedTool is a tool as it is decoded from a list.
type listedTool struct {
	sdk.Tool
	Execution struct {
		TaskSupport string `json:"taskSupport"`
	} `json:"execution"`
}

// taskKey says, in the metadata of a tool, whether its calls may be tasks.
const taskKey = "everstep/task"

// toolIn is a tool as the SDK decodes it: without what no agent needs of it, where that cannot be decoded. Hints that cannot be
// read loosen nothing.
func toolIn(text json.RawMessage) (json.RawMessage, error) {
	if nesting(text) > maxNesting {
		return nil, fmt.Errorf("it is nested more than %d deep", maxNesting)
	}
	var whole listedTool
	if json.Unmarshal(text, &whole) != nil || whole.InputSchema == nil {
		fields, odd := fitting[listedTool](text)
		switch {
		case fields == nil:
			return nil, fmt.Errorf("it is %s and no object", domain.Shorten(string(text), maxUnread))
		case odd["name"] != nil:
			return nil, fmt.Errorf("its name is %s and no text", domain.Shorten(string(odd["name"]), maxUnread))
		}
		if odd["annotations"] != nil {
			fields["annotations"] = json.RawMessage(`{"destructiveHint":true}`)
		}
		if said := odd["description"]; said != nil {
			fields["description"], _ = json.Marshal(string(said)) // a text cannot fail
		}
		for _, name := range []string{"input_schema", "parameters"} { // as models' APIs call it
			if absent(fields["inputSchema"]) {
				fields["inputSchema"] = fields[name]
			}
		}
		text, _ = json.Marshal(fields) // they were read from JSON
		whole = listedTool{}
		if err := json.Unmarshal(text, &whole); err != nil {
			return nil, err
		}
	}
	support := whole.Execution.TaskSupport
	whole.Meta = sdk.Meta{taskKey: support == "optional" || support == "required"}
	return json.Marshal(whole.Tool)
}

// fitting are the members of an object with which a T can be decoded, and the odd ones. nil: it is no object.
func fitting[T any](text json.RawMessage) (fields, odd map[string]json.RawMessage) {
	_ = json.Unmarshal(text, &fields) // it may be anything
	odd = map[string]json.RawMessage{}
	for name, value := range fields {
		alone, _ := json.Marshal(map[string]json.RawMessage{name: value}) // it was read from JSON
		if json.Unmarshal(alone, new(T)) != nil {
			odd[name] = value
		}
	}
	maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool { return odd[name] != nil })
	return fields, odd
}

// greetingIn is the answer to the first request as the SDK takes it: of a version that it knows, and without what cannot be
// decoded. What that was stands beside it.
func greetingIn(result json.RawMessage) (_ json.RawMessage, version string, _ error) {
	fields, odd := fitting[sdk.InitializeResult](result)
	if fields == nil {
		return nil, "", unread("it is %s and no object", domain.Shorten(string(result), maxUnread))
	}
	_ = json.Unmarshal(fields["protocolVersion"], &version) // it may be missing
	versions := sdk.SupportedProtocolVersions()             // the newest first
	if !slices.Contains(versions, version) {
		taken := slices.IndexFunc(versions, func(known string) bool { return known < versionOfExtensions && known <= version })
		if taken < 0 {
			taken = len(versions) - 1
		}
		odd[strings.TrimSpace("protocolVersion "+version)] = nil
		version = versions[taken]
		fields["protocolVersion"], _ = json.Marshal(version) // a text cannot fail
	}
	if len(odd) == 0 {
		return result, version, nil
	}
	names := strings.Join(slices.Sorted(maps.Keys(odd)), ", ")
	fields["_meta"], _ = json.Marshal(sdk.Meta{unreadKey: domain.Shorten("what it says of itself is not understood: "+names, maxUnread)})
	made, _ := json.Marshal(fields) // they were read from JSON
	return made, version, nil
}

// maxNesting is how deep a tool may be nested: the SDK decodes no list with one that is 1000 deep.
const maxNesting = 900

// nesting is how deep JSON is nested.
func nesting(text []byte) (deepest int) {
	depth, quoted, escaped := 0, false, false
	for _, b := range text {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = b == '\\', b != '"'
		case b == '"':
			quoted = true
		case b == '{', b == '[':
			depth++
			deepest = max(deepest, depth)
		case b == '}', b == ']':
			depth--
		}
	}
	return deepest
}

// inPlace is what stands for a tool that cannot be read.
func inPlace(text json.RawMessage, place string, problem error) json.RawMessage {
	var named struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(text, &named) // it may have none
	if named.Name == "" {
		named.Name = place
	}
	made, _ := json.Marshal(&sdk.Tool{ // texts cannot fail
		Name: domain.Shorten(named.Name, maxUnread), InputSchema: json.RawMessage(`{"type":"object"}`),
		Meta: sdk.Meta{unreadKey: domain.Shorten(problem.Error(), maxUnread)},
	})
	return made
}

// apart are the tools of a list, and those that no agent has: which cannot be read, or have a name in common. Which one of
// these was looked at and which is called would be the server's to choose. One that is listed again as it was is one.
func apart(server string, all []*sdk.Tool) (tools []*sdk.Tool, unread []unreadTool) {
	times, seen := make(map[string]int, len(all)), make(map[string]bool, len(all))
	for _, t := range all {
		if text, _ := json.Marshal(t); !seen[string(text)] { // it was read from JSON
			seen[string(text)] = true
			times[ToolName(server, t.Name)]++
			tools = append(tools, t)
		}
	}
	tools = slices.DeleteFunc(tools, func(t *sdk.Tool) bool {
		problem, bad := t.Meta[unreadKey].(string)
		if name := ToolName(server, t.Name); bad {
			problem = "it cannot be read: " + problem
		} else if bad = times[name] > 1; bad {
			problem = fmt.Sprintf("the server lists %d tools that would be %s", times[name], name)
		}
		if one := (unreadTool{t.Name, problem}); bad && !slices.Contains(unread, one) {
			unread = append(unread, one)
		}
		return bad
	})
	return tools, unread
}
