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
	raw, _ := result.StructuredContent.(json.RawMessage) // it was read by resultOf
	var structure any
	said := raw == nil
	readable := json.Unmarshal(raw, &structure) == nil // no number is too large
	for _, content := range result.Content {
		text := ""
		var part domain.Part
		switch c := content.(type) {
		case *sdk.TextContent:
			text = c.Text
			var value any
			said = said || readable && json.Unmarshal([]byte(text), &value) == nil && reflect.DeepEqual(value, structure)
		case *sdk.ImageContent:
			part = domain.Part{Type: domain.PartImage, MediaType: c.MIMEType, Data: c.Data}
		case *sdk.AudioContent:
			part = domain.Part{Type: domain.PartAudio, MediaType: c.MIMEType, Data: c.Data}
		case *sdk.ResourceLink:
			told := []string{"[link to a resource: " + quoted(c.URI)}
			for _, more := range []string{c.Name, c.MIMEType, c.Description} {
				if more != "" {
					told = append(told, quoted(more))
				}
			}
			text = strings.Join(told, ", ") + "]"
		case *sdk.EmbeddedResource:
			switch r := c.Resource; {
			case r == nil:
				text = "[a resource without content]"
			case r.Blob == nil:
				text = fmt.Sprintf("[resource %s, %s]\n%s", quoted(r.URI), quoted(cmp.Or(r.MIMEType, "text")), r.Text)
			default:
				part = domain.Part{Type: domain.PartFile, MediaType: r.MIMEType, Data: r.Blob, Filename: r.URI}
				if strings.HasPrefix(part.MediaType, "image/") {
					part.Type = domain.PartImage
				}
			}
		default:
			text = "[content of a kind that this version does not know]"
		}
		if part.Type != "" {
			made.Parts = append(made.Parts, part)
		} else {
			texts = append(texts, text)
		}
	}
	if !said {
		texts = append(texts, document.Encoded(raw))
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
	if string(fields["resultType"]) == `"input_required"` {
		asks := new(sdk.CallToolResult)
		if json.Unmarshal(text, asks) != nil {
			return nil, unread("it asks for what cannot be read")
		}
		return asks, nil
	}
	result := &sdk.CallToolResult{Content: contentsIn(fields["content"]), IsError: isTrue(fields["isError"])}
	if structure := fields["structuredContent"]; !absent(structure) {
		result.StructuredContent = structure // as it came: the SDK would round large numbers
	}
	for _, known := range []string{"content", "structuredContent", "isError", "resultType", "inputRequests", "requestState", "_meta"} {
		delete(fields, known)
	}
	if len(fields) > 0 && len(result.Content) == 0 && result.StructuredContent == nil {
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

// foreign is JSON that is not understood, as it is shown.
func foreign(text json.RawMessage) string { return domain.Shorten(string(text), 32<<10) }

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

// quoted keeps what a server says of a part in its line.
func quoted(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '[' || r == ']' {
			return ' '
		}
		return r
	}, text)
}
