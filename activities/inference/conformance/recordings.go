package conformance

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// A Recording is an exchange with a real API.
type Recording struct {
	ID       string            `json:"id"`
	API      string            `json:"api"`
	Status   int               `json:"status"`
	Request  string            `json:"request"`
	Response string            `json:"response"`
	Headers  map[string]string `json:"headers"`
}

// IsStream tells a stream from a body in one piece.
func (r Recording) IsStream() bool { return !strings.HasPrefix(strings.TrimSpace(r.Response), "{") }

// Recordings returns the exchanges with an API that were answered, or those that
// ended with an error. It skips the test, aloud, where there are none to read.
func Recordings(t *testing.T, api string, answered bool) []Recording {
	t.Helper()
	data := os.Getenv("EVERSTEP_DATA")
	if data == "" {
		t.Skip("EVERSTEP_DATA is not set: recorded exchanges of the API " + api + " are NOT checked")
	}
	file, err := os.Open(filepath.Join(data, "llm-recordings.jsonl.gz")) //nolint:gosec // the path is what the test was told
	require.NoError(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	var out []Recording
	for lines := bufio.NewReader(unzipped); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var r Recording
			require.NoError(t, json.Unmarshal(line, &r))
			if r.API == api && (r.Status == http.StatusOK) == answered {
				out = append(out, r)
			}
		}
		if errors.Is(err, io.EOF) {
			require.NotEmpty(t, out)
			return out
		}
		require.NoError(t, err)
	}
}

// Play plays recorded answers to a provider: each delivered in one piece and
// byte by byte, and each stream cut after every event. Ends says where in a
// stream the API's own mark of the end has come; nil means with its last event.
func Play(t *testing.T, c Case, recordings []Recording, ends func(head string) bool) {
	t.Helper()
	for _, r := range recordings {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			c.play(t, r, ends)
		})
	}
}

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
