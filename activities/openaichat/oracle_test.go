package openaichat_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/testsuite/providers"
)

// noAnswers are the recordings of status 200 that hold no answer: an error comes
// in the middle of the stream.
var noAnswers = map[string]domain.Code{
	"5eb46e2e37ea": domain.CodeMalformed,
	"3ad13d391708": domain.CodeMalformed,
}

// sdkDiffers are the recordings of which the SDK makes something else, and why.
var sdkDiffers = map[string]string{
	"0c2a869209e5": finishErased,
	"6fd5af735890": finishErased,
	"7fd4912b59b8": finishErased,
	"ab7d5f074245": finishErased,
	"b7408f0088e9": finishErased,
	"c809df46333c": finishErased,
	"c81e5cf3f377": finishErased,
	"eec9c26c476b": functionCall,
	"c3e28b988c1d": noFinish,
	"00cd3e0815a5": reasoningBeside,
	"08db457b1f17": reasoningBeside,
	"1290620e8b9e": reasoningBeside,
	"18c74855850b": reasoningBeside,
	"3a3fec38d68c": reasoningBeside,
	"5bed4f97e7b1": reasoningBeside,
	"60a73aea8273": reasoningBeside,
	"7e65908ccab2": reasoningBeside,
	"8a5a9d69ee6a": reasoningBeside,
	"8fc077048df3": reasoningBeside,
	"9d8a701be61e": reasoningBeside,
	"b34738ebdfc8": reasoningBeside,
	"b6956dbf400e": reasoningBeside,
	"d089de4bf7d4": reasoningBeside,
	"f278b2cd0065": reasoningBeside,
	"01aaed923f9c": reasoningBeside,
	"316e71bd3f2f": reasoningBeside,
	"451a5f00c541": reasoningBeside,
	"47debbe3eb44": reasoningBeside,
	"49585f261ebd": reasoningBeside,
	"8ad61600a79a": reasoningBeside,
	"c8564764231a": reasoningBeside,
	"cbcfca6e91e4": reasoningBeside,
	"ea0e81beea2f": reasoningBeside,
	"fb1cb7d8fbb3": reasoningBeside,
	"1c543f5e27e4": cacheBeside,
	"69313bff3c16": cacheBeside,
	"a19f4c774af3": cacheBeside,
	"cd0c7170755f": cacheBeside,
	"d380f345aed3": cacheBeside,
	"eb1b60b73ec6": cacheBeside,
	"f60efe0a8d27": cacheBeside,
	"01157fc30a2a": sdkRefuses,
	"2f5d17b186ce": sdkRefuses,
	"3bceb63b32fa": sdkRefuses,
	"a052b363cd0b": sdkRefuses,
	"ee963acc522f": sdkRefuses,
	"ba314c04bb47": thinkingParts,
	"f105a24ab184": thinkingParts,
	"da112b1c9ba7": usageElsewhere,
	"620b539b67ce": usageRepeated,
	"897544a7070c": usageRepeated,
	"8ab28370eba4": usageRepeated,
	"98ffcea43573": usageRepeated,
	"b80334a134ca": usageRepeated,
}

const (
	finishErased    = "a chunk without a finish reason follows, and the SDK forgets the one it had"
	noFinish        = "it is done without a finish reason, and names its call twice, which the SDK joins"
	functionCall    = "the call is in the older function_call, which the SDK keeps apart"
	reasoningBeside = "reasoning is counted beside the completion, as the total or its size shows; here it is part of the output"
	cacheBeside     = "more tokens came from the cache than the prompt has: it is counted beside, and here it is part of the input"
	sdkRefuses      = "the chunks have two ids, and the SDK refuses the second"
	thinkingParts   = "the content is a list of parts, which the SDK takes for a text"
	usageElsewhere  = "the usage is in x_groq, which the SDK does not read"
	usageRepeated   = "the usage so far comes in several chunks, and the SDK adds them up"
)

// plainly reads a recording with nothing but a JSON decoder, as a second
// opinion where the SDK has another.
func plainly(t *testing.T, r providers.Recording) said {
	t.Helper()
	chunks := []string{r.Response}
	if r.IsStream() {
		chunks = nil
		for line := range strings.Lines(r.Response) {
			if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:"); ok && !strings.Contains(data, "[DONE]") {
				chunks = append(chunks, data)
			}
		}
	}
	var s said
	calls := map[int]*domain.ToolCall{}
	for _, chunk := range chunks {
		var c map[string]any
		require.NoError(t, json.Unmarshal([]byte(chunk), &c))
		usage, ok := c["usage"].(map[string]any)
		if groq, has := c["x_groq"].(map[string]any); has && !ok {
			usage, ok = groq["usage"].(map[string]any)
		}
		if ok {
			s.count(usage)
		}
		choices, _ := c["choices"].([]any)
		for _, choice := range choices {
			if choice := choice.(map[string]any); number(choice, "index") == 0 {
				s.hear(choice, calls)
			}
		}
	}
	s.Finish = cmp.Or(s.Finish, "none")
	for k := range len(calls) {
		s.Calls = append(s.Calls, *calls[k])
	}
	return s
}

func (s *said) hear(choice map[string]any, calls map[int]*domain.ToolCall) {
	if word, _ := choice["finish_reason"].(string); word != "" {
		s.Finish = word
	}
	piece, ok := choice["delta"].(map[string]any)
	if !ok {
		piece, _ = choice["message"].(map[string]any)
	}
	refusal, _ := piece["refusal"].(string)
	s.Text += words(piece["content"]) + refusal
	if call, ok := piece["function_call"].(map[string]any); ok {
		s.Calls = append(s.Calls, domain.ToolCall{Name: call["name"].(string), Arguments: call["arguments"].(string)})
	}
	list, _ := piece["tool_calls"].([]any)
	for k, item := range list {
		call := item.(map[string]any)
		if _, ok := call["index"]; ok {
			k = number(call, "index")
		}
		if calls[k] == nil {
			calls[k] = &domain.ToolCall{}
		}
		id, _ := call["id"].(string)
		function, ok := call["function"].(map[string]any)
		argumentsKey := "arguments"
		if !ok {
			function, argumentsKey = call["custom"].(map[string]any), "input"
		}
		name, _ := function["name"].(string)
		arguments, _ := function[argumentsKey].(string)
		if calls[k].ID == "" {
			calls[k].ID = id
		}
		if name != calls[k].Name { // some repeat it
			calls[k].Name += name
		}
		calls[k].Arguments += arguments
	}
}

// words is a content that is a text or a list of parts.
func words(content any) string {
	text, _ := content.(string)
	parts, _ := content.([]any)
	for _, part := range parts {
		if part := part.(map[string]any); part["type"] == "text" {
			text += part["text"].(string)
		}
	}
	return text
}

func (s *said) count(usage map[string]any) {
	prompt, _ := usage["prompt_tokens_details"].(map[string]any)
	completion, _ := usage["completion_tokens_details"].(map[string]any)
	s.Input, s.Output = int64(number(usage, "prompt_tokens")), int64(number(usage, "completion_tokens"))
	s.Cached = max(int64(number(prompt, "cached_tokens")), int64(number(usage, "prompt_cache_hit_tokens")))
	s.Reasoning = int64(number(completion, "reasoning_tokens"))
	if s.Cached > s.Input {
		s.Input += s.Cached
	}
	if s.Reasoning > s.Output || s.Reasoning > 0 && int64(number(usage, "total_tokens")) == s.Input+s.Output+s.Reasoning {
		s.Output += s.Reasoning
	}
}

func number(from map[string]any, key string) int {
	n, _ := from[key].(float64)
	return int(n)
}
