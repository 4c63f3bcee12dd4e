package openai_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/activities/openai"
	"everstep/testsuite/providers"
)

// Pieces of a stream.
const (
	created = `{"type":"response.created","response":{"id":"resp_1","model":"m-1","status":"in_progress","output":[]}}`
	added   = `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","status":"in_progress","content":[]}}`
	hel     = `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hel"}`
	lo      = `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"lo"}`
	hello   = `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"hello"}]}`
	rs      = `{"type":"reasoning","id":"rs_1","encrypted_content":"a+b/c=","summary":[{"type":"summary_text","text":"hm"}]}`
	called  = `{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{\"x\":1}","status":"completed"}`
	used    = `{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":16}`
)

func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		name, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, e)
	}
	return b.String()
}

// ended is the event with which a stream ends.
func ended(status, more string, items ...string) string {
	return `{"type":"response.` + status + `","response":{"id":"resp_1","model":"m-1","status":"` + status + `"` + more + `,"output":[` + strings.Join(items, ",") + `]}}`
}

func itemDone(at int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, at, item)
}

// TestThinksUnheard: a model that thinks and shows nothing may take longer than a pause.
func TestThinksUnheard(t *testing.T) {
	t.Parallel()
	ping := sse(`{"type":"keepalive"}`)
	pieces := []string{sse(created, `{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1"}}`), ping, ping, ping, sse(ended("completed", "", hello))}
	p, err := wire.New(openai.API(), wire.Config{BaseURL: providers.Slowly(t, 250*time.Millisecond, pieces...).URL, Timeouts: wire.Timeouts{Idle: 500 * time.Millisecond}})
	require.NoError(t, err)
	_, failed := providers.Infer(t, p, question())
	require.Nil(t, failed)
}
