package whole_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A leakyServer is the proxy that a worker's requests go through, and all the
// servers behind it. Each model of it gives away the key that the request came
// with, in a place of its own, which is the model's name.
type leakyServer struct {
	*httptest.Server
	control string
	// shown is closed where a model may go on: what it has said was seen.
	shown map[string]chan struct{}

	mu       sync.Mutex
	bodies   []string
	came     map[string]string // the newest key by model
	requests map[string]int
	hosts    map[string]int
}

func serveLeaky(t *testing.T, control string) *leakyServer {
	t.Helper()
	s := &leakyServer{
		control: control, came: map[string]string{}, requests: map[string]int{}, hosts: map[string]int{},
		shown: map[string]chan struct{}{"text": make(chan struct{}), "rotated": make(chan struct{})},
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// asked is the model of a request and the key that it came with.
func asked(r *http.Request, body []byte) (model, key string) {
	var fields struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(body, &fields)
	model = fields.Model
	if found := geminiModel.FindStringSubmatch(r.URL.Path); found != nil {
		model = found[1]
	}
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
		if value := r.Header.Get(name); value != "" {
			key = strings.TrimPrefix(value, "Bearer ")
		}
	}
	if model == "proxy" {
		key = r.Header.Get("Proxy-Authorization")
	}
	return model, key
}

func (s *leakyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	model, key := asked(r, body)
	s.mu.Lock()
	s.bodies = append(s.bodies, r.URL.String()+"\n"+string(body))
	s.came[model] = key
	s.requests[model]++
	s.hosts[r.Host]++
	n := s.requests[model]
	s.mu.Unlock()

	refuse := func(status int, mediaType, text string) {
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
	quoted, _ := json.Marshal("the key " + key + " is wrong")
	inner := `{"message":` + string(quoted) + `,"type":"invalid_request_error","param":` + string(quoted) + `,"code":` + string(quoted) + `}`
	switch model {
	case "json-error":
		refuse(400, "application/json", `{"error":`+inner+`}`)
	case "page":
		refuse(403, "text/html", "<html><title>"+key+"</title><h1>Not with "+key+"</h1></html>")
	case "sse-error":
		refuse(200, "text/event-stream", chunked("", `{"content":"I beg"}`)+`data: {"error":`+inner+"}\n\n")
	case "request-id":
		w.Header().Set("X-Request-Id", key)
		refuse(200, "text/event-stream", answered("done"))
	case "headers":
		if n > 1 {
			refuse(200, "text/event-stream", answered("done"))
			return
		}
		for _, name := range []string{"Retry-After", "Retry-After-Ms", "Set-Cookie", "X-Ratelimit-Remaining-Tokens", "Www-Authenticate", "Openai-Organization"} {
			w.Header().Set(name, key)
		}
		refuse(429, "text/plain", "slow down, "+key)
	case "redirect":
		w.Header().Set("Location", "http://elsewhere.test/v1/chat/completions?key="+url.QueryEscape(key))
		refuse(307, "text/html", "moved to "+key)
	case "ids":
		chunk := fmt.Sprintf(`{"id":%q,"model":%q,"system_fingerprint":%q,"service_tier":%q,"choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}`, key, key, key, key)
		refuse(200, "text/event-stream", "data: "+chunk+"\n\ndata: [DONE]\n\n")
	case "text", "reasoning", "partial":
		s.slowly(w, r, model, key)
	case "arguments":
		call := fmt.Sprintf(`{"tool_calls":[{"index":0,"id":%q,"type":"function","function":{"name":"echo","arguments":%q}}]}`, key, `{"text":"`+key+`"}`)
		s.calling(refuse, body, 1, call)
	case "spill":
		s.calling(refuse, body, 14, `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"spill","arguments":"{\"text\":\"%d\"}"}}]}`)
	case "stumble":
		s.calling(refuse, body, 2, `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"stumble","arguments":"{}"}},{"index":1,"id":"call_2","type":"function","function":{"name":"fall","arguments":"{}"}}]}`)
	case "encoded":
		pair := base64.StdEncoding.EncodeToString([]byte("user:" + key))
		text, _ := json.Marshal(strings.Join([]string{pair, url.QueryEscape(key), hex.EncodeToString([]byte(key)), base64.RawURLEncoding.EncodeToString([]byte(key))}, " "))
		refuse(400, "application/json", `{"error":{"message":`+string(text)+`,"type":"invalid_request_error"}}`)
	case "anthropic":
		w.Header().Set("Request-Id", key)
		refuse(401, "application/json", `{"type":"error","error":{"type":"authentication_error","message":`+string(quoted)+`},"request_id":`+string(quoted)+`}`)
	case "gemini":
		refuse(400, "application/json", `[{"error":{"code":400,"message":`+string(quoted)+`,"status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":`+string(quoted)+`,"domain":`+string(quoted)+`}]}}]`)
	case "proxy":
		w.Header().Set("Proxy-Authenticate", "Basic realm="+key)
		refuse(407, "text/plain", "your password is wrong: "+key)
	case "rotated":
		s.wait(r, model)
		refuse(400, "application/json", `{"error":`+inner+`}`)
	default:
		refuse(500, "text/plain", "no such model: "+model)
	}
}

func answered(text string) string { return chunked("stop", fmt.Sprintf(`{"content":%q}`, text)) }

// calling answers with calls until the conversation has so many results, whose
// number they may name.
func (s *leakyServer) calling(refuse func(int, string, string), body []byte, results int, call string) {
	n := strings.Count(string(body), `"role":"tool"`)
	if n >= results {
		refuse(200, "text/event-stream", answered("done"))
		return
	}
	refuse(200, "text/event-stream", chunked("tool_calls", strings.Replace(call, "%d", strconv.Itoa(n), 1)))
}

// slowly says the key letter by letter, and goes on when that was seen. A
// partial answer ends in the middle of a second one, and never goes on.
func (s *leakyServer) slowly(w http.ResponseWriter, r *http.Request, model, key string) {
	w.Header().Set("Content-Type", "text/event-stream")
	field, text := "content", s.control+" has "+key+", and "
	if model == "reasoning" {
		field = "reasoning_content"
	}
	if model == "partial" {
		text += key[:len(key)-4]
	}
	for _, letter := range strings.Split(text, "") {
		_, _ = io.WriteString(w, chunked("", fmt.Sprintf(`{%q:%q}`, field, letter)))
	}
	_ = http.NewResponseController(w).Flush()
	if model != "reasoning" {
		s.wait(r, model)
	}
	if model != "partial" {
		_, _ = io.WriteString(w, chunked("stop", `{"content":"done"}`))
	}
}

// wait waits until a model may go on.
func (s *leakyServer) wait(r *http.Request, model string) {
	select {
	case <-s.shown[model]:
	case <-r.Context().Done():
	case <-time.After(patience):
	}
}

// key is what the newest request for a model came with.
func (s *leakyServer) key(model string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.came[model]
}
