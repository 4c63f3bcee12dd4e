package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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
	if json.Unmarshal(result, &fields) != nil || !absent(fields["tools"]) && json.Unmarshal(fields["tools"], &tools) != nil {
		return nil, unread("it lists what is no list of tools")
	}
	var next string
	whole := true
	for k, text := range tools {
		var made struct {
			sdk.Tool
			Execution struct {
				TaskSupport string `json:"taskSupport"`
			} `json:"execution"`
		}
		err := json.Unmarshal(text, &made)
		if err != nil { // maybe of pictures, which no agent needs
			text = bare(text)
			tools[k], whole = text, false
			err = json.Unmarshal(text, &made)
		}
		switch {
		case err == nil && absent(text):
			err = errors.New("it is null")
		case err == nil && nesting(text) > maxNesting:
			err = fmt.Errorf("it is nested more than %d deep", maxNesting)
		}
		if err != nil {
			tools[k], whole = inPlace(text, fmt.Sprintf("tool %d", k+1), err), false
		}
	}
	if cursor := fields["nextCursor"]; !absent(cursor) && json.Unmarshal(cursor, &next) != nil {
		tools, whole = append(tools, inPlace(nil, "all that follows", fmt.Errorf("the list goes on behind what is no text: %s", domain.Shorten(string(cursor), maxUnread)))), false
		delete(fields, "nextCursor")
	}
	if whole {
		return result, nil
	}
	fields["tools"], _ = json.Marshal(tools) // they were read from JSON
	list, err := json.Marshal(fields)
	return list, err
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

// bare is a tool without its pictures.
func bare(text json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return text
	}
	delete(fields, "icons")
	text, _ = json.Marshal(fields) // they were read from JSON
	return text
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
// these was looked at and which is called would be the server's to choose.
func apart(server string, all []*sdk.Tool) (tools []*sdk.Tool, unread []unreadTool) {
	times := make(map[string]int, len(all))
	for _, t := range all {
		times[ToolName(server, t.Name)]++
	}
	tools = slices.DeleteFunc(slices.Clone(all), func(t *sdk.Tool) bool {
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
