package files

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	t.Parallel()
	root, _ := folder(t, map[string]string{
		"five": numbered(5), "open end": "a\nb", "empty": "", "blank": "\n", "crlf": "a\r\nb\r\n",
		"image": "\x89PNG\r\n\x1a\n\x00", "latin": "caf\xe9", "zero": "a\x00b",
	})
	type row struct {
		path     string
		from, to int
		want     string
	}
	args := func(r row) fields {
		args := fields{"path": r.path}
		if r.from != 0 {
			args["from_line"] = r.from
		}
		if r.to != 0 {
			args["to_line"] = r.to
		}
		return args
	}
	for _, c := range []row{
		{"five", 0, 0, "[five: 5 lines]\n" + numbered(5)},
		{"five", 1, 5, "[five: 5 lines]\n" + numbered(5)},
		{"five", 2, 3, "[five: lines 2 to 3 of 5 lines]\nline 2\nline 3\n"},
		{"five", 5, 0, "[five: lines 5 to 5 of 5 lines]\nline 5\n"},
		{"five", 3, 3, "[five: lines 3 to 3 of 5 lines]\nline 3\n"},
		{"five", 0, 1, "[five: lines 1 to 1 of 5 lines]\nline 1\n"},
		{"five", 4, 900, "[five: lines 4 to 5 of 5 lines]\nline 4\nline 5\n"},
		{"open end", 0, 0, "[open end: 2 lines]\na\nb"},
		{"empty", 0, 0, "[empty: empty]"},
		{"blank", 0, 0, "[blank: 1 line]\n\n"},
		{"crlf", 0, 0, "[crlf: 2 lines]\na\r\nb\r\n"},
		{"image", 0, 0, "[image: 9 bytes, not UTF-8 text]"},
		{"latin", 0, 0, "[latin: 4 bytes, not UTF-8 text]"},
		{"zero", 0, 0, "[zero: 3 bytes, not UTF-8 text]"},
	} {
		require.Equal(t, c.want, answer(t, root, "read_file", args(c)), "%v", c)
	}
	for _, c := range []row{
		{"five", 6, 0, `from_line: 6 is past the end: "five" has 5 lines`},
		{"empty", 2, 0, `from_line: 2 is past the end: "empty" has 0 lines`},
		{"five", 4, 2, "to_line: 2 comes before from_line 4"},
		{"five", -1, 0, "lines are counted from 1"},
		{"five", 0, -1, "lines are counted from 1"},
	} {
		require.Contains(t, refusal(t, root, "read_file", args(c)).Message, c.want, "%v", c)
	}
}

func TestReadGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	text := numbered(20_000)
	root, _ := folder(t, map[string]string{"long": text})
	var got strings.Builder
	from := 1
	for calls := 0; from > 0; calls++ {
		require.Less(t, calls, 20)
		note, part, ok := strings.Cut(answer(t, root, "read_file", fields{"path": "long", "from_line": from}), "\n")
		require.True(t, ok)
		require.Less(t, len(part), domain.MaxToolResult)
		got.WriteString(part)
		from = 0
		if _, next, more := strings.Cut(note, "read on with from_line "); more {
			_, err := fmt.Sscanf(next, "%d]", &from)
			require.NoError(t, err)
		}
	}
	require.Equal(t, text, got.String())
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	root, _ := folder(t, map[string]string{"wide": strings.Repeat("é", 50_000) + "\nend\n", "big": strings.Repeat("aé\n", 100)})
	got := answer(t, root, "read_file", `{"path":"wide"}`)
	require.True(t, utf8.ValidString(got))
	require.True(t, strings.HasPrefix(got, "[wide: lines 1 to 1 of 2 lines; of line 1 only the first 60000 of 100001 bytes]\né"), got[:100])
	require.Equal(t, "[wide: lines 2 to 2 of 2 lines]\nend\n", answer(t, root, "read_file", `{"path":"wide","from_line":2}`))

	brim, over := strings.Repeat("x", maxShown-6)+"\nline\n", strings.Repeat("x", maxShown-5)+"\nline\n"
	root, _ = folder(t, map[string]string{"brim": brim, "over": over, "big": strings.Repeat("aé\n", 100),
		"cut": "1234567𝄞" + "more", "wrong": "123456" + strings.Repeat("\x80", 20), "exact": "1234567é\n"})
	require.Equal(t, "[brim: 2 lines]\n"+brim, answer(t, root, "read_file", `{"path":"brim"}`))
	require.True(t, strings.HasPrefix(answer(t, root, "read_file", `{"path":"over"}`), "[over: lines 1 to 1 of 2 lines; read on with from_line 2]\n"))

	root.bounds.fileBytes = 10
	require.Equal(t, "[cut: lines 1 to 1 of the first 7 bytes of 15]\n1234567", answer(t, root, "read_file", `{"path":"cut"}`))
	require.Equal(t, "[wrong: 26 bytes, not UTF-8 text]", answer(t, root, "read_file", `{"path":"wrong"}`))
	require.Equal(t, "[exact: 1 line]\n1234567é\n", answer(t, root, "read_file", `{"path":"exact"}`))
	// in the middle of the third é
	require.Equal(t, "[big: lines 1 to 3 of the first 9 bytes of 400]\naé\naé\na", answer(t, root, "read_file", `{"path":"big"}`))
}
