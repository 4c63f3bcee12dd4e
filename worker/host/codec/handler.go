package codec

import (
	"net/http"

	"go.temporal.io/sdk/converter"

	"everstep/worker/host/door"
)

// maxRequest bounds a request to the endpoint, in bytes. The UI sends a page
// of history at a time.
const maxRequest = 16 << 20

// Handler serves the codec over HTTP, as Temporal's UI and CLI ask for it
// (POST …/encode and …/decode), to whom the door lets in: pages of the UI are of
// another origin, which it has to list. It holds no secret, but decodes for any
// program that can reach it: bind it to loopback.
func (c *Codec) Handler(d door.Door) http.Handler {
	endpoint := http.MaxBytesHandler(converter.NewPayloadCodecHTTPHandler(c), maxRequest)
	return d.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); origin != "" {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Credentials", "true")
		}
		if r.Method == http.MethodOptions {
			w.Header().Set("Access-Control-Allow-Methods", "POST, OPTIONS")
			w.Header().Set("Access-Control-Allow-Headers", "Content-Type, X-Namespace, Authorization")
			w.Header().Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		endpoint.ServeHTTP(w, r)
	}))
}
