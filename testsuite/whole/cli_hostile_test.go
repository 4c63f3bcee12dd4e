package whole_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

// naughty are the strings that break programs.
func naughty(t *testing.T) []string {
	t.Helper()
	folder := os.Getenv("EVERSTEP_DATA")
	if folder == "" {
		t.Skip("EVERSTEP_DATA is not set: the naughty strings were NOT tried as prompts")
	}
	data, err := os.ReadFile(filepath.Join(folder, "hostile", "blns", "blns.json"))
	require.NoError(t, err)
	var all []string
	require.NoError(t, json.Unmarshal(data, &all))
	require.Greater(t, len(all), 500)
	return all
}

// TestCLIHostilePrompts gives naughty strings as prompts: each is refused as
// usage, or taken as it is and carried through to the end. Some go through the
// program, the others through the client that it uses.
func TestCLIHostilePrompts(t *testing.T) {
	t.Parallel()
	all := naughty(t)
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	path := filepath.Join(c.dir, c.file("hello.yaml", hello))
	var some sync.WaitGroup
	for lane := range 4 {
		some.Go(func() {
			for i := lane; i < len(all); i += 4 {
				tryPrompt(t, s, path, all[i], i/4%8 == 0)
			}
		})
	}
	some.Wait()
	for i := 0; i < len(all); i += 20 {
		got := c.do("start", "--json", "--model", "scripted/"+path, "--", all[i])
		if strings.TrimSpace(all[i]) == "" || all[i] == "-" {
			require.Equal(t, 2, got.code, "%q: %s", all[i], got.err)
			requireOneError(t, got.err, "prompt:")
			continue
		}
		require.Equal(t, 0, got.code, "%q: %s", all[i], got.err)
		require.NotEmpty(t, object(t, got.out)["id"])
	}
}

// tryPrompt starts an agent with a prompt; on an unserved queue, unless its
// end is to be seen as well.
func tryPrompt(t *testing.T, s *stack, path, prompt string, toTheEnd bool) {
	queue := s.queue
	if !toTheEnd {
		queue += "-nobody"
	}
	agents := client.New(s.temporal, client.Config{TaskQueue: queue, Loopback: true})
	execution, err := agents.Start(t.Context(), client.Start{Prompt: prompt, Definition: scripted(path)})
	if strings.TrimSpace(prompt) == "" {
		if !errors.Is(err, &client.Error{Class: client.Invalid}) {
			t.Errorf("%q: %v", prompt, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%q: %v", prompt, err)
		return
	}
	if !toTheEnd {
		return
	}
	result, err := s.agents.Wait(t.Context(), execution.ID, 0)
	if err != nil || result.Outcome.Status != domain.StatusCompleted {
		t.Errorf("%q: %v %v", prompt, result.Outcome, err)
		return
	}
	for entry, err := range s.agents.Messages(t.Context(), execution.ID) {
		if err != nil || entry.Message.Role != domain.RoleUser || entry.Message.Text() != prompt {
			t.Errorf("%q: came back as %v %v", prompt, entry.Message, err)
		}
		break
	}
}

// TestCLIHostileNames gives naughty strings as ids and as models: refused with
// one line, and no agent of them is left.
func TestCLIHostileNames(t *testing.T) {
	t.Parallel()
	all := naughty(t)
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	model := c.script("hello.yaml", hello)
	for i := 3; i < len(all); i += 25 {
		text := all[i]
		if strings.ContainsRune(text, 0) {
			continue // no argument can hold it
		}
		got := c.do("status", "--", text)
		require.Contains(t, []int{2, 4}, got.code, "%q: %s", text, got.err)
		requireOneError(t, got.err, "id:")
		if got.code == 2 {
			require.Equal(t, 2, c.do("start", "--model", model, "--id="+text, "hi").code, "%q", text)
		}
		if strings.Contains(text, "/") {
			continue // it may be a model that workers know
		}
		got = c.do("start", "--model="+text, "hi")
		require.Equal(t, 2, got.code, "%q: %s", text, got.err)
		requireOneError(t, got.err, "model:")
	}
}
