package providers

import (
	"fmt"
	"strings"

	"everstep/activities/openai"
	"everstep/domain"
)

func openAICase() Case {
	const (
		created = `{"type":"response.created","response":{"id":"resp_1","model":"m-1","status":"in_progress","output":[]}}`
		added   = `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","status":"in_progress","content":[]}}`
	)
	sse := func(events ...string) string {
		var b strings.Builder
		for _, e := range events {
			name, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
			fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, e)
		}
		return b.String()
	}
	ended := func(status, more string, items ...string) string {
		return `{"type":"response.` + status + `","response":{"id":"resp_1","model":"m-1","status":"` + status + `"` + more + `,"output":[` + strings.Join(items, ",") + `]}}`
	}
	itemDone := func(at int, item string) string {
		return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, at, item)
	}
	const plain = `,"usage":{"input_tokens":30,"output_tokens":7,"total_tokens":37}`
	delta := func(kind, text string) string {
		return fmt.Sprintf(`{"type":"response.%s.delta","output_index":0,"content_index":0,"delta":%s}`, kind, Quote(text))
	}
	message := func(status, content string) string {
		return `{"type":"message","id":"msg_1","status":"` + status + `","role":"assistant","content":[` + content + `]}`
	}
	text := func(text string) string {
		return fmt.Sprintf(`{"type":"output_text","annotations":[],"text":%s}`, Quote(text))
	}
	call := func(id, name, arguments, status string) string {
		return fmt.Sprintf(`{"type":"function_call","id":"fc_%s","call_id":"%s","name":%q,"arguments":%s,"status":%q}`, id, id, name, Quote(arguments), status)
	}
	callBegins := func(at int, id, name string) string {
		return fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, at, call(id, name, "", "in_progress"))
	}
	first, second := call("call_1", "weather", `{"city":"Paris"}`, "completed"), call("call_2", "clock", `{"zone":"UTC"}`, "completed")
	return Case{
		API: openai.API(), Model: "gpt-5",
		Text: func(pieces ...string) Stream {
			open := sse(created, added)
			for _, p := range pieces {
				open += sse(delta("output_text", p))
			}
			item := message("completed", text(strings.Join(pieces, "")))
			return Stream{Open: open + sse(itemDone(0, item)), End: sse(ended("completed", plain, item))}
		},
		Calls: sse(created, callBegins(0, "call_1", "weather"), `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"city\":"}`, itemDone(0, first),
			callBegins(1, "call_2", "clock"), itemDone(1, second), ended("completed", plain, first, second)),
		Call: func(arguments string) string {
			return sse(created, callBegins(0, "call_1", "weather"), ended("completed", plain, call("call_1", "weather", arguments, "completed")))
		},
		CutCall: sse(created, added, delta("output_text", "hello"), callBegins(1, "call_1", "weather"),
			ended("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`+plain, message("completed", text("hello")), call("call_1", "weather", `{"city":"Pa`, "incomplete"))),
		Refusal: sse(created, added, delta("refusal", "I will"), delta("refusal", " not"), ended("completed", plain, message("completed", `{"type":"refusal","refusal":"I will not"}`))),
		Filtered: sse(created, added, delta("output_text", "hello"),
			ended("incomplete", `,"incomplete_details":{"reason":"content_filter"}`+plain, message("incomplete", text("hello")))),
		Counted: sse(created, delta("output_text", "hello"), ended("completed",
			`,"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":150}`, message("completed", text("hello")))),
		CountedUsage: domain.Usage{InputTokens: 100, OutputTokens: 50, CacheReadTokens: 60, ReasoningTokens: 20},
		InStream:     sse(`{"type":"error","code":"server_error","message":"it broke for ` + Key + `","param":null}`),
	}
}
