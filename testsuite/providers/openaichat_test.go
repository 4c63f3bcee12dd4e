package providers

import (
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// openAIChatCase is that of a vendor whose servers speak chat completions.
func openAIChatCase(api wire.API) Case {
	chunked := func(delta, finish string) string {
		if finish == "" {
			finish = "null"
		}
		return `data: {"id":"chatcmpl-1","model":"m-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
	}
	said := func(text string) string { return chunked(`{"content":"`+text+`"}`, "") }
	begins := func(index, id, name string) string {
		return chunked(`{"tool_calls":[{"index":`+index+`,"id":"`+id+`","type":"function","function":{"name":"`+name+`","arguments":""}}]}`, "")
	}
	goesOn := func(index, arguments string) string {
		return chunked(`{"tool_calls":[{"index":`+index+`,"function":{"arguments":"`+arguments+`"}}]}`, "")
	}
	counted := func(usage string) string {
		return `data: {"id":"chatcmpl-1","model":"m-1","choices":[],"usage":` + usage + "}\n\ndata: [DONE]\n\n"
	}
	const role = `{"role":"assistant","content":null}`
	plain := counted(`{"prompt_tokens":30,"completion_tokens":7,"total_tokens":37}`)
	fails := func(kind, code, message string) string {
		return `{"error":{"message":"` + message + `","type":"` + kind + `","param":null,"code":"` + code + `"}}`
	}
	return Case{
		API: api, Model: "gpt-5",
		Text: func(pieces ...string) Stream {
			open := chunked(role, "")
			for _, p := range pieces {
				open += said(p)
			}
			return Stream{Open: open, End: chunked(`{}`, `"stop"`), Tail: plain}
		},
		Calls: chunked(role, "") + begins("0", "call_1", "weather") + goesOn("0", `{\"city\":`) + goesOn("0", `\"Paris\"}`) +
			begins("1", "call_2", "clock") + goesOn("1", `{\"zone\":\"UTC\"}`) + chunked(`{}`, `"tool_calls"`) + plain,
		Call: func(arguments string) string {
			return begins("0", "call_1", "weather") + chunked(`{"tool_calls":[{"index":0,"function":{"arguments":`+Quote(arguments)+`}}]}`, "") + chunked(`{}`, `"tool_calls"`) + plain
		},
		CutCall:      chunked(role, "") + said("hello") + begins("0", "call_1", "weather") + goesOn("0", `{\"city\":\"Pa`) + chunked(`{}`, `"length"`) + plain,
		Refusal:      chunked(role, "") + chunked(`{"refusal":"I will"}`, "") + chunked(`{"refusal":" not"}`, "") + chunked(`{}`, `"stop"`) + plain,
		Filtered:     chunked(role, "") + said("hello") + chunked(`{}`, `"content_filter"`) + plain,
		Counted:      said("hello") + chunked(`{}`, `"stop"`) + counted(`{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":20}}`),
		CountedUsage: domain.Usage{InputTokens: 100, OutputTokens: 50, CacheReadTokens: 60, ReasoningTokens: 20},
		InStream:     "data: " + fails("server_error", "internal_error", "it broke for "+Key) + "\n\n",
	}
}
