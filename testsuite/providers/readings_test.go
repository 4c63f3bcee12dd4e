package providers

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/domain"
)

var update = flag.Bool("update", false, "write what is kept anew")

// TestReadingsOfRecordings: all exchanges with real APIs are read as they were. Which of them differ, and in what, is to be
// read before the file is written anew.
func TestReadingsOfRecordings(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "readings.txt")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	kept := strings.Split(strings.TrimSpace(string(text)), "\n")
	var now []string
	for name, api := range map[string]wire.API{"chat": openaichat.APIs()[0], "responses": openai.API(), "messages": anthropic.API()} {
		for _, answered := range []bool{true, false} {
			for _, r := range Recordings(t, name, answered) {
				line, reading := reading(t, api, r)
				if now = append(now, line); !*update && !slices.Contains(kept, line) {
					t.Errorf("%s is read as %s", line, reading)
				}
			}
		}
	}
	slices.Sort(now)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(now, "\n")+"\n"), 0o600))
		return
	}
	require.Len(t, now, len(kept))
}

// reading is what an adapter makes of a recording: a line with its digest, and all of it.
func reading(t *testing.T, api wire.API, r Recording) (line, whole string) {
	t.Helper()
	p, err := wire.New(api, wire.Config{BaseURL: Serve(t, r.Status, nil, r.Response).URL, Key: wire.FixedKey("sk-test-0123456789")})
	require.NoError(t, err)
	call := inference.Call{Config: domain.LLMConfig{Provider: api.Name, Model: "m"}, Messages: []domain.Message{domain.UserMessage("hello")}}
	answer, failed := Infer(t, p, call)
	what := string(answer.Response.Finish)
	if failed != nil {
		what = strings.TrimSuffix("error "+string(failed.Kind)+" "+string(failed.Code), " ")
		failed = &domain.Error{Kind: failed.Kind, Code: failed.Code, RetryAfter: failed.RetryAfter, Billed: failed.Billed} // its words name a port
	}
	encoded, err := json.Marshal(struct {
		Answer inference.Answer
		Error  *domain.Error
		Billed bool
	}{answer, failed, failed != nil && failed.Billed})
	require.NoError(t, err)
	digest := fmt.Sprint(domain.DigestOf(encoded))
	return fmt.Sprintf("%s %s %s, %d calls, %d bytes of text: %s", r.API, r.ID, what, len(answer.Message.ToolCalls), len(answer.Message.Text()), digest), string(encoded)
}
