package providers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
)

// A hostileFile is one of JSONTestSuite: a y_ must be taken for JSON, an n_ must
// not, an i_ may.
type hostileFile struct {
	name string
	text string
}

func (f hostileFile) is(kind string) bool { return strings.HasPrefix(f.name, kind) }

func hostileFiles(t *testing.T) []hostileFile {
	t.Helper()
	data := os.Getenv("EVERSTEP_DATA")
	if data == "" {
		t.Skip("EVERSTEP_DATA is not set: the files of JSONTestSuite are NOT tried as answers")
	}
	paths, err := filepath.Glob(filepath.Join(data, "hostile", "JSONTestSuite", "test_parsing", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	files := make([]hostileFile, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		files[i] = hostileFile{filepath.Base(path), string(text)}
	}
	return files
}

// each asks one provider once for each of the bodies that body makes of the
// files.
func (c Case) each(t *testing.T, files []hostileFile, body func(hostileFile) string, check func(hostileFile, Outcome)) {
	t.Helper()
	var now string
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", mediaType(now))
		_, _ = io.WriteString(w, now)
	})
	p := c.provider(t, s, wire.Timeouts{})
	for _, f := range files {
		now = body(f)
		check(f, c.attempt(t.Context(), t, s, p))
	}
}

// testHostileArguments: whatever stands where a call's arguments do comes out as
// it is, for the tool to take or refuse, or the answer is none. Arguments that
// are not JSON never become others that are.
func (c Case) testHostileArguments(t *testing.T) {
	t.Helper()
	c.each(t, hostileFiles(t), func(f hostileFile) string { return c.Call(f.text) }, func(f hostileFile, o Outcome) {
		if o.Err != nil {
			require.False(t, f.is("y_"), "%s: %s", f.name, o.Err.Message)
			require.True(t, o.Err.Billed, f.name)
			return
		}
		calls := o.Answer.Message.ToolCalls
		require.Len(t, calls, 1, f.name)
		if word := strings.TrimSpace(f.text); word == "" || word == "null" {
			return // how an API may say that there are no arguments
		}
		require.True(t, utf8.ValidString(calls[0].Arguments), f.name)
		if !f.is("i_") {
			require.Equal(t, strings.TrimSpace(asText(t, f.text)), strings.TrimSpace(calls[0].Arguments), f.name)
		}
		if f.is("n_") {
			require.False(t, json.Valid([]byte(calls[0].Arguments)), f.name)
		}
	})
}

// testHostileBodies: none of the files is an answer, alone or as an event.
func (c Case) testHostileBodies(t *testing.T) {
	t.Helper()
	files := hostileFiles(t)
	for name, body := range map[string]func(hostileFile) string{
		"in one piece": func(f hostileFile) string { return f.text },
		"an event":     func(f hostileFile) string { return Event(f.text) },
		"events after a beginning": func(f hostileFile) string {
			return c.Text("hel", "lo").Open + Event(f.text)
		},
		"a named event": func(f hostileFile) string { return "event: error\n" + Event(f.text) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.each(t, files, body, func(f hostileFile, o Outcome) {
				require.NotNil(t, o.Err, f.name)
				require.True(t, o.Err.Billed, f.name)
			})
		})
	}
}

// Event is an event that holds some bytes as they are.
func Event(data string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(data) + "\n") {
		fmt.Fprintf(&b, "data: %s", line)
	}
	return b.String() + "\n"
}

// Quote writes a text as a JSON string without a look at what it is: bytes that
// are no UTF-8 stay.
func Quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// asText is what a JSON string of these bytes means.
func asText(t *testing.T, text string) string {
	t.Helper()
	var out string
	require.NoError(t, json.Unmarshal([]byte(Quote(text)), &out))
	return out
}
