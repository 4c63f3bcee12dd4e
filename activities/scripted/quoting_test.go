package scripted

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func conversation() scene {
	result := func(name, content string) domain.Message {
		return domain.ToolMessage(domain.ToolResult{Name: name, Content: content})
	}
	return scene{
		domain.UserMessage("first"), domain.UserMessage("find it"),
		result("list_files", "old\n"), result("read_file", `{"names":["ann","bob"],"n":3}`), result("list_files", "a.txt\r\nb.txt\nc.txt\n"),
	}
}

func TestQuoting(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want, wrong string }{
		"none":             {text: "a } b { c", want: "a } b { c"},
		"newest":           {text: `{{ result "list_files" | trim }}`, want: "a.txt\r\nb.txt\nc.txt"},
		"all":              {text: `{{ len (results "list_files") }}{{ index (results "list_files") 0 | trim }}`, want: "2old"},
		"none of them":     {text: `{{ len (results "other") }}`, want: "0"},
		"lines":            {text: `{{ range lines (result "list_files") }}[{{ . }}]{{ end }}`, want: "[a.txt][b.txt][c.txt]"},
		"head":             {text: `{{ result "list_files" | lines | head 2 | join ", " }}`, want: "a.txt, b.txt"},
		"head of none":     {text: `{{ result "list_files" | lines | head -1 | len }}`, want: "0"},
		"head of few":      {text: `{{ result "list_files" | lines | head 9 | len }}`, want: "3"},
		"first and last":   {text: `{{ first (lines (result "list_files")) }} {{ result "list_files" | lines | last }}`, want: "a.txt c.txt"},
		"index":            {text: `{{ index (lines (result "list_files")) 1 }}`, want: "b.txt"},
		"JSON":             {text: `{{ with json (result "read_file") }}{{ last .names }} {{ .n }}{{ end }}`, want: "bob 3"},
		"contains":         {text: `{{ if contains "b.txt" (result "list_files") }}yes{{ end }}`, want: "yes"},
		"prompt":           {text: `{{ prompt }}`, want: "find it"},
		"a missing result": {text: `{{ result "write_file" }}`, wrong: `tool "write_file" has no result yet`},
		"no JSON":          {text: `{{ json prompt }}`, wrong: "json: "},
		"first of nothing": {text: `{{ first (results "x") }}`, wrong: "the list is empty"},
		"a missing key":    {text: `{{ with json (result "read_file") }}{{ .other }}{{ end }}`, wrong: "other"},
		"beyond the end":   {text: `{{ index (lines (result "list_files")) 9 }}`, wrong: "out of range"},
		"first of no list": {text: `{{ first prompt }}`, wrong: "string is not a list"},
		"join of no list":  {text: `{{ join "," prompt }}`, wrong: "join: string is not a list"},
		"lines of nothing": {text: `{{ len (lines "\n") }}`, want: "0"},
		"not a list":       {text: `{{ head 1 prompt }}`, wrong: "string is not a list"},
		"without end":      {text: `{{ define "x" }}` + strings.Repeat("x", 1000) + `{{ template "x" }}{{ end }}{{ template "x" }}`, wrong: "more than"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, err := quote(test.text)
			require.NoError(t, err)
			text, err := q.render(conversation())
			if test.wrong != "" {
				require.ErrorContains(t, err, test.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, text)
		})
	}
}

// TestTextsAreBounded: a template may write as much as a message may hold.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	var b bounded
	_, err := b.Write(make([]byte, maxText-1))
	require.NoError(t, err)
	_, err = b.Write([]byte("x"))
	require.NoError(t, err)
	_, err = b.Write([]byte("x"))
	require.ErrorContains(t, err, "the text has more than")
	_, err = scene(nil).prompt()
	require.ErrorContains(t, err, "the conversation has no prompt")
}

func TestQuotingInArguments(t *testing.T) {
	t.Parallel()
	s, err := parse("a.yaml", []byte(`
turns:
  - tool_calls:
      - name: write_file
        arguments: {path: '{{ result "list_files" | lines | first }}', content: "say \"{{ prompt }}\" & <go>\n", list: ['{{ prompt }}']}
      - {name: raw, arguments: '{{ prompt }}'}
`))
	require.NoError(t, err)
	_, calls, err := s.turns[0].render(conversation(), 0)
	require.NoError(t, err)
	require.Equal(t, `{"path":"a.txt","content":"say \"find it\" & <go>\n","list":["find it"]}`, calls[0].Arguments)
	require.Equal(t, `{{ prompt }}`, calls[1].Arguments, "a text is sent as it is")
}
