package todo

import (
	"context"
	"encoding/json"
	"strings"

	"everstep/activities/tool"
	"everstep/domain"
)

// Name is the tool's, and the key of the session's metadata that holds the list.
const Name = domain.TodoNote

// The bounds keep the list short enough to be read in full with each change.
const schema = `{"type":"object","additionalProperties":false,"properties":{
	"items":{"type":"array","maxItems":50,"description":"the whole list as it is to be; leave it out to read the list",
		"items":{"type":"object","additionalProperties":false,"required":["text"],"properties":{
			"text":{"type":"string","minLength":1,"maxLength":300,"description":"what is to be done, in a few words"},
			"status":{"enum":["open","doing","done"],"description":"open unless given"}}}}}}`

// Tool is the tool.
func Tool() tool.Tool {
	return tool.FromSpec(domain.ToolSpec{
		Name: Name, Effect: domain.Idempotent, Schema: json.RawMessage(schema),
		Description: "Keeps your list of things to do, over all of this session. With items it replaces the whole list; without, it shows the list.",
	}, tool.Typed(run), tool.Keeps(Name))
}

type args struct {
	Items *[]domain.TodoItem `json:"items"`
}

func run(ctx context.Context, given args) (tool.Result, error) {
	if given.Items != nil {
		note, err := json.Marshal(given.Items)
		return tool.Result{Content: shown(*given.Items), Note: note}, err
	}
	call, _ := tool.ExecutionOf(ctx)
	var kept []domain.TodoItem
	if len(call.Note) > 0 && json.Unmarshal(call.Note, &kept) != nil {
		return tool.Result{}, domain.Invalidf("the session's note %q is no list of things to do: a hook or the session's starter wrote it; write the list anew", Name)
	}
	return tool.Result{Content: shown(kept)}, nil
}

// shown is the list as the model reads it.
func shown(items []domain.TodoItem) string {
	if len(items) == 0 {
		return "the list is empty"
	}
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = item.String()
	}
	return strings.Join(lines, "\n")
}
