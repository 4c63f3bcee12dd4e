package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lists is a server that lists what it should not.
func lists(kind string) {
	tool := func(name, schema string) string {
		return fmt.Sprintf(`{"name":%s,"inputSchema":%s}`, name, schema)
	}
	echo := tool(`"echo"`, `{"type":"object"}`)
	made := map[string]func() string{
		"twice": func() string {
			return tool(`"other"`, `{"type":"object"}`) + "," + echo + "," + tool(`"echo"`, `{"type":"object","properties":{"all":{}}}`)
		},
		"nothing": func() string { return echo + ",null" },
		"crowd":   func() string { return strings.Repeat(echo+",", 99_999) + echo },
		"controls": func() string {
			return tool(`"a\u0000b\u001b[2J\n\u202e"`, `{"type":"object"}`) + "," + tool(`""`, `{"type":"object"}`) + "," + tool(`"`+strings.Repeat("x", 1<<20)+`"`, `{"type":"object"}`)
		},
		"cycle": func() string {
			return tool(`"echo"`, `{"type":"object","properties":{"text":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`)
		},
		"itself": func() string { return tool(`"echo"`, `{"$ref":"#"}`) },
		"far": func() string {
			return tool(`"echo"`, `{"type":"object","properties":{"text":{"$ref":"http://127.0.0.1:1/schema"}}}`)
		},
		"large": func() string {
			return tool(`"echo"`, `{"type":"object","description":"`+strings.Repeat("x", 10<<20)+`"}`)
		},
		"deep": func() string {
			return tool(`"echo"`, `{"type":"object","properties":`+strings.Repeat(`{"a":{"properties":`, 300)+"{}"+strings.Repeat("}}", 300)+"}")
		},
		"doubling": func() string {
			defs := `"d0":{"type":"string"}`
			for n := range 40 {
				defs += fmt.Sprintf(`,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, n+1, n, n)
			}
			return tool(`"echo"`, `{"type":"object","properties":{"text":{"$ref":"#/$defs/d40"}},"$defs":{`+defs+`}}`)
		},
		"novel": func() string {
			return `{"name":"echo","description":"` + strings.Repeat("x", 10<<20) + `","inputSchema":{"type":"object"}}`
		},
	}[kind]
	list := `"result":{"tools":[` + made() + `]}`
	answering("", func(method string, _ json.RawMessage) string {
		if method == "tools/list" {
			return list
		}
		return usual(method, func() string { return hello })
	})
}

// TestHostileLists: whatever a server lists, it takes neither the worker's memory nor its time; what cannot be used is
// refused with its reason, and what can is called, checked as far as its schema can be.
func TestHostileLists(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"twice":    `MCP server s lists tool "echo", which no agent has: the server lists 2 tools that would be s__echo`,
		"nothing":  "", // it lists one tool beside it
		"crowd":    "it lists more than 1000 tools",
		"cycle":    "",
		"itself":   "",
		"far":      "",
		"large":    "schema: has 10485",
		"deep":     "",
		"doubling": "",
		"novel":    "",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := started(t, "lists", func(s *Server) { s.Args = append(s.Args, kind) })
			text, err := call(t, s, "s__echo", args{Text: "x"})
			if want == "" {
				require.NoError(t, err)
				require.Equal(t, "hello", text)
				return
			}
			if kind == "twice" {
				require.Equal(t, "hello", said(t, s, "s__other", args{}), "it costs no other tool")
			} else {
				requireNotStarted(t, err)
			}
			require.ErrorContains(t, err, want)
			require.Less(t, len(err.Error()), 4000)
		})
	}
}

// TestNamesWithControlCharacters reach nobody: agents know such tools by other names.
func TestNamesWithControlCharacters(t *testing.T) {
	t.Parallel()
	s := started(t, "lists", func(s *Server) { s.Args = append(s.Args, "controls") })
	all, err := s.All(t.Context(), "s")
	require.NoError(t, err)
	require.Len(t, all, 3)
	for _, one := range all {
		require.Regexp(t, `^s__[a-zA-Z0-9_-]{1,61}$`, one.Spec().Name)
		require.Equal(t, "hello", said(t, s, one.Spec().Name, args{}))
	}
	_, err = s.Find(t.Context(), "s__none")
	require.NotContains(t, err.Error(), "\x1b")
	require.Less(t, len(err.Error()), 2000)
}
