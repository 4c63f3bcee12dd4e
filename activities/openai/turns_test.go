package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/enum"
	"everstep/testsuite/providers"
)

// An item is one of an answer's. Its value is what is drawn of it: the encrypted
// reasoning, or a call's id.
type item struct{ kind, value string }

// TestTurnsGoBackAsTheyCame: of any conversation, whatever items its answers
// were made of, what is sent keeps the order of the items; reasoning is the
// same bytes and stands right before what followed it; each call has an id of
// its own and one result behind it.
func TestTurnsGoBackAsTheyCame(t *testing.T) {
	t.Parallel()
	play := turns(t)
	rapid.Check(t, func(rt *rapid.T) {
		play(rt, rapid.SliceOfN(rapid.Custom(drawTurn), 1, 4).Draw(rt, "turns"))
	})
}

// TestTurnsThatWentBackOtherwise are those that once did.
func TestTurnsThatWentBackOtherwise(t *testing.T) {
	t.Parallel()
	play := turns(t)
	for name, played := range map[string][][]item{
		"a call before a text":              {{{kind: "call"}, {kind: "message"}}},
		"an id that is too long":            {{{"call", strings.Repeat("c", 65)}}},
		"reasoning that nothing follows":    {{{"reasoning", "+"}}, {{"reasoning", "+"}, {kind: "message"}}},
		"reasoning before what is left out": {{{"reasoning", "+"}}, {{"reasoning", "+"}, {kind: "empty"}, {kind: "message"}}},
	} {
		t.Run(name, func(t *testing.T) { play(t, played) })
	}
}

// turns plays answers, one a turn, and checks what is sent of them.
func turns(t *testing.T) func(require.TestingT, [][]item) {
	t.Helper()
	var answer, request atomic.Pointer[string]
	server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request.Store(new(string(body)))
		_, _ = io.WriteString(w, *answer.Load())
	})
	p := provider(t, server.URL)
	return func(rt require.TestingT, played [][]item) {
		call := question()
		call.Messages = nil
		var want []string
		for turn, drawn := range played {
			call.Messages = append(call.Messages, domain.UserMessage("go on"))
			want = append(want, `{"content":"go on","role":"user"}`)
			items, sentBack := itemsOf(turn, drawn)
			answer.Store(new(`{"status":"completed","output":[` + strings.Join(items, ",") + `]}`))
			got, err := p.Infer(t.Context(), question(), func(inference.Delta) {})
			require.NoError(rt, err)
			recorded, err := json.Marshal(got.Message)
			require.NoError(rt, err)
			var message domain.Message
			require.NoError(rt, json.Unmarshal(recorded, &message))
			call.Messages, want = append(call.Messages, message), append(want, sentBack...)
			for k, c := range message.ToolCalls {
				content := fmt.Sprintf("%d.%d", turn, k)
				call.Messages = append(call.Messages, domain.ToolMessage(domain.ToolResult{CallID: c.ID, Content: content}))
				want = append(want, `{"output":"`+content+`","type":"function_call_output"}`)
			}
		}
		answer.Store(new(okay))
		_, err := p.Infer(t.Context(), call, func(inference.Delta) {})
		require.NoError(rt, err)
		var body struct {
			Input []json.RawMessage `json:"input"`
		}
		require.NoError(rt, json.Unmarshal([]byte(*request.Load()), &body))
		require.Equal(rt, want, checked(rt, body.Input))
	}
}

func drawTurn(rt *rapid.T) []item {
	var drawn []item
	for _, kind := range rapid.SliceOfN(rapid.SampledFrom([]string{"reasoning", "bare", "message", "empty", "call", "search"}), 0, 7).Draw(rt, "items") {
		one := item{kind: kind}
		switch kind {
		case "reasoning":
			one.value = rapid.StringMatching(`[A-Za-z0-9+/_=-]{1,40}`).Draw(rt, "encrypted")
		case "call":
			one.value = rapid.SampledFrom([]string{"", "a", "b", strings.Repeat("c", 65)}).Draw(rt, "call_id")
		}
		drawn = append(drawn, one)
	}
	return drawn
}

// itemsOf makes the items of an answer, and says in what form they go back, ids
// of calls left out.
func itemsOf(turn int, drawn []item) (items, sentBack []string) {
	var held []string
	for k, one := range drawn {
		id := fmt.Sprintf("%d_%d", turn, k)
		switch one.kind {
		case "reasoning":
			text := `{"summary":[{"text":"é\u2028 \"x\"","type":"summary_text"}],"id":"rs_` + id + `","type":"reasoning","encrypted_content":"` + one.value + `"}`
			items, held = append(items, text), append(held, text)
		case "bare":
			items = append(items, `{"type":"reasoning","id":"rs_`+id+`","summary":[]}`)
		case "message":
			items = append(items, `{"type":"message","id":"msg_`+id+`","content":[{"type":"output_text","text":"`+id+`"}]}`)
			sentBack = append(append(sentBack, held...), `{"content":"`+id+`","role":"assistant"}`)
			held = nil
		case "empty":
			items, held = append(items, `{"type":"message","id":"msg_`+id+`","content":[]}`), nil
		case "call":
			items = append(items, `{"type":"function_call","id":"","call_id":"`+one.value+`","name":"f_`+id+`","arguments":"{}"}`)
			sentBack = append(append(sentBack, held...), `{"arguments":"{}","name":"f_`+id+`","type":"function_call"}`)
			held = nil
		case "search":
			items, held = append(items, `{"type":"web_search_call","id":"ws_`+id+`"}`), nil
		}
	}
	return items, sentBack
}

// checked checks the ids of calls and results and returns the items without
// them; reasoning as its bytes are.
func checked(rt require.TestingT, input []json.RawMessage) []string {
	var out, calls, results []string
	for _, raw := range input {
		var item map[string]any
		require.NoError(rt, json.Unmarshal(raw, &item))
		if item["type"] == "reasoning" {
			out = append(out, string(raw))
			continue
		}
		if id, ok := item["call_id"].(string); ok {
			require.NotEmpty(rt, id)
			require.LessOrEqual(rt, len(id), 64)
			if item["type"] == "function_call" {
				require.NotContains(rt, calls, id)
				calls = append(calls, id)
			} else {
				require.Contains(rt, calls, id, "a result before its call")
				results = append(results, id)
			}
			delete(item, "call_id")
		}
		text, err := json.Marshal(item)
		require.NoError(rt, err)
		out = append(out, string(text))
	}
	require.Equal(rt, calls, results, "each call has one result, in order")
	return out
}

// FuzzAnswers: whatever a server sends, there is an answer or a typed error
// that says it may have been billed, and what is an answer goes back.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		sse(created, added, hel, lo, itemDone(0, hello), ended("completed", `,"usage":`+used, hello)),
		sse(itemDone(0, rs), itemDone(1, called), ended("completed", "")), sse(ended("incomplete", `,"incomplete_details":{"reason":"content_filter"}`, called, rs, hello)),
		sse(ended("failed", `,"error":{"code":"bio_policy"}`)), okay, `{"error":"x"}`, "data: [DONE]\n\n", "event: error\ndata: {}\n\n",
		sse(`{"type":"response.output_item.done","output_index":1e99,"item":[]}`, `{"type":"response.output_text.delta","output_index":-1,"delta":{}}`, ended("completed", "", "null", "7", `"x"`, `{"type":"message","content":"x","status":4}`)),
	} {
		f.Add(seed)
	}
	var body atomic.Pointer[string]
	server := providers.ServeFunc(f, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, *body.Load()) })
	p := provider(f, server.URL)
	f.Fuzz(func(t *testing.T, text string) {
		body.Store(&text)
		answer, err := p.Infer(t.Context(), question(), func(inference.Delta) {})
		require.Equal(t, err != nil, answer.Partial)
		if err != nil {
			failed, ok := errors.AsType[*domain.Error](err)
			require.True(t, ok)
			require.True(t, failed.Billed)
			require.Empty(t, answer.Message.ToolCalls)
			return
		}
		require.Contains(t, enum.Known[domain.FinishReason](), answer.Response.Finish)
		recorded, err := json.Marshal(answer.Message)
		require.NoError(t, err)
		var message domain.Message
		require.NoError(t, json.Unmarshal(recorded, &message))
		body.Store(new(okay))
		call := question()
		call.Messages = slices.Concat(call.Messages, []domain.Message{message})
		_, err = p.Infer(t.Context(), call, func(inference.Delta) {})
		require.NoError(t, err)
	})
}
