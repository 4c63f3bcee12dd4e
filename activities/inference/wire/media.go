package wire

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"

	"everstep/domain"
)

// DataURL is the data of a part as a URL.
func DataURL(p domain.Part) string {
	return "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// ImageURL is the URL of an image, which may hold its data.
func ImageURL(p domain.Part) string { return cmp.Or(p.URL, DataURL(p)) }

// Media is a part with either data or a URL, for APIs that take no data in URLs, and with its media type: as it says, else as
// its URL does.
func Media(p domain.Part) (domain.Part, error) {
	if text, ok := strings.CutPrefix(p.URL, "data:"); ok {
		kind, body, _ := strings.Cut(text, ",")
		data, err := url.PathUnescape(body)
		kind, encoded := strings.CutSuffix(kind, ";base64")
		p.URL = ""
		if len(p.Data) == 0 {
			p.Data = []byte(data)
			if encoded {
				p.Data, err = base64.StdEncoding.DecodeString(data)
			}
			if p.MediaType == "" {
				p.MediaType = kind
			}
			if err != nil || len(p.Data) == 0 {
				return p, errors.New("has a data URL that cannot be read; give its data")
			}
		}
	}
	if len(p.Data) > 0 {
		p.URL = ""
	}
	if kind, _, _ := strings.Cut(p.MediaType, ";"); strings.EqualFold(strings.TrimSpace(kind), "image/jpg") {
		p.MediaType = "image/jpeg"
	}
	return p, nil
}
