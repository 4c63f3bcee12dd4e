package anthropic

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go"

	"everstep/domain"
)

// userBlocks are the parts of the message at an index. Texts without content
// are left out.
func userBlocks(index int, m domain.Message) ([]anthropic.ContentBlockParamUnion, error) {
	var out []anthropic.ContentBlockParamUnion
	for k, p := range m.Parts {
		if p.Type == domain.PartText && blank(p.Text) {
			continue
		}
		block, err := userBlock(p)
		if err != nil {
			return nil, domain.Errorf(domain.Invalid, "message %d, part %d: %s", index, k, err).From(Name)
		}
		out = append(out, block)
	}
	return out, nil
}

func userBlock(p domain.Part) (anthropic.ContentBlockParamUnion, error) {
	switch p.Type {
	case domain.PartText:
		return anthropic.NewTextBlock(p.Text), nil
	case domain.PartImage, domain.PartFile:
		m, err := newMedium(p)
		if err != nil {
			return anthropic.ContentBlockParamUnion{}, err
		}
		return m.block(p.Type == domain.PartImage)
	case domain.PartAudio:
		return anthropic.ContentBlockParamUnion{}, fmt.Errorf("is audio, which this API does not take; give its transcript as text")
	case domain.PartReasoning:
	}
	return anthropic.ContentBlockParamUnion{}, fmt.Errorf("is of type %s, which a user cannot send; leave it out", p.Type)
}

// A medium is a picture or a document, by URL or as data.
type medium struct {
	kind, url, name string
	data            []byte
}

// newMedium reads the type of a part: as it says, else as its data look.
func newMedium(p domain.Part) (medium, error) {
	m := medium{kind: p.MediaType, url: p.URL, name: p.Filename, data: p.Data}
	if text, ok := strings.CutPrefix(p.URL, "data:"); ok {
		kind, encoded, _ := strings.Cut(text, ",")
		kind, isBase64 := strings.CutSuffix(kind, ";base64")
		data, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || !isBase64 {
			return m, fmt.Errorf("has a data URL that is not base64; give its data")
		}
		m.kind, m.url, m.data = kind, "", data
	}
	if len(m.data) > 0 {
		m.url = ""
	}
	if m.kind == "" && m.url == "" {
		m.kind = http.DetectContentType(m.data)
	}
	if kind, _, err := mime.ParseMediaType(m.kind); err == nil {
		m.kind = kind
	}
	if m.kind == "image/jpg" {
		m.kind = "image/jpeg"
	}
	if m.url == "" && len(m.data) == 0 {
		return m, fmt.Errorf("is empty; give its data or a URL")
	}
	return m, nil
}

// pictures are the types of pictures that the API takes.
var pictures = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

func (m medium) block(picture bool) (anthropic.ContentBlockParamUnion, error) {
	document := &anthropic.DocumentBlockParam{}
	if m.name != "" {
		document.Title = anthropic.String(m.name)
	}
	encoded := base64.StdEncoding.EncodeToString(m.data)
	switch {
	case m.url != "" && (picture || strings.HasPrefix(m.kind, "image/")):
		return anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: m.url}), nil
	case m.url != "" && (m.kind == "" || m.kind == "application/pdf"):
		document.Source.OfURL = &anthropic.URLPDFSourceParam{URL: m.url}
	case m.url != "":
		return anthropic.ContentBlockParamUnion{}, fmt.Errorf("is of media type %s, which this API takes as data only; give its data", m.kind)
	case slices.Contains(pictures, m.kind):
		return anthropic.NewImageBlockBase64(m.kind, encoded), nil
	case picture:
		return anthropic.ContentBlockParamUnion{}, fmt.Errorf("is a picture of media type %s, which this API does not take; give one of %s", m.kind, strings.Join(pictures, ", "))
	case m.kind == "application/pdf":
		document.Source.OfBase64 = &anthropic.Base64PDFSourceParam{Data: encoded}
	case textual(m.kind) && utf8.Valid(m.data):
		document.Source.OfText = &anthropic.PlainTextSourceParam{Data: string(m.data)}
	default:
		return anthropic.ContentBlockParamUnion{}, fmt.Errorf("is a file of media type %s, which this API does not take; give a PDF, a picture or text in UTF-8", m.kind)
	}
	return anthropic.ContentBlockParamUnion{OfDocument: document}, nil
}

// textual reports whether a file can be sent as text.
func textual(kind string) bool {
	return strings.HasPrefix(kind, "text/") || slices.Contains([]string{"application/json", "application/xml", "application/yaml"}, kind) ||
		strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}
