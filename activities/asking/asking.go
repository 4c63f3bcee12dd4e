package asking

import (
	"context"
	"encoding/json"

	"everstep/activities/output"
	"everstep/activities/tool"
	"everstep/domain"
)

// Name is the tool's.
const Name = "ask_user"

const schema = `{"type":"object","additionalProperties":false,"required":["question"],"properties":{
	"question":{"type":"string","minLength":1,"maxLength":4096,"description":"what you want to know, with all that the person needs to answer it"},
	"choices":{"type":"array","minItems":1,"maxItems":20,"items":{"type":"string","minLength":1,"maxLength":500},"description":"the only answers that there are; leave them out for an answer in the person's own words"},
	"schema":{"type":"object","description":"a JSON Schema; the answer is then a JSON value that fits it"},
	"expires_in":{"type":"integer","minimum":1,"maximum":2592000,"description":"for how many seconds to wait; without it you wait until somebody answers"},
	"default":{"description":"the answer that holds where nobody answers within expires_in: a string, or a value that fits the schema"}}}`

// Tool is the tool.
func Tool() tool.Tool {
	return tool.FromSpec(domain.ToolSpec{
		Name: Name, Effect: domain.ReadOnly, Schema: json.RawMessage(schema),
		Description: "Asks the person for whom you work, and waits for the answer, which may take days. Ask where you cannot know or may not decide by yourself; ask all that belongs together at once.",
	}, tool.Typed(ask))
}

func ask(_ context.Context, question domain.Question) (tool.Result, error) {
	if err := check(question); err != nil {
		return tool.Result{}, domain.CodedErrorf(domain.Invalid, domain.CodeMalformed, "arguments: %s", err)
	}
	return tool.Result{}, tool.Ask(question)
}

// check says what is wrong with a question, its schema and its default, before anybody is asked.
func check(question domain.Question) error {
	if err := question.Check(); err != nil || len(question.Schema) == 0 {
		return err
	}
	checker, err := output.Compile(domain.ResponseFormat{Type: domain.FormatSchema, Schema: question.Schema})
	if err != nil {
		return err
	}
	if len(question.Default) > 0 {
		if problems := checker.Check(string(question.Default)); problems != "" {
			return domain.Invalidf("default: does not fit the schema: %s", problems)
		}
	}
	return nil
}
