package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// TestKeptAnswers: each body in testdata/answers means what is kept behind it: those in the file of an API to its adapter, and
// those in every.txt to every adapter. A body may begin with a status and header, as in HTTP; Bound among these is the most
// tokens that the answer was to have.
func TestKeptAnswers(t *testing.T) {
	t.Parallel()
	eachKept(t, "answers", ": read", Case.readKept)
	for api, c := range cases() {
		t.Run("every/"+api, func(t *testing.T) {
			t.Parallel()
			c.compareKept(t, filepath.Join("testdata", "answers", "every.txt"), ": read", Case.readKept)
		})
	}
}

// TestKeptRequests: each call in testdata/requests is sent as what is kept behind it, or not at all.
func TestKeptRequests(t *testing.T) {
	t.Parallel()
	eachKept(t, "requests", ": sent", Case.sendKept)
}

// eachKept goes through the files of a folder, one for each API.
func eachKept(t *testing.T, folder, what string, comes func(Case, *testing.T, string) string) {
	t.Helper()
	for api, c := range cases() {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			c.compareKept(t, filepath.Join("testdata", folder, api+".txt"), what, comes)
		})
	}
}

// compareKept goes through a file in which what is given and what comes of it take turns.
func (c Case) compareKept(t *testing.T, path, what string, comes func(Case, *testing.T, string) string) {
	t.Helper()
	kept, err := txtar.ParseFile(path)
	require.NoError(t, err)
	before, given := map[string]string{}, []txtar.File(nil)
	for _, file := range kept.Files {
		require.NotContains(t, before, file.Name, "it stands twice")
		before[file.Name] = string(file.Data)
		if !strings.HasSuffix(file.Name, what) {
			given = append(given, file)
		}
	}
	require.NotEmpty(t, given)
	now := &txtar.Archive{Comment: kept.Comment}
	for _, file := range given {
		t.Run(file.Name, func(t *testing.T) {
			name, came := file.Name+what, comes(c, t, string(file.Data))
			now.Files = append(now.Files, file, txtar.File{Name: name, Data: []byte(came)})
			if !*update {
				require.Equal(t, before[name], came, "%s; if this is meant: go test -run TestKept -update, and read what it wrote", path)
			}
		})
	}
	if !*update {
		require.Len(t, kept.Files, 2*len(given), "something is kept of what is not given, or the other way round")
		return
	}
	require.Len(t, now.Files, 2*len(given), "all of the file is written anew, or none of it")
	require.NoError(t, os.WriteFile(path, txtar.Format(now), 0o600))
}

// readKept is what is made of a body: the message, the response, what was told of it meanwhile where that is something
// else, the error, and the conversation that goes back where the API wants something of the message back.
func (c Case) readKept(t *testing.T, given string) string {
	t.Helper()
	status, header, call := http.StatusOK, http.Header{}, c.call("hello")
	call.MaxOutputTokens, call.Tools = 0, nil
	if head, body, _ := strings.Cut(given, "\n\n"); strings.HasPrefix(head, "HTTP ") {
		first, lines, _ := strings.Cut(head, "\n")
		var err error
		status, err = strconv.Atoi(strings.TrimPrefix(first, "HTTP "))
		require.NoError(t, err)
		for line := range strings.Lines(lines) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			header.Set(name, value)
		}
		given = body
	}
	if bound := header.Get("Bound"); bound != "" {
		var err error
		call.MaxOutputTokens, err = strconv.ParseInt(bound, 10, 64)
		require.NoError(t, err)
	}
	s := serveBody(t, status, header, given)
	p := c.provider(t, s, wire.Timeouts{})
	var told []inference.Delta
	answer, err := p.Infer(t.Context(), call, func(d inference.Delta) { told = append(told, d) })
	var b strings.Builder
	say := func(word string, value any) {
		if text := compact(t, value); text != "null" && text != "{}" && text != "[]" {
			fmt.Fprintf(&b, "%s %s\n", word, strings.ReplaceAll(text, strings.TrimPrefix(s.URL, "http://"), "{server}"))
		}
	}
	m := answer.Message
	say("parts", m.Parts)
	say("calls", m.ToolCalls)
	say("response", answer.Response)
	text, thought, called := "", "", []string(nil)
	for _, d := range told {
		text, thought = text+d.Text, thought+d.Reasoning
		if d.Tool != "" {
			called = append(called, d.Tool)
		}
	}
	if text != m.Text() || thought != thoughtOf(m) || !slices.EqualFunc(called, m.ToolCalls, func(name string, c domain.ToolCall) bool { return name == c.Name }) {
		say("told", told)
	}
	require.Equal(t, err != nil, answer.Partial)
	if err != nil {
		fmt.Fprintln(&b, c.errorOf(t, err, s.URL))
		return b.String()
	}
	call.Messages = append(call.Messages, throughHistory(t, m))
	for i, one := range m.ToolCalls {
		call.Messages = append(call.Messages, domain.ToolMessage(domain.ToolResult{CallID: one.ID, Name: one.Name, Content: fmt.Sprint("result ", i)}))
	}
	if len(m.ToolCalls) == 0 {
		call.Messages = append(call.Messages, domain.UserMessage("go on"))
	}
	_, err = p.Infer(t.Context(), call, func(inference.Delta) {})
	require.NoError(t, err, "what was accepted can be sent back")
	if slices.ContainsFunc(m.Parts, func(p domain.Part) bool { return p.Signature != "" || len(p.Opaque) > 0 }) {
		var sent struct{ Messages, Input, Contents json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(s.asked()[1].body), &sent))
		fmt.Fprintf(&b, "back %s\n", slices.Concat(sent.Messages, sent.Input, sent.Contents))
	}
	return b.String()
}

func thoughtOf(m domain.Message) (text string) {
	for _, p := range m.Parts {
		if p.Type == domain.PartReasoning {
			text += p.Text
		}
	}
	return text
}

// throughHistory is a message as it is after it was recorded.
func throughHistory(t *testing.T, m domain.Message) (out domain.Message) {
	t.Helper()
	store, err := domain.MessageStore{}.With("", m)
	require.NoError(t, err)
	encoded, err := json.Marshal(store.Section("")[0])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(encoded, &out))
	return out
}

// A keptCall is a call as it is kept.
type keptCall struct {
	Config          domain.LLMConfig      `json:"config"`
	System          string                `json:"system,omitzero"`
	Messages        []domain.Message      `json:"messages,omitempty"`
	Tools           []domain.ToolSpec     `json:"tools,omitempty"`
	Format          domain.ResponseFormat `json:"format,omitzero"`
	OutputMode      domain.OutputMode     `json:"output_mode,omitzero"`
	OutputTool      string                `json:"output_tool,omitzero"`
	MaxOutputTokens int64                 `json:"max_output_tokens,omitzero"`
	Summary         bool                  `json:"summary,omitzero"`
}

// sendKept is the request that a call makes, each time the same, or why it makes none.
func (c Case) sendKept(t *testing.T, given string) string {
	t.Helper()
	var k keptCall
	decoder := json.NewDecoder(strings.NewReader(given))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&k))
	official, err := url.Parse(c.API.Server)
	require.NoError(t, err)
	var mu sync.Mutex
	var sent []string
	s := ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL.RequestURI())
		for _, name := range []string{"Content-Length", "Accept-Encoding", "User-Agent"} {
			r.Header.Del(name)
		}
		_ = r.Header.Write(&b)
		mu.Lock()
		sent = append(sent, strings.ReplaceAll(b.String(), "\r", "")+"\n"+string(body)+"\n")
		mu.Unlock()
		write(w, http.StatusOK, c.Text("hello").whole())
	})
	p := c.opened(t, wire.Config{BaseURL: s.URL + official.Path, Key: wire.FixedKey(Key)})
	before := compact(t, k)
	for range 2 {
		_, err = p.Infer(t.Context(), inference.Call{
			Config: k.Config, System: k.System, Messages: k.Messages, Tools: k.Tools, Format: k.Format, OutputMode: k.OutputMode, OutputTool: k.OutputTool,
			MaxOutputTokens: k.MaxOutputTokens, Summary: k.Summary, Attempt: 1,
		}, func(inference.Delta) {})
	}
	require.Equal(t, before, compact(t, k), "what is recorded stays as it is")
	if err != nil {
		require.Empty(t, sent)
		return c.errorOf(t, err, s.URL) + "\n"
	}
	require.Len(t, sent, 2)
	require.Equal(t, sent[0], sent[1])
	return sent[0]
}

// errorOf is an error in one line, without the names of the case.
func (c Case) errorOf(t *testing.T, err error, server string) string {
	t.Helper()
	failed, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	line := strings.TrimSpace(fmt.Sprint("error ", failed.Kind, " ", failed.Code))
	if failed.Billed {
		line += ", billed"
	}
	if failed.RetryAfter > 0 {
		line += ", after " + failed.RetryAfter.String()
	}
	if failed.Window > 0 {
		line += fmt.Sprint(", window ", failed.Window)
	}
	require.Equal(t, c.API.Name, failed.Source)
	require.NotContains(t, failed.Error()+failed.Detail, Key)
	names := strings.NewReplacer(server, "{server}", strings.TrimPrefix(server, "http://"), "{server}", c.Model, "{model}")
	return line + ": " + names.Replace(strings.TrimPrefix(failed.Message, c.API.Name+": "))
}

func compact(t *testing.T, value any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(value))
	return strings.TrimSpace(b.String())
}
