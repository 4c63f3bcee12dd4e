package providers

import (
	"fmt"
	"strings"

	"everstep/activities/gemini"
	"everstep/domain"
)

func geminiCase() Case {
	event := func(candidate, usage string) string {
		return `data: {"candidates": [` + candidate + `],"usageMetadata": ` + usage + `,"modelVersion": "gemini-3.7-flash","responseId": "WQuqavG5KbfUjMcP"}` + "\r\n\r\n"
	}
	says := func(finish string, parts ...string) string {
		out := `{"content": {"parts": [` + strings.Join(parts, ",") + `],"role": "model"},`
		if finish != "" {
			out += `"finishReason": "` + finish + `",`
		}
		return out + `"index": 0}`
	}
	const begun, whole = `{"promptTokenCount":30,"candidatesTokenCount":2,"totalTokenCount":32}`, `{"promptTokenCount":30,"candidatesTokenCount":7,"totalTokenCount":37}`
	words := func(text string) string { return `{"text": ` + Quote(text) + `}` }
	call := func(id, name, arguments string) string {
		return fmt.Sprintf(`{"functionCall": {"id": %q,"name": %q,"args": %s}}`, id, name, arguments)
	}
	return Case{
		API: gemini.API(), Model: "gemini-3.7-flash",
		Text: func(pieces ...string) Stream {
			var open string
			for _, p := range pieces {
				open += event(says("", words(p)), begun)
			}
			return Stream{Open: open, End: event(says("STOP", words("")), whole)}
		},
		Calls: event(says("", call("call_1", "weather", `{"city": "Paris"}`)), begun) + event(says("STOP", call("call_2", "clock", `{"zone": "UTC"}`)), whole),
		Call: func(arguments string) string {
			return Event(`{"candidates":[` + says("STOP", call("call_1", "weather", arguments)) + `],"usageMetadata":` + whole + `}`)
		},
		// The API has no parts of calls: the limit strikes after a whole one.
		CutCall: event(says("", words("hello"), call("call_1", "weather", `{"city": "Paris"}`)), begun) + event(`{"finishReason": "MAX_TOKENS","index": 0}`, whole),
		// Nor has it refusals of the model's own.
		Filtered:     event(says("", words("hello")), begun) + event(`{"finishReason": "SAFETY","index": 0}`, whole),
		Counted:      event(says("STOP", words("hello")), `{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":30,"thoughtsTokenCount":20,"totalTokenCount":150}`),
		CountedUsage: domain.Usage{InputTokens: 100, OutputTokens: 50, CacheReadTokens: 60, ReasoningTokens: 20},
		InStream:     `data: {"error": {"code": 503,"message": "The model is overloaded for ` + Key + `","status": "UNAVAILABLE"}}` + "\r\n\r\n",
	}
}
