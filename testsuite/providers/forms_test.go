package providers

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// testForms sends one answer in all the forms that streams of events may have.
func (c Case) testForms(t *testing.T) {
	t.Helper()
	long := strings.Repeat("é", 100_000)
	plain := strings.ReplaceAll(c.Text("hel", "lo").whole(), "\r\n", "\n")
	for name, test := range map[string]struct{ body, text string }{
		"LF":                     {body: plain},
		"CRLF":                   {body: strings.ReplaceAll(plain, "\n", "\r\n")},
		"CR":                     {body: strings.ReplaceAll(plain, "\n", "\r")},
		"mixed":                  {body: strings.ReplaceAll(plain, "\n\n", "\r\n\r")},
		"a byte order mark":      {body: "\xef\xbb\xbf" + plain},
		"empty lines at first":   {body: "\n\r\n" + plain},
		"comments":               {body: ": hi\n\n" + strings.ReplaceAll(plain, "data:", ": wait\n:\ndata:")},
		"fields without a use":   {body: strings.ReplaceAll(plain, "data:", "retry: 10\nid: 7\nsparkle\nsparkle: x\ndata:")},
		"no space":               {body: strings.ReplaceAll(plain, "data: ", "data:")},
		"data in two lines":      {body: strings.ReplaceAll(plain, "data: {", "data: {\ndata:")},
		"events of nothing":      {body: "data:\n\n" + strings.ReplaceAll(plain, "\n\n", "\n\ndata: \n\n")},
		"no last empty line":     {body: strings.TrimRight(plain, "\n")},
		"lines over 64 KB":       {body: c.Text(long).whole(), text: long},
		"many pieces":            {body: c.Text(strings.Split(strings.Repeat("x,", 2000), ",")...).whole(), text: strings.Repeat("x", 2000)},
		"characters of all size": {body: c.Text("é", "…", "😀").whole(), text: "é…😀"},
		"broken UTF-8":           {body: c.Text("a\xffb\xf0\x9f").whole(), text: "a\ufffdb\ufffd\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := c.ask(t, serveBody(t, http.StatusOK, nil, test.body))
			require.Nil(t, o.Err)
			if test.text == "" {
				test.text = "hello"
			}
			require.Equal(t, test.text, o.Answer.Message.Text())
			require.True(t, utf8.ValidString(o.Text()))
			require.Equal(t, domain.FinishStop, o.Answer.Response.Finish)
		})
	}
}
