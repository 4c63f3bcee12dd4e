package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

func TestMedia(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		part, want domain.Part
		wrong      string
	}{
		"data":                    {part: domain.Part{MediaType: "image/jpg", Data: []byte("p")}, want: domain.Part{MediaType: "image/jpeg", Data: []byte("p")}},
		"data beside a URL":       {part: domain.Part{Data: []byte("p"), URL: "https://host/p"}, want: domain.Part{Data: []byte("p")}},
		"another case":            {part: domain.Part{MediaType: "Image/JPG; q=1", Data: []byte("p")}, want: domain.Part{MediaType: "image/jpeg", Data: []byte("p")}},
		"a URL":                   {part: domain.Part{MediaType: "Image/PNG; q=1", URL: "https://host/p"}, want: domain.Part{MediaType: "Image/PNG; q=1", URL: "https://host/p"}},
		"a URL of data":           {part: domain.Part{URL: "data:image/png;base64,cA=="}, want: domain.Part{MediaType: "image/png", Data: []byte("p")}},
		"a URL of escaped data":   {part: domain.Part{URL: "data:text/plain,a%2Cb"}, want: domain.Part{MediaType: "text/plain", Data: []byte("a,b")}},
		"its own media type":      {part: domain.Part{MediaType: "image/webp", URL: "data:image/png;base64,cA=="}, want: domain.Part{MediaType: "image/webp", Data: []byte("p")}},
		"a URL of no data":        {part: domain.Part{URL: "data:image/png;base64,"}, wrong: "has a data URL that cannot be read"},
		"a URL of what is broken": {part: domain.Part{URL: "data:image/png;base64,*"}, wrong: "has a data URL that cannot be read; give its data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := wire.Media(test.part)
			if test.wrong != "" {
				require.ErrorContains(t, err, test.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}
