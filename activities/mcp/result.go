package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

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
		if structure, err := encoded(result.StructuredContent); err == nil {
			texts = append(texts, structure)
		}
	}
	made.Content = strings.Join(texts, "\n")
	return made
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

// encoded is a value as JSON that is read by a model and not by a browser.
func encoded(value any) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
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
