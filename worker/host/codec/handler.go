package codec

import (
	"net/http"
	"slices"

	"go.temporal.io/sdk/converter"
)

// maxRequest bounds a request to the endpoint, in bytes. The UI sends a page
// of history at a time.
const maxRequest = 16 << 20

// Handler serves the codec over HTTP, as Temporal's UI and CLI ask for it
// (POST …/encode and …/decode), to pages of the given origins, such as
// http://localhost:8233. It holds no secret, but decodes for anyone who can
// reach it: bind it to loopback.
func (c *Codec) Handler(origins ...string) http.Handler {
	endpoint := http.MaxBytesHandler(converter.NewPayloadCodecHTTPHandler(c), maxRequest)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		w.Header().Add("Vary", "Origin")
		if origin != "" && !slices.Contains(origins, origin) {
			http.Error(w, "codec: pages of "+origin+" may not use this endpoint", http.StatusForbidden)
			return
		}
		if origin != "" {
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
	})
}
