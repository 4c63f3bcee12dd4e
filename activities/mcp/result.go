package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// text is a result as the model reads it. What is no text is named in a line in
// square brackets, with its type and size. A structure is shown where no text says
// the same.
func text(result *sdk.CallToolResult) string {
	var parts []string
	said := false
	for _, content := range result.Content {
		if own, ok := content.(*sdk.TextContent); ok {
			parts = append(parts, own.Text)
			said = said || says(own.Text, result.StructuredContent)
			continue
		}
		parts = append(parts, described(content))
	}
	if result.StructuredContent != nil && !said {
		if structure, err := encoded(result.StructuredContent); err == nil {
			parts = append(parts, structure)
		}
	}
	return strings.Join(parts, "\n")
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

func described(content sdk.Content) string {
	switch c := content.(type) {
	case *sdk.ImageContent:
		return blob("image", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return blob("audio", c.MIMEType, len(c.Data))
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
		if c.Resource.Blob != nil {
			return blob("resource "+quoted(c.Resource.URI), c.Resource.MIMEType, len(c.Resource.Blob))
		}
		return fmt.Sprintf("[resource %s, %s]\n%s", quoted(c.Resource.URI), quoted(cmp.Or(c.Resource.MIMEType, "text")), c.Resource.Text)
	}
	return "[content of a kind that this version does not know]"
}

func blob(what, kind string, size int) string {
	return fmt.Sprintf("[%s, %s, %d bytes: not shown]", what, quoted(cmp.Or(kind, "of an unknown type")), size)
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
