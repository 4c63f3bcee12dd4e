package testsuite_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/starter/client"
)

// A sentTurn is what a request holds of calls and results, in its order.
type sentTurn struct {
	calls, results   []string
	arguments, texts []string
}

// turnsOf reads a request in the form of its API.
func turnsOf(t *testing.T, api, body string) sentTurn {
	t.Helper()
	type block struct {
		Type, Role                        string
		ID, CallID, ToolUseID, ToolCallID string
		Input, Output, Arguments, Content json.RawMessage
		ToolCalls                         []struct {
			ID       string
			Function struct{ Arguments string }
		}
		FunctionCall, FunctionResponse *struct {
			ID             string
			Args, Response json.RawMessage
		}
		Parts []json.RawMessage
	}
	body = strings.NewReplacer(`"call_id"`, `"callID"`, `"tool_use_id"`, `"toolUseID"`, `"tool_call_id"`, `"toolCallID"`, `"tool_calls"`, `"toolCalls"`).Replace(body)
	var request struct {
		Messages, Input, Contents []json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(body), &request))
	var s sentTurn
	var take func(raw json.RawMessage)
	take = func(raw json.RawMessage) {
		var b block
		if json.Unmarshal(raw, &b) != nil {
			return // a text
		}
		switch {
		case b.Role == "tool":
			s.results, s.texts = append(s.results, b.ToolCallID), append(s.texts, string(b.Content))
			return
		case b.Type == "function_call":
			s.calls, s.arguments = append(s.calls, b.CallID), append(s.arguments, unquoted(b.Arguments))
		case b.Type == "function_call_output":
			s.results, s.texts = append(s.results, b.CallID), append(s.texts, string(b.Output))
		case b.Type == "tool_use":
			s.calls, s.arguments = append(s.calls, b.ID), append(s.arguments, string(b.Input))
		case b.Type == "tool_result":
			s.results, s.texts = append(s.results, b.ToolUseID), append(s.texts, string(b.Content))
		case b.FunctionCall != nil:
			s.calls, s.arguments = append(s.calls, b.FunctionCall.ID), append(s.arguments, string(b.FunctionCall.Args))
		case b.FunctionResponse != nil:
			s.results, s.texts = append(s.results, b.FunctionResponse.ID), append(s.texts, string(b.FunctionResponse.Response))
		}
		for _, call := range b.ToolCalls {
			s.calls, s.arguments = append(s.calls, call.ID), append(s.arguments, call.Function.Arguments)
		}
		var inner []json.RawMessage
		if json.Unmarshal(b.Content, &inner) == nil {
			for _, raw := range inner {
				take(raw)
			}
		}
		for _, raw := range b.Parts {
			take(raw)
		}
	}
	for _, raw := range slices.Concat(request.Messages, request.Input, request.Contents) {
		take(raw)
	}
	return s
}

func unquoted(raw json.RawMessage) string {
	var text string
	_ = json.Unmarshal(raw, &text)
	return text
}

// requirePairs fails unless each call of a request has exactly one result, in
// the same order, by an id of its own.
func requirePairs(t *testing.T, p *part, request, calls int) sentTurn {
	t.Helper()
	turn := turnsOf(t, p.api, p.requests()[request].body)
	require.Len(t, turn.calls, calls)
	require.Equal(t, turn.calls, turn.results)
	if p.api == gemini.Name && slices.Compact(slices.Clone(turn.calls))[0] == "" {
		return turn // it has ids only where it gives some
	}
	unique := slices.Clone(turn.calls)
	slices.Sort(unique)
	require.Len(t, slices.Compact(unique), calls, "%q", turn.calls)
	require.NotContains(t, turn.calls, "")
	return turn
}

// callPieces: a new call where the id changes, else by the place.
func callPieces() []failureCase {
	piece := func(index, id, name, arguments string) string {
		fields := []string{`"type":"function"`}
		if index != "" {
			fields = append(fields, `"index":`+index)
		}
		if id != "" {
			fields = append(fields, fmt.Sprintf(`"id":%q`, id))
		}
		return chatPiece(append(fields, fmt.Sprintf(`"function":{"name":%s,"arguments":%q}`, name, arguments))...)
	}
	const name, none, empty = `"echo"`, `null`, `""`
	var all []failureCase
	for what, body := range map[string]func(a, b string) string{
		"both share index 0": func(a, b string) string {
			return piece("0", "a", name, `{"text":`) + piece("0", "a", none, a+`}`) + piece("0", "b", name, `{"text":`) + piece("0", "b", none, b+`}`)
		},
		"both share index 0, ids at first": func(a, b string) string {
			return piece("0", "a", name, `{"text":`) + piece("0", "", none, a+`}`) + piece("0", "b", name, `{"text":`) + piece("0", "", none, b+`}`)
		},
		"no index": func(a, b string) string {
			return piece("", "a", name, `{"text":`) + piece("", "", none, a+`}`) + piece("", "b", name, `{"text":`) + piece("", "", empty, b+`}`)
		},
		"index null": func(a, b string) string {
			return piece("null", "a", name, `{"text":`+a+`}`) + piece("null", "b", name, `{"text":`+b+`}`)
		},
		"index -1": func(a, b string) string {
			return piece("-1", "a", name, `{"text":`) + piece("-1", "a", none, a+`}`) + piece("-1", "b", name, `{"text":`+b+`}`)
		},
		"the id in each piece": func(a, b string) string {
			return piece("0", "a", name, `{"text":`) + piece("0", "a", empty, a) + piece("0", "a", empty, `}`) + piece("1", "b", name, `{"text":`) + piece("1", "b", empty, b+`}`)
		},
		"the name in each piece": func(a, b string) string {
			return piece("0", "a", name, `{"text":`) + piece("0", "a", name, a+`}`) + piece("1", "b", name, `{"text":`) + piece("1", "b", name, b+`}`)
		},
		"empty names in later pieces": func(a, b string) string {
			return piece("0", "a", name, `{"text":`) + piece("0", "", empty, a+`}`) + piece("1", "b", name, `{"text":`) + piece("1", "", empty, b+`}`)
		},
		"in turn": func(a, b string) string {
			return piece("0", "a", name, `{"text":`) + piece("1", "b", name, `{"text":`) + piece("0", "", none, a+`}`) + piece("1", "", none, b+`}`)
		},
		"no ids": func(a, b string) string {
			return piece("0", "", name, `{"text":`+a+`}`) + piece("1", "", name, `{"text":`+b+`}`)
		},
	} {
		first, second := "pieces, "+what+", a", "pieces, "+what+", b"
		all = append(all, failureCase{
			name: what, plays: []play{gives(body(fmt.Sprintf("%q", first), fmt.Sprintf("%q", second)) + chatCalls), fine(openaichat.Name)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Equal(t, []int{1, 1}, []int{p.ran(first), p.ran(second)})
				turn := requirePairs(t, p, 1, 2)
				require.Equal(t, []string{fmt.Sprintf(`{"text":%q}`, first), fmt.Sprintf(`{"text":%q}`, second)}, turn.arguments)
			},
		})
	}
	return all
}

// badArguments go back to the model with the parser's words.
func badArguments() []failureCase {
	var all []failureCase
	for name, test := range map[string]struct{ arguments, says string }{
		"cut":                {`{"text":"bad argum`, "the text is not JSON"},
		"words":              {`bad arguments`, "the text is not JSON"},
		"two objects":        {`{"text":"bad arguments"}{"text":"bad arguments"}`, "the text is not JSON"},
		"a list":             {`["bad arguments"]`, "must be of type object"},
		"a text":             {`"bad arguments"`, "must be of type object"},
		"null":               {`null`, "must be of type object"},
		"another type":       {`{"text":7}`, "text"},
		"a key too many":     {`{"text":"bad arguments","loud":true}`, "loud"},
		"a key that lacks":   {`{"times":2}`, "text"},
		"nothing at all":     {``, "text"},
		"deeper than anyone": {strings.Repeat(`{"text":`, 12_000), "JSON"},
	} {
		for _, api := range failureAPIs() {
			switch {
			case api == gemini.Name && (!json.Valid([]byte(test.arguments)) || name == "null"):
				continue // its calls are JSON or no answer, and null is none
			case api != openaichat.Name && name != "cut" && name != "a list" && name != "another type":
				continue // tools have one parser
			}
			all = append(all, failureCase{
				name: api + ", " + name, api: api, plays: []play{callsTools(api, callText{"c1", "echo", test.arguments}), fine(api)},
				check: func(t *testing.T, p *part) {
					t.Helper()
					require.Zero(t, p.ran("bad arguments"))
					done := p.view.Steps[0].Tools[0]
					require.Equal(t, domain.ToolFailed, done.Outcome)
					require.Equal(t, []string{string(domain.Invalid), string(domain.CodeMalformed)}, []string{string(done.Error.Kind), string(done.Error.Code)})
					turn := requirePairs(t, p, 1, 1)
					require.Contains(t, turn.texts[0], "arguments: ")
					require.Contains(t, turn.texts[0], test.says)
					if test.arguments != "" {
						require.NotEqual(t, "{}", turn.arguments[0], "the model sees what it wrote")
					}
				},
			})
		}
	}
	call := callsTools(openaichat.Name, callText{"c1", "echo", `{"text":`})
	return append(all, failureCase{
		name: "three in a row", plays: []play{call, call, call}, want: stopping(domain.StopRequested, "in 3 steps in a row", "arguments that no tool takes"),
	})
}

// cutCalls: no call of an answer that was cut runs, the whole ones among them too.
func cutCalls() []failureCase {
	whole := func(name string) callText { return echoes("c1", "cut, "+name) }
	half := callText{"c2", "echo", `{"text":"cut in`}
	atLimit := func(s *client.Start) { s.Definition.Model.MaxOutputTokens = tokensOut }
	untold := func(name, api, body string, define func(*client.Start), calls int) failureCase {
		return failureCase{
			name: name, api: api, define: define, plays: []play{gives(body), fine(api)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Zero(t, p.ran("cut, "+name))
				require.Zero(t, p.view.Totals.ToolCalls)
				require.Len(t, p.view.Steps[0].Tools, calls)
				for _, done := range p.view.Steps[0].Tools {
					require.Equal(t, domain.ToolNotRun, done.Outcome)
				}
				require.Equal(t, domain.FinishLength, *p.view.Steps[0].FinishReason)
				for _, text := range requirePairs(t, p, 1, calls).texts {
					require.Contains(t, text, "make them smaller")
				}
			},
		}
	}
	return []failureCase{
		untold("length", openaichat.Name, callBody(openaichat.Name, "length", whole("length"), half), nil, 2),
		untold("max_tokens", anthropic.Name, callBody(anthropic.Name, "max_tokens", whole("max_tokens"), half), nil, 2),
		untold("max_tokens, an empty object", anthropic.Name, callBody(anthropic.Name, "max_tokens", callText{"c1", "echo", ""}), nil, 1),
		untold("incomplete", openai.Name, callBody(openai.Name, "incomplete", whole("incomplete"), half), nil, 2),
		untold("MAX_TOKENS", gemini.Name, callBody(gemini.Name, "MAX_TOKENS", whole("MAX_TOKENS")), nil, 1),
		untold("tool_calls at the maximum", openaichat.Name, callBody(openaichat.Name, "tool_calls", whole("tool_calls at the maximum"), half), atLimit, 2),
		untold("completed at the maximum", openai.Name, callBody(openai.Name, "completed", whole("completed at the maximum"), half), atLimit, 2),
	}
}

// unknownTools: the model is told the real names, three times at most.
func unknownTools() []failureCase {
	var all []failureCase
	for _, api := range failureAPIs() {
		wrong := callsTools(api, callText{"c1", "ecco", `{"text":"x"}`})
		told := func(t *testing.T, p *part) {
			t.Helper()
			require.Contains(t, requirePairs(t, p, 1, 1).texts[0], `the tools are: echo`)
			require.Equal(t, domain.CodeUnknownTool, p.view.Steps[0].Tools[0].Error.Code)
			require.Zero(t, p.view.Totals.ToolCalls)
		}
		all = append(all,
			failureCase{name: api + ", twice, then none", api: api, plays: []play{wrong, wrong, fine(api)}, check: told},
			failureCase{name: api + ", three in a row", api: api, plays: []play{wrong, wrong, wrong}, check: told,
				want: stopping(domain.StopRequested, "in 3 steps in a row the model asked only for unknown tools", "ecco")})
	}
	right := callsTools(openaichat.Name, echoes("c2", "between unknown ones"))
	wrong := callsTools(openaichat.Name, callText{"c1", "", `{}`})
	return append(all, failureCase{
		name: "a right one in between", plays: []play{wrong, wrong, right, wrong, wrong, fine(openaichat.Name)},
		check: func(t *testing.T, p *part) { t.Helper(); require.Equal(t, 1, p.ran("between unknown ones")) },
	})
}

// sharedIDs: what is sent back is consistent, and what is recorded stays.
func sharedIDs() []failureCase {
	var all []failureCase
	for _, api := range failureAPIs() {
		for name, ids := range map[string][3]string{"shared": {"x", "x", "x"}, "empty": {"", "", ""}, "over turns": {"x", "y", "x"}} {
			texts := [3]string{api + " " + name + " 1", api + " " + name + " 2", api + " " + name + " 3"}
			all = append(all, failureCase{
				name: api + ", " + name, api: api,
				plays: []play{callsTools(api, echoes(ids[0], texts[0]), echoes(ids[1], texts[1])), callsTools(api, echoes(ids[2], texts[2])), fine(api)},
				check: func(t *testing.T, p *part) {
					t.Helper()
					first, second := requirePairs(t, p, 1, 2), requirePairs(t, p, 2, 3)
					require.Equal(t, first.calls, second.calls[:2], "what was sent once stays so")
					for i, text := range texts {
						require.Equal(t, 1, p.ran(text))
						require.Contains(t, second.texts[i], "echo: "+text, "each call has its own result")
					}
				},
			})
		}
	}
	return all
}

// pairedCalls: whatever befell a call, it has one result.
func pairedCalls() []failureCase {
	var all []failureCase
	for _, api := range failureAPIs() {
		text := "paired, " + api
		mixed := callsTools(api, callText{"c1", "ecco", `{}`}, echoes("c2", text), callText{"c3", "echo", `{"loud":1}`}, echoes("c4", text))
		all = append(all, failureCase{
			name: api + ", unknown, good, bad, good", api: api, plays: []play{mixed, fine(api)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Equal(t, 2, p.ran(text))
				turn := requirePairs(t, p, 1, 4)
				for i, says := range []string{"unknown tool", "echo: " + text, "arguments: ", "echo: " + text} {
					require.Contains(t, turn.texts[i], says)
				}
			},
		})
		beyond := text + ", beyond the budget"
		all = append(all, failureCase{
			name: api + ", more than the budget allows", api: api, want: stopping(domain.ToolCallLimitReached, "max_tool_calls is 1"),
			plays:  []play{callsTools(api, echoes("c1", beyond), echoes("c2", beyond))},
			define: func(s *client.Start) { s.Budget.MaxToolCalls = new(int64(1)) },
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Equal(t, 1, p.ran(beyond))
				var results []string
				for _, m := range collect(t, p.agents.Messages(within(t), p.id)) {
					if m.Message.ToolResult != nil {
						results = append(results, m.Message.ToolResult.Content)
					}
				}
				require.Len(t, results, 2)
				require.Contains(t, results[1], "the budget allows no more tool calls")
			},
		})
	}
	return all
}
