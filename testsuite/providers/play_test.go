package providers

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// play plays a recorded answer to a provider: delivered in one piece and byte by
// byte, and a stream cut after every event. Ends says where in a stream the API's
// own mark of the end has come; nil means with its last event.
func (c Case) play(t *testing.T, r Recording, ends func(head string) bool) {
	t.Helper()
	response := strings.TrimRight(strings.ReplaceAll(r.Response, "\r\n", "\n"), "\n") + "\n\n"
	// A response is read once, at its request: the one before may still be on its
	// way when the next is set, after what ends the answer.
	type delivery struct {
		body     string
		bytewise bool
	}
	var coming atomic.Pointer[delivery]
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		now := coming.Load()
		w.Header().Set("Content-Type", mediaType(response))
		head, slow := now.body, 0
		if now.bytewise {
			slow = min(len(head), 4000)
		}
		for k := range slow {
			_, _ = io.WriteString(w, head[k:k+1])
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, head[slow:])
	})
	p := c.provider(t, s, wire.Timeouts{})
	ask := func(body string, bytewise bool) Outcome {
		coming.Store(&delivery{body, bytewise})
		return c.attempt(t.Context(), t, s, p)
	}
	whole := ask(response, false)
	require.Nil(t, whole.Err)
	require.Equal(t, whole.Answer, ask(response, true).Answer)
	if !r.IsStream() {
		return
	}
	cuts := boundary.FindAllStringIndex(response, -1)
	require.NotEmpty(t, cuts)
	for _, cut := range append([][]int{{0, 0}}, cuts...) {
		body := response[:cut[1]]
		o := ask(body, false)
		if ends != nil && ends(body) || len(body) == len(response) {
			require.Nil(t, o.Err, "cut at %d", cut[1])
			require.Equal(t, whole.Answer.Message, o.Answer.Message)
			continue
		}
		require.NotNil(t, o.Err, "cut at %d passes for an answer", cut[1])
		require.Equal(t, domain.CodeMalformed, o.Err.Code)
		require.True(t, o.Err.Billed)
	}
}
