package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
)

// begs is a server that asks for what its argument names, in the middle of a call and unasked, and repeats what it is
// told; where it was refused it fails.
func begs() {
	in := bufio.NewReader(os.Stdin)
	type message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Arguments args `json:"arguments"`
		} `json:"params"`
		Error *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	next := func() (m message) {
		line, err := in.ReadBytes('\n')
		if err != nil || json.Unmarshal(line, &m) != nil {
			os.Exit(0)
		}
		return m
	}
	for {
		m := next()
		switch {
		case len(m.ID) == 0:
		case m.Method == "server/discover":
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"no such method\"}}\n", m.ID)
		case m.Method == "tools/call":
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":%q,\"params\":{\"message\":%q}}\n", m.Params.Arguments.Text, strings.Repeat("x", m.Params.Arguments.N))
			told := next()
			for string(told.ID) != `"q"` {
				told = next()
			}
			if told.Error == nil {
				fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", m.ID, hello)
				continue
			}
			answer, _ := json.Marshal(fmt.Sprintf("I was told %d: %s", told.Error.Code, told.Error.Message))
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":%s}]}}\n", m.ID, answer)
		default:
			fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", m.ID, usual(m.Method, nil))
		}
	}
}

// TestAServerThatAsksAllTheSame gets the protocol's refusal, however much it says; the model reads why the call failed,
// and who follows the call reads it at once.
func TestAServerThatAsksAllTheSame(t *testing.T) {
	t.Parallel()
	for method, what := range map[string]string{"elicitation/create": "an answer of a person (elicitation)", "sampling/createMessage": "an answer of a model (sampling)"} {
		for _, size := range []int{0, 1 << 20} {
			t.Run(fmt.Sprint(method, " ", size), func(t *testing.T) {
				t.Parallel()
				s := started(t, "begs")
				found, err := s.Find(t.Context(), "s__echo")
				require.NoError(t, err)
				var told []string
				ctx := tool.WithProgress(t.Context(), func(line string) { told = append(told, line) })
				_, err = found.Call(ctx, fmt.Sprintf(`{"text":%q,"n":%d}`, method, size))
				require.EqualError(t, err, fmt.Sprintf("I was told -32601: method not found: %q", method)+"; meanwhile MCP server s asked for "+what+", which no server is given")
				require.False(t, tool.IsOutcomeUnknown(err))
				require.Equal(t, []string{"its server asks for " + what + ", which no server is given"}, told)
				require.Equal(t, "hello", said(t, s, "s__echo", args{Text: "ping"}), "what else it asks is answered")
			})
		}
	}
}

// busy asks something in a call, and then reads nothing for longer than an answer over HTTP may take.
func busy() {
	answeringRaw(func(id, method string, params json.RawMessage) string {
		text, _ := textAndToken(params)
		if marker, asked := strings.CutPrefix(text, "busy "); asked {
			_ = os.WriteFile(marker, nil, 0o600) // the test waits for it
			time.Sleep(2 * time.Second)          // in which the next request fills its input
			fmt.Println(`{"jsonrpc":"2.0","id":"q","method":"ping"}`)
			time.Sleep(32 * time.Second)
		}
		return answerTo(id, usual(method, func() string { return hello }))
	})
}

// TestAProgramThatIsBusy reads the answer to what it has asked behind a long call, whenever it comes to that.
func TestAProgramThatIsBusy(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: it is busy for half a minute")
	}
	s := started(t, "busy")
	said(t, s, "s__echo", args{})
	before := s.all["s"].live
	asks, marker := make(chan error), filepath.Join(t.TempDir(), "busy")
	go func() {
		_, err := call(t, s, "s__echo", args{Text: "busy " + marker})
		asks <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(marker); return err == nil }, 10*time.Second, 10*time.Millisecond)
	said(t, s, "s__echo", args{Text: strings.Repeat("x", 1<<20)})
	require.NoError(t, <-asks)
	require.Equal(t, "hello", said(t, s, "s__echo", args{}))
	require.Same(t, before, s.all["s"].live)
}
