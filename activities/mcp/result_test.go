package mcp

import (
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func TestResultsAsTheModelReadsThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ result, want string }{
		"nothing":                     {`{"content":[]}`, ""},
		"texts":                       {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b\n"}]}`, "a\nb\n"},
		"a structure alone":           {`{"content":[],"structuredContent":{"b":1,"a":"<x>"}}`, `{"a":"<x>","b":1}`},
		"a structure and its text":    {`{"content":[{"type":"text","text":"{ \"a\" : 1 }"}],"structuredContent":{"a":1}}`, `{ "a" : 1 }`},
		"a structure and other words": {`{"content":[{"type":"text","text":"one"}],"structuredContent":{"a":1}}`, "one\n{\"a\":1}"},
		"an image":                    {`{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}`, "[image, image/png, 3 bytes: not shown]"},
		"a sound":                     {`{"content":[{"type":"audio","data":"AAAA"}]}`, "[audio, of an unknown type, 3 bytes: not shown]"},
		"a link":                      {`{"content":[{"type":"resource_link","uri":"file:///a","name":"A","mimeType":"text/plain","description":"the\n[first]"}]}`, "[link to a resource: file:///a, A, text/plain, the  first ]"},
		"a resource with text":        {`{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"in it"}}]}`, "[resource file:///a, text/plain]\nin it"},
		"a resource with bytes":       {`{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/pdf","blob":"AAAA"}}]}`, "[resource file:///a, application/pdf, 3 bytes: not shown]"},
		"a resource without content":  {`{"content":[{"type":"resource"}]}`, "[a resource without content]"},
		"what belongs elsewhere":      {`{"content":[{"type":"tool_use","id":"1","name":"x","input":{}}]}`, "[content of a kind that this version does not know]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var result sdk.CallToolResult
			require.NoError(t, json.Unmarshal([]byte(c.result), &result))
			require.Equal(t, c.want, text(&result))
		})
	}
}
