package mcp

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func TestResultsAsAgentsGetThem(t *testing.T) {
	t.Parallel()
	data := []byte{0, 0, 0}
	for name, c := range map[string]struct {
		result, want string
		parts        []domain.Part
	}{
		"nothing":                     {`{"content":[]}`, "", nil},
		"texts":                       {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b\n"}]}`, "a\nb\n", nil},
		"a structure alone":           {`{"content":[],"structuredContent":{"b": 12345678901234567890, "a":"<x>"}}`, `{"b":12345678901234567890,"a":"<x>"}`, nil},
		"a number that is too large":  {`{"structuredContent":[1e999]}`, `[1e999]`, nil},
		"a structure and its text":    {`{"content":[{"type":"text","text":"{ \"a\" : 1 }"}],"structuredContent":{"a":1}}`, `{ "a" : 1 }`, nil},
		"a structure and other words": {`{"content":[{"type":"text","text":"one"}],"structuredContent":{"a":1}}`, "one\n{\"a\":1}", nil},
		"an image between texts": {`{"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"text","text":"b"}]}`, "a\nb",
			[]domain.Part{{Type: domain.PartImage, MediaType: "image/png", Data: data}}},
		"a sound": {`{"content":[{"type":"audio","data":"AAAA"}]}`, "", []domain.Part{{Type: domain.PartAudio, Data: data}}},
		"a link":  {`{"content":[{"type":"resource_link","uri":"file:///a","name":"A","mimeType":"text/plain","description":"the\n[first]"}]}`, "[link to a resource: file:///a, A, text/plain, the  first ]", nil},
		"a resource with text": {`{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"in it"}}]}`,
			"[resource file:///a, text/plain]\nin it", nil},
		"a resource with bytes": {`{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/pdf","blob":"AAAA"}}]}`, "",
			[]domain.Part{{Type: domain.PartFile, MediaType: "application/pdf", Data: data, Filename: "file:///a"}}},
		"a resource that is an image": {`{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"image/png","blob":"AAAA"}}]}`, "",
			[]domain.Part{{Type: domain.PartImage, MediaType: "image/png", Data: data, Filename: "file:///a"}}},
		"a resource without content": {`{"content":[{"type":"resource"}]}`, "[a resource without content]", nil},
		"what belongs elsewhere":     {`{"content":[{"type":"tool_use","id":"1","name":"x","input":{}}]}`, "[content of a kind that this version does not know]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := resultOf(json.RawMessage(c.result))
			require.NoError(t, err)
			made := read(result)
			require.Equal(t, c.want, made.Content)
			require.Equal(t, c.parts, made.Parts)
		})
	}
}
