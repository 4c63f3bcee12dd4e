package providers

import (
	"fmt"
	"strings"

	"everstep/activities/anthropic"
	"everstep/domain"
)

func anthropicCase() Case {
	event := func(name, fields string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + strings.TrimSuffix(","+fields, ",") + "}\n\n"
	}
	begin := func(index, block string) string {
		return event("content_block_start", `"index":`+index+`,"content_block":`+block)
	}
	piece := func(index, delta string) string {
		return event("content_block_delta", `"index":`+index+`,"delta":`+delta)
	}
	text := func(index, words string) string {
		return begin(index, `{"type":"text","text":""}`) + piece(index, `{"type":"text_delta","text":"`+words+`"}`) + event("content_block_stop", `"index":`+index)
	}
	failure := func(kind, message string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"req_1"}`
	}
	starts := func(usage string) string {
		return event("message_start", `"message":{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[],"stop_reason":null,"usage":`+usage+`}`)
	}
	ends := func(reason, usage string) string {
		return event("message_delta", `"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":`+usage) + event("message_stop", "")
	}
	const given, written = `{"input_tokens":30,"output_tokens":1}`, `{"output_tokens":7}`
	called := func(index, id, name string, pieces ...string) string {
		body := begin(index, `{"type":"tool_use","id":"`+id+`","name":"`+name+`","input":{}}`)
		for _, p := range pieces {
			body += piece(index, `{"type":"input_json_delta","partial_json":`+Quote(p)+`}`)
		}
		return body + event("content_block_stop", `"index":`+index)
	}
	return Case{
		API: anthropic.API(), Model: "claude-sonnet-4-5",
		Text: func(pieces ...string) Stream {
			open := starts(given) + begin("0", `{"type":"text","text":""}`) + event("ping", "")
			for _, p := range pieces {
				open += piece("0", fmt.Sprintf(`{"type":"text_delta","text":%s}`, Quote(p)))
			}
			return Stream{Open: open + event("content_block_stop", `"index":0`), End: ends("end_turn", written)}
		},
		Calls: starts(given) + called("0", "call_1", "weather", "", `{"city":`, `"Paris"}`) + called("1", "call_2", "clock", `{"zone":"UTC"}`) + ends("tool_use", written),
		Call: func(arguments string) string {
			return starts(given) + begin("0", `{"type":"tool_use","id":"call_1","name":"weather","input":{}}`) +
				piece("0", `{"type":"input_json_delta","partial_json":`+Quote(arguments)+`}`) + ends("tool_use", written)
		},
		CutCall: starts(given) + text("0", "hello") + called("1", "call_1", "weather", `{"city":"Pa`) + ends("max_tokens", written),
		Refusal: starts(given) + text("0", "I will not") + ends("refusal", written),
		Counted: starts(`{"input_tokens":30,"cache_read_input_tokens":60,"cache_creation_input_tokens":10,"output_tokens":1}`) + text("0", "hello") +
			ends("end_turn", `{"input_tokens":30,"cache_read_input_tokens":60,"cache_creation_input_tokens":10,"output_tokens":50,"output_tokens_details":{"thinking_tokens":20}}`),
		CountedUsage: domain.Usage{InputTokens: 100, OutputTokens: 50, CacheReadTokens: 60, CacheWriteTokens: 10, ReasoningTokens: 20},
		InStream:     "event: error\ndata: " + failure("overloaded_error", "Overloaded by "+Key) + "\n\n",
	}
}
