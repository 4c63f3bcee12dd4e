package gemini

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"google.golang.org/genai"

	"everstep/domain"
)

// userParts writes what a user's message holds. A text that is empty is left
// out: the API refuses it.
func userParts(m domain.Message) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for i, p := range m.Parts {
		if p.Type == domain.PartText && p.Text == "" {
			continue
		}
		part, err := userPart(p)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		encoded, err := marshal(part)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		out = append(out, encoded)
	}
	return out, nil
}

func userPart(p domain.Part) (genai.Part, error) {
	switch p.Type {
	case domain.PartText:
		return genai.Part{Text: p.Text}, nil
	case domain.PartImage, domain.PartFile, domain.PartAudio:
		return media(p)
	case domain.PartReasoning:
	}
	return genai.Part{}, fmt.Errorf("is of type %s, which a user cannot say; leave it out", p.Type)
}

// media sends data along, and what has a URL by its name: that of an uploaded
// file, or of anything that the server may fetch.
func media(p domain.Part) (genai.Part, error) {
	if mediaType, data, ok := dataURL(p.URL); ok && len(p.Data) == 0 {
		p.Data = data
		if p.MediaType == "" {
			p.MediaType = mediaType
		}
	}
	switch {
	case p.MediaType == "":
		return genai.Part{}, fmt.Errorf("is of type %s and has no media_type; give one, like image/png", p.Type)
	case len(p.Data) > 0:
		return genai.Part{InlineData: &genai.Blob{MIMEType: p.MediaType, Data: p.Data}}, nil
	case p.URL != "":
		return genai.Part{FileData: &genai.FileData{MIMEType: p.MediaType, FileURI: p.URL}}, nil
	}
	return genai.Part{}, fmt.Errorf("is of type %s and has neither data nor a URL; give one", p.Type)
}

// dataURL reads a URL that holds the data itself.
func dataURL(text string) (mediaType string, data []byte, ok bool) {
	rest, ok := strings.CutPrefix(text, "data:")
	head, body, comma := strings.Cut(rest, ",")
	if !ok || !comma {
		return "", nil, false
	}
	if mediaType, ok = strings.CutSuffix(head, ";base64"); ok {
		data, err := base64.StdEncoding.DecodeString(body)
		return mediaType, data, err == nil
	}
	plain, err := url.PathUnescape(body)
	return head, []byte(plain), err == nil
}
