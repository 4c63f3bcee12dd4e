package openaichat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// TestUnreadTags: what an answer has in its text names the keys that read it, unless they are given.
func TestUnreadTags(t *testing.T) {
	t.Parallel()
	for text, keys := range map[string]string{
		"Hello.": "", "Write `<tool_call>{}` so.": "", "a <think> b": "", "<tool_call>f(1)</tool_call>": "",
		"I look.\n<tool_call>\n{\"name\":\"f\"}": "tool_calls_in_text", "\n<think>hm": "think_tags",
		"<think>hm</think><tool_call>{": "tool_calls_in_text, think_tags", "hm\n</think>\n\nso": "think_tags", "Write `</think>` so.": "",
		"So:\n<tool_call><function=f>": "tool_calls_in_text", "<tool_call>f\n<arg_key>": "tool_calls_in_text", "<function=f>": "looks like", "<invoke name=\"f\">": "looks like", "[TOOL_CALLS][{": "looks like", "<|python_tag|>f()": "looks like",
		"<｜tool▁calls▁begin｜>": "looks like", "Say <function=f> here.": "",
	} {
		said := openaichat.Unread(nil, text)
		require.Equal(t, keys != "", said != "", text)
		require.Contains(t, said, keys)
		said = openaichat.Unread(domain.Metadata{"dialect": []byte(`{"tool_calls_in_text":true,"think_tags":true}`)}, text)
		require.Equal(t, keys == "looks like", said != "", text)
	}
}

// TestThinkingThatTheTemplateHasBegun: what stands before the end of a thinking without a beginning is thought.
func TestThinkingThatTheTemplateHasBegun(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"hm\n</think>\n\nso":                   {"hm\n", "so"},
		"<think>hm</think>the </think> is one": {"hm", "the </think> is one"},
		"hm</think>so </think>":                {"hm", "so </think>"},
		"a < b </thin":                         {"", "a < b </thin"},
	} {
		for _, size := range []int{1, 3, len(text)} {
			body := ""
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				piece, _ := json.Marshal(rest[:min(size, len(rest))])
				body += chunk(`{"index":0,"delta":{"content":` + string(piece) + `}}`)
			}
			call := question()
			call.Config.Options = domain.Metadata{"dialect": []byte(`{"think_tags":true}`)}
			answer, err := infer(t, providers.Serve(t, 200, nil, body+chunk(finish)).URL, call)
			require.Nil(t, err)
			require.Equal(t, want[1], answer.Message.Text(), "%s by %d", text, size)
			thought := ""
			for _, p := range answer.Message.Parts {
				if p.Type == domain.PartReasoning {
					thought += p.Text
				}
			}
			require.Equal(t, want[0], thought, "%s by %d", text, size)
		}
	}
}

// TestTags: an agent that says so has calls and thinking read out of the text, wherever the pieces of a stream are cut, and
// what is no call stays text. Others have the text as it came.
func TestTags(t *testing.T) {
	t.Parallel()
	const call = `<tool_call>` + "\n" + `{"name":"f","arguments":{"a":"<b>"}}` + "\n" + `</tool_call>`
	f := domain.ToolCall{Name: "f", Arguments: `{"a":"<b>"}`}
	for name, test := range map[string]struct {
		said, dialect, text, thought string
		calls                        []domain.ToolCall
		finish                       domain.FinishReason
	}{
		"off":                     {said: "a" + call, text: "a" + call},
		"a text":                  {said: "a < b, <tool", dialect: `{"tool_calls_in_text":true,"think_tags":true}`, text: "a < b, <tool"},
		"a call":                  {said: call, dialect: `{"tool_calls_in_text":true}`, calls: []domain.ToolCall{f}},
		"calls behind a text":     {said: "I look.\n\n" + call + "\n" + call + "\n", dialect: `{"tool_calls_in_text":true}`, text: "I look.", calls: []domain.ToolCall{f, f}},
		"thinking, then a call":   {said: "<think>hm\n</think>\n\nso" + call, dialect: `{"tool_calls_in_text":true,"think_tags":true}`, thought: "hm\n", text: "so", calls: []domain.ToolCall{f}},
		"a call in the thinking":  {said: "<think>" + call + "</think>no", dialect: `{"tool_calls_in_text":true,"think_tags":true}`, thought: call, text: "no"},
		"thinking alone":          {said: "<think>hm</think>x" + call, dialect: `{"think_tags":true}`, thought: "hm", text: "x" + call},
		"thinking without an end": {said: "<think>hm </thin", dialect: `{"think_tags":true}`, thought: "hm </thin"},
		"no JSON":                 {said: "a<tool_call>f(1)</tool_call>b", dialect: `{"tool_calls_in_text":true}`, text: "a<tool_call>f(1)</tool_call>b"},
		"no name":                 {said: `<tool_call>{"x":1}</tool_call>`, dialect: `{"tool_calls_in_text":true}`, text: `<tool_call>{"x":1}</tool_call>`},
		"a name of no text":       {said: `<tool_call>{"name":["rm"]}</tool_call>`, dialect: `{"tool_calls_in_text":true}`, text: `<tool_call>{"name":["rm"]}</tool_call>`},
		"no end tag":              {said: `<tool_call>{"name":"f","arguments":{"a":"<b>"}}`, dialect: `{"tool_calls_in_text":true}`, calls: []domain.ToolCall{f}},
		"cut":                     {said: `a<tool_call>{"name":"f","argu`, dialect: `{"tool_calls_in_text":true}`, text: `a<tool_call>{"name":"f","argu`},
		"arguments in a text":     {said: `<tool_call>{"name":"f","arguments":"{\"a\":\"<b>\"}"}</tool_call>`, dialect: `{"tool_calls_in_text":true}`, calls: []domain.ToolCall{f}},
		"parameters":              {said: `<tool_call>{"name":"f","parameters":{"a":"<b>"}}</tool_call>`, dialect: `{"tool_calls_in_text":true}`, calls: []domain.ToolCall{f}},
		"two in a list":           {said: `<tool_call>[{"name":"f","arguments":{"a":"<b>"}},{"name":"f","arguments":{"a":"<b>"}}]</tool_call>`, dialect: `{"tool_calls_in_text":true}`, calls: []domain.ToolCall{f, f}},
		"a list with a text":      {said: `<tool_call>[{"name":"f"},1]</tool_call>`, dialect: `{"tool_calls_in_text":true}`, text: `<tool_call>[{"name":"f"},1]</tool_call>`},
		"parameters in tags":      {said: "<tool_call>\n<function=f>\n<parameter=a>\n<b>\n</parameter>\n</function>\n</tool_call>", dialect: `{"tool_calls_in_text":true}`, calls: []domain.ToolCall{f}},
		"no end of all":           {said: "<tool_call>\n<function=f>\n<parameter=a>\n<b>\n</parameter>\n</function>", dialect: `{"tool_calls_in_text":true}`, calls: []domain.ToolCall{f}},
		"a parameter is cut":      {said: "<tool_call><function=f><parameter=a>1</parameter><parameter=b>2</function></tool_call>", dialect: `{"tool_calls_in_text":true}`, text: "<tool_call><function=f><parameter=a>1</parameter><parameter=b>2</function></tool_call>"},
		"keys and values":         {said: "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value><b></arg_value>\n</tool_call>", dialect: `{"tool_calls_in_text":true}`, calls: []domain.ToolCall{f}},
		"a word that is no tool":  {said: "<tool_call>g</tool_call>", dialect: `{"tool_calls_in_text":true}`, text: "<tool_call>g</tool_call>"},
		"types of a tool's":       {said: `<tool_call><invoke name="f"><parameter name="n">7</parameter><parameter name="l">[1]</parameter><parameter name="s">7</parameter></invoke><invoke name="f"></invoke></tool_call>`, dialect: `{"tool_calls_in_text":true}`, calls: []domain.ToolCall{{Name: "f", Arguments: `{"l":[1],"n":7,"s":"7"}`}, {Name: "f", Arguments: "{}"}}},
		"no arguments":            {said: `<tool_call>{"name":"f"}</tool_call>`, dialect: `{"tool_calls_in_text":true}`, calls: []domain.ToolCall{{Name: "f", Arguments: "{}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 2, 7, len(test.said)} {
				body := ""
				for rest := test.said; rest != ""; rest = rest[min(size, len(rest)):] {
					piece, _ := json.Marshal(rest[:min(size, len(rest))])
					body += chunk(`{"index":0,"delta":{"content":` + string(piece) + `}}`)
				}
				call := question()
				call.Tools = []domain.ToolSpec{{Name: "f", Schema: []byte(`{"type":"object","properties":{"a":{"type":"string"},"n":{"type":"integer"},"s":{"type":["string","null"]}}}`)}}
				if test.dialect != "" {
					call.Config.Options = domain.Metadata{"dialect": []byte(test.dialect)}
				}
				server := providers.Serve(t, 200, nil, body+chunk(finish)+"data: [DONE]\n\n")
				var told inference.Delta
				answer, err := provider(t, server.URL).Infer(t.Context(), call, func(d inference.Delta) {
					told.Text, told.Reasoning, told.Tool = told.Text+d.Text, told.Reasoning+d.Reasoning, told.Tool+d.Tool
				})
				require.NoError(t, err)
				require.Equal(t, test.text, answer.Message.Text(), size)
				require.Equal(t, test.calls, answer.Message.ToolCalls, size)
				require.Equal(t, inference.Delta{Text: test.text, Reasoning: test.thought, Tool: strings.Repeat("f", len(test.calls))}, told, "what is told is the answer")
				var thought string
				for _, p := range answer.Message.Parts {
					if p.Type == domain.PartReasoning {
						thought += p.Text
					}
				}
				require.Equal(t, test.thought, thought, size)
				require.Equal(t, len(test.calls) > 0, answer.Response.Finish == domain.FinishToolCalls)
			}
		})
	}
	tagged := question()
	tagged.Config.Options = domain.Metadata{"dialect": []byte(`{"think_tags":true}`)}
	require.NotContains(t, sent(t, tagged), "dialect")
	for said, want := range map[string]string{"Close it with </think> always.": "Close it with </think> always.", "\n</think>\n\nSo, </think>": "So, </think>"} {
		apart := chunk(`{"index":0,"delta":{"reasoning_content":"hm"}}`)
		for _, letter := range said {
			piece, _ := json.Marshal(string(letter))
			apart += chunk(`{"index":0,"delta":{"content":` + string(piece) + `}}`)
		}
		answer, err := infer(t, providers.Serve(t, 200, nil, apart+chunk(finish)).URL, tagged)
		require.Nil(t, err)
		require.Equal(t, want, answer.Message.Text(), "the thinking has a field of its own")
	}
	late := chunk(`{"index":1,"delta":{"content":"x"}}`) + chunk(`{"index":0,"delta":{"content":"<think>hm</think>so"}}`) + chunk(finish)
	answer, err := infer(t, providers.Serve(t, 200, nil, late).URL, tagged)
	require.Nil(t, err)
	require.Equal(t, "so", answer.Message.Text(), "they are read in a choice that begins behind another")
}

// TestACallInATextIsNoSecondOne where the whole message, or another choice, has it too.
func TestACallInATextIsNoSecondOne(t *testing.T) {
	t.Parallel()
	call := question()
	call.Config.Options = domain.Metadata{"dialect": []byte(`{"tool_calls_in_text":true}`)}
	const made, text = `[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]`, `{"index":0,"delta":{"content":"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>"}}`
	for _, beside := range []string{`{"index":0,"delta":{},"message":{"role":"assistant","tool_calls":` + made + `},"finish_reason":"tool_calls"}`, `{"index":1,"delta":{"tool_calls":` + made + `}}`} {
		answer, err := infer(t, providers.Serve(t, 200, nil, chunk(text)+chunk(beside)+chunk(finish)+"data: [DONE]\n\n").URL, call)
		require.Nil(t, err)
		require.Len(t, answer.Message.ToolCalls, 1, beside)
	}
}
