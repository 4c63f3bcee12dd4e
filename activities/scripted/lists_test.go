package scripted

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestLists covers what templates may do with the lines that a tool has found.
func TestLists(t *testing.T) {
	t.Parallel()
	listing := "a.go\t300 bytes\nsub/\tfolder\nsub/b.go\t5 bytes\nsub/c.md\t2048 bytes\nd.go\t1 byte\nlink\tlink to a.go"
	scene := &scene{[]domain.Message{domain.ToolMessage(domain.ToolResult{Name: "list_files", Content: listing})}}
	const all = `(lines (result "list_files"))`
	for name, test := range map[string]struct{ text, want, wrong string }{
		"matching":                 {text: `{{ join " " (matching "folder$" ` + all + `) }}`, want: "sub/\tfolder"},
		"matching nothing":         {text: `{{ with matching "zip" ` + all + ` }}some{{ else }}none{{ end }}`, want: "none"},
		"captures":                 {text: `{{ join " " (captures "\t([0-9]+) byte" ` + all + `) }}`, want: "300 5 2048 1"},
		"captures without a group": {text: `{{ len (captures "byte" ` + all + `) }}`, want: "0"},
		"largest":                  {text: `{{ range largest 2 "\t([0-9]+) bytes?" ` + all + ` }}[{{ . }}]{{ end }}`, want: "[sub/c.md\t2048 bytes][a.go\t300 bytes]"},
		"largest of few":           {text: `{{ len (largest 9 "\t([0-9]+) bytes?" ` + all + `) }}`, want: "4"},
		"largest none":             {text: `{{ len (largest -1 "\t([0-9]+) bytes?" ` + all + `) }}`, want: "0"},
		"tally":                    {text: `{{ range tally (captures "(\\.[a-z]+)\t" ` + all + `) }}{{ .Name }}={{ .Count }} {{ end }}`, want: ".go=3 .md=1 "},
		"the head of a tally":      {text: `{{ range head 1 (tally (captures "(\\.[a-z]+)\t" ` + all + `)) }}{{ .Name }}{{ end }}`, want: ".go"},
		"sum":                      {text: `{{ sum (captures "\t([0-9]+) byte" ` + all + `) }}`, want: "2354"},
		"sum of no numbers":        {text: `{{ sum ` + all + ` }}`, want: "0"},
		"size":                     {text: `{{ size 0 }}, {{ size 1023 }}, {{ size "1536" }}, {{ size 5368709120 }}, {{ size 5497558138880 }}`, want: "0 B, 1023 B, 1.5 KiB, 5.0 GiB, 5120.0 GiB"},
		"plural":                   {text: `{{ plural 0 "file" }}, {{ plural 1 "file" }}, {{ plural 2 "file" }}`, want: "0 files, 1 file, 2 files"},
		"bar":                      {text: `{{ bar 5 10 4 }}|{{ bar 1 1000 4 }}|{{ bar 0 10 4 }}|{{ bar 20 10 4 }}|{{ bar 1 0 4 }}`, want: "██|█||████|"},
		"a long bar":               {text: `{{ bar 1 1 1000000000 }}`, want: strings.Repeat("█", 1000)},
		"a broken pattern":         {text: `{{ matching "(" ` + all + ` }}`, wrong: "matching: error parsing regexp"},
		"a long pattern":           {text: `{{ captures "` + strings.Repeat("x", maxPattern+1) + `" ` + all + ` }}`, wrong: "captures: the pattern has more than"},
		"not a list":               {text: `{{ tally "x" }}`, wrong: "tally: string is not a list"},
		"not a number":             {text: `{{ size "x" }}`, wrong: "size: x is not a number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, err := quote(test.text)
			require.NoError(t, err)
			text, err := q.render(scene)
			if test.wrong != "" {
				require.ErrorContains(t, err, test.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, text)
		})
	}
}
