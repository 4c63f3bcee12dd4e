package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"everstep/activities/document"
	"everstep/activities/tool"
	"everstep/domain"
)

// read is a result as an agent gets it: texts and links in their order, what is data as parts. A
// structure is shown where no text says the same.
func read(result *sdk.CallToolResult) (made tool.Result) {
	var texts []string
	said := false
	for _, content := range result.Content {
		if own, ok := content.(*sdk.TextContent); ok {
			said = said || says(own.Text, result.StructuredContent)
		}
		if part, ok := partOf(content); ok {
			made.Parts = append(made.Parts, part)
		} else {
			texts = append(texts, textOf(content))
		}
	}
	if result.StructuredContent != nil && !said {
		texts = append(texts, document.Encoded(result.StructuredContent))
	}
	made.Content = strings.Join(texts, "\n")
	return made
}

// resultOf is the result of a call. What of it has another form than the protocol's is shown as it came.
func resultOf(text json.RawMessage) (*sdk.CallToolResult, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return nil, unread("it is %s and no object", domain.Shorten(string(text), maxUnread))
	}
	result := new(sdk.CallToolResult)
	switch {
	case json.Unmarshal(text, result) == nil:
	case string(fields["resultType"]) == `"input_required"`:
		return nil, unread("it asks for what cannot be read")
	default:
		*result = sdk.CallToolResult{Content: contentsIn(fields["content"]), IsError: isTrue(fields["isError"])}
		if structure := fields["structuredContent"]; !absent(structure) && json.Unmarshal(structure, &result.StructuredContent) != nil {
			result.Content = append(result.Content, &sdk.TextContent{Text: string(structure)})
		}
	}
	for _, known := range []string{"content", "structuredContent", "isError", "resultType", "inputRequests", "requestState", "_meta"} {
		delete(fields, known)
	}
	if len(fields) > 0 && len(result.Content) == 0 && result.StructuredContent == nil && !result.NeedsInput() {
		result.Content = []sdk.Content{&sdk.TextContent{Text: "[an answer of a form that is not understood]\n" + foreign(text)}}
	}
	return result, nil
}

// contentsIn is the content of a result, of whatever form.
func contentsIn(text json.RawMessage) (all []sdk.Content) {
	var list []json.RawMessage
	if absent(text) {
		return nil
	}
	if json.Unmarshal(text, &list) != nil {
		list = []json.RawMessage{text}
	}
	for _, one := range list {
		if content := contentIn(one); content != nil {
			all = append(all, content)
		}
	}
	return all
}

// contentIn is one content. nil: it is null.
func contentIn(text json.RawMessage) sdk.Content {
	var alone sdk.CallToolResult
	if json.Unmarshal(slices.Concat([]byte(`{"content":[`), text, []byte("]}")), &alone) == nil && len(alone.Content) == 1 {
		return alone.Content[0]
	}
	var fields map[string]json.RawMessage
	var kind, words string
	switch {
	case absent(text):
		return nil
	case json.Unmarshal(text, &words) == nil:
		return &sdk.TextContent{Text: words}
	case json.Unmarshal(text, &fields) != nil:
		return &sdk.TextContent{Text: string(text)}
	}
	_ = json.Unmarshal(fields["type"], &kind) // it may be none
	if kind == "text" || kind == "" && json.Unmarshal(fields["text"], &words) == nil {
		if json.Unmarshal(fields["text"], &words) != nil {
			words = string(fields["text"])
		}
		return &sdk.TextContent{Text: words}
	}
	what := "[content without a type"
	if kind != "" {
		what = "[content of type " + quoted(domain.Shorten(kind, maxUnread))
	}
	return &sdk.TextContent{Text: what + ", which is not understood]\n" + foreign(text)}
}

// maxForeign bounds what is shown of content that is not understood.
const maxForeign = 32 << 10

// foreign is JSON that is not understood, as it is shown.
func foreign(text json.RawMessage) string { return domain.Shorten(string(text), maxForeign) }

// isTrue reads a word or a number for true or false. What is neither says that there was an error.
func isTrue(text json.RawMessage) bool {
	var value any
	_ = json.Unmarshal(text, &value) // it may be missing
	switch v := value.(type) {
	case nil:
		return false
	case string:
		return v != "" && !strings.EqualFold(v, "false")
	}
	return value != false && value != 0.0
}

// partOf is content that is data; not ok: it is none.
func partOf(content sdk.Content) (part domain.Part, ok bool) {
	switch c := content.(type) {
	case *sdk.ImageContent:
		return domain.Part{Type: domain.PartImage, MediaType: c.MIMEType, Data: c.Data}, true
	case *sdk.AudioContent:
		return domain.Part{Type: domain.PartAudio, MediaType: c.MIMEType, Data: c.Data}, true
	case *sdk.EmbeddedResource:
		if c.Resource != nil && c.Resource.Blob != nil {
			part = domain.Part{Type: domain.PartFile, MediaType: c.Resource.MIMEType, Data: c.Resource.Blob, Filename: c.Resource.URI}
			if strings.HasPrefix(part.MediaType, "image/") {
				part.Type = domain.PartImage
			}
			return part, true
		}
	}
	return part, false
}

// says reports whether a text is the structure, as JSON.
func says(text string, structure any) bool {
	var value any
	return structure != nil && json.Unmarshal([]byte(text), &value) == nil && reflect.DeepEqual(value, structure)
}

// textOf is content that is no data, as text.
func textOf(content sdk.Content) string {
	switch c := content.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ResourceLink:
		said := fmt.Sprintf("[link to a resource: %s", quoted(c.URI))
		for _, more := range []string{c.Name, c.MIMEType, c.Description} {
			if more != "" {
				said += ", " + quoted(more)
			}
		}
		return said + "]"
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return "[a resource without content]"
		}
		return fmt.Sprintf("[resource %s, %s]\n%s", quoted(c.Resource.URI), quoted(cmp.Or(c.Resource.MIMEType, "text")), c.Resource.Text)
	}
	return "[content of a kind that this version does not know]"
}

// quoted keeps what a server says of a part in its line.
func quoted(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '[' || r == ']' {
			return ' '
		}
		return r
	}, text)
}
