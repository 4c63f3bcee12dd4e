package openaichat_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// chunk is one event of a stream.
func chunk(choice string) string {
	return `data: {"id":"1","model":"m-1","choices":[` + choice + `]}` + "\n\n"
}

const (
	role   = `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`
	hello  = `{"index":0,"delta":{"content":"hello"},"finish_reason":null}`
	finish = `{"index":0,"delta":{},"finish_reason":"stop"}`
)

// TestAFinishReasonAtEachPiece: the server may take its time between them, as between any pieces, and what breaks off is
// no answer.
func TestAFinishReasonAtEachPiece(t *testing.T) {
	t.Parallel()
	piece := chunk(strings.Replace(hello, "null", `"stop"`, 1))
	url, closed := providers.Stall(t, piece+piece)
	p, err := wire.New(openaichat.APIs()[0], wire.Config{BaseURL: url, Timeouts: wire.Timeouts{Idle: 200 * time.Millisecond}})
	require.NoError(t, err)
	answer, err := p.Infer(t.Context(), question(), func(inference.Delta) {})
	require.Error(t, err)
	require.True(t, domain.AsError(err).Billed)
	require.Equal(t, "hellohello", answer.Message.Text())
	require.True(t, answer.Partial)
	<-closed
}

// TestFinishOptional: a stream that ends without a mark of its end is an answer where the worker says so, unless it was
// cut inside of a call or said nothing.
func TestFinishOptional(t *testing.T) {
	t.Parallel()
	call := chunk(`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}`)
	for body, whole := range map[string]bool{
		chunk(hello): true, chunk(hello) + chunk(finish) + chunk(hello): true, chunk(hello) + call: false, chunk(role): false,
	} {
		url := providers.Serve(t, 200, nil, body).URL
		for _, optional := range []bool{false, true} {
			p, err := wire.New(openaichat.APIs()[0], wire.Config{BaseURL: url, FinishOptional: optional})
			require.NoError(t, err)
			answer, err := p.Infer(t.Context(), question(), func(inference.Delta) {})
			if !optional || !whole {
				require.Equal(t, domain.CodeMalformed, domain.AsError(err).Code, body)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, strings.Repeat("hello", strings.Count(body, "hello")), answer.Message.Text())
			require.Equal(t, domain.FinishStop, answer.Response.Finish)
		}
	}
}

// TestManyPieces cost what they are, and not what all before them are at each: calls in another choice, and a call in the text.
func TestManyPieces(t *testing.T) { // counts what the process takes: not in parallel
	asked := question()
	asked.Config.Options = domain.Metadata{"dialect": []byte(`{"tool_calls_in_text":true}`)}
	for first, piece := range map[string]string{
		`{"index":1,"delta":{"tool_calls":[{"id":"z","function":{"name":"z"}}]}}`: `{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"f"}}]}}`,
		`{"index":0,"delta":{"content":"<tool_call>"}}`:                           `{"index":0,"delta":{"content":"` + strings.Repeat("x", 1000) + `%d%d"}}`,
	} {
		cost := func(pieces int) uint64 {
			body := chunk(first)
			for k := range pieces {
				body += chunk(fmt.Sprintf(piece, k, k))
			}
			url := providers.Serve(t, 200, nil, body).URL
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = infer(t, url, asked)
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		require.Less(t, cost(800), 3*cost(400), first)
	}
}

// TestToldOfWhatWasCut: what may begin a tag that nothing closes is thought, and a call that the server could not read is
// recorded and shown to nobody.
func TestToldOfWhatWasCut(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]inference.Delta{
		chunk(`{"index":0,"delta":{"content":"<think>hm <tool_"}}`):                                                  {Reasoning: "hm <tool_"},
		chunk(hello) + `data: {"error":{"message":"Failed to call a function","failed_generation":"<f>{"}}` + "\n\n": {Text: "hello"},
	} {
		call := question()
		call.Config.Options = domain.Metadata{"dialect": []byte(`{"think_tags":true}`)}
		var told inference.Delta
		answer, err := provider(t, providers.Serve(t, 200, nil, body).URL).Infer(t.Context(), call, func(d inference.Delta) {
			told.Text, told.Reasoning = told.Text+d.Text, told.Reasoning+d.Reasoning
		})
		require.Error(t, err)
		require.Equal(t, want, told)
		require.Equal(t, want.Text != "", strings.Contains(answer.Message.Text(), "<f>{"))
	}
}
