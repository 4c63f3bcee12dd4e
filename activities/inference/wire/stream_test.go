package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
)

// heard reads a stream to its end and returns its events as name|data.
func heard(t testing.TB, r io.Reader) ([]string, error) {
	t.Helper()
	stream := wire.NewStream(r)
	var out []string
	for {
		e, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, e.Name+"|"+string(e.Data))
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100_000)
	tests := map[string]struct {
		body string
		want []string
	}{
		"LF":                        {"data: 1\n\ndata: 2\n\n", []string{"|1", "|2"}},
		"CRLF":                      {"data: 1\r\n\r\ndata: 2\r\n\r\n", []string{"|1", "|2"}},
		"CR":                        {"data: 1\r\rdata: 2\r\r", []string{"|1", "|2"}},
		"mixed":                     {"data: 1\r\n\ndata: 2\r\r\n", []string{"|1", "|2"}},
		"a byte order mark":         {"\xef\xbb\xbfdata: 1\n\n", []string{"|1"}},
		"a mark inside":             {"data: 1\n\n\xef\xbb\xbfdata: 2\n\n", []string{"|1"}},
		"comments":                  {": a\n\n:\ndata: 1\n: b\n\n", []string{"|1"}},
		"names":                     {"event: a\ndata: 1\n\ndata: 2\n\n", []string{"a|1", "|2"}},
		"a name without data":       {"event: a\n\ndata: 2\n\n", []string{"|2"}},
		"a name behind its data":    {"data: {}\nevent: a\n\ndata: {}\nevent: b\ndata: {}\n\n", []string{"a|{}", "|{}", "b|{}"}},
		"names behind, no lines":    {"data: {}\nevent: a\nevent: b\ndata: {}\n\n", []string{"a|{}", "b|{}"}},
		"no line before an error":   {"data: {}\nevent: error\ndata: {}\n\ndata: {}\n\n", []string{"|{}", "error|{}", "|{}"}},
		"an error that was cut":     {"event: error\ndata: not now", []string{"error|not now"}},
		"no empty line, by names":   {"event: a\ndata: {}\nevent: b\ndata: {}\n\n", []string{"a|{}", "b|{}"}},
		"an id":                     {"id: x\ndata: 1\n\n", []string{"|1"}},
		"no words of data":          {"data\n\ndata:\n\n", []string{"|", "|"}},
		"several lines":             {"data: a\ndata\ndata:b\n\n", []string{"|a\n\nb"}},
		"one space goes":            {"data:  a\n\n", []string{"| a"}},
		"lines of JSON":             {"{\"a\":1}\n{\"b\":2}\r\n", []string{`|{"a":1}`, `|{"b":2}`}},
		"a line of JSON, between":   {"data: 1\n\n{\"a\":1}\ndata: 2\n\n", []string{"|1", `|{"a":1}`, "|2"}},
		"a line within an event":    {"data: 1\n{\"a\":1}\ndata: 2\n\n", []string{"|1\n2"}},
		"a line that is no JSON":    {"{a: 1}\ndata: 2\n\n", []string{"|2"}},
		"other fields":              {"retry: 5\nfoo: bar\ndata: 1\n\n", []string{"|1"}},
		"a long line":               {"data: " + long + "\n\n", []string{"|" + long}},
		"no last empty line":        {"data: {\"a\":1}", []string{`|{"a":1}`}},
		"no last empty line, done":  {"data: [DONE]\n", []string{"|[DONE]"}},
		"a last event that was cut": {"data: 1\n\ndata: {\"a\":", []string{"|1"}},
		"nothing":                   {"", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(test.body), iotest.OneByteReader(strings.NewReader(test.body)), iotest.DataErrReader(strings.NewReader(test.body))} {
				got, err := heard(t, r)
				require.NoError(t, err)
				require.Equal(t, test.want, got)
			}
		})
	}
}

// TestStreamBreaks: what breaks is no end, and what it cut is no event.
func TestStreamBreaks(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := heard(t, io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	require.Equal(t, []string{"|1"}, got)
}

func TestFirst(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]byte{
		"data: 1":            'd',
		": hi":               ':',
		"\xef\xbb\xbf\n {}":  '{',
		"\t[]":               '[',
		"\r\n<!doctype html": '<',
		" \n":                0,
		"":                   0,
	} {
		require.Equal(t, want, wire.NewStream(strings.NewReader(body)).First(), "%q", body)
	}
}

// FuzzStream: what is read does not depend on how it arrives, and line ends of
// all three kinds mean the same.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{"data: 1\n\n", "\xef\xbb\xbfevent: a\rdata: 1\r\n\r\n", ": c\n\nid: 1\ndata\n\n", "data: {}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		whole, err := heard(t, strings.NewReader(body))
		require.NoError(t, err)
		bytewise, err := heard(t, iotest.OneByteReader(strings.NewReader(body)))
		require.NoError(t, err)
		require.Equal(t, whole, bytewise)
		if !strings.Contains(body, "\r") {
			for _, end := range []string{"\r", "\r\n"} {
				other, err := heard(t, strings.NewReader(strings.ReplaceAll(body, "\n", end)))
				require.NoError(t, err)
				require.Equal(t, whole, other)
			}
		}
	})
}
