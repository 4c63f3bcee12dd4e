package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

const crowdTool = "nothing"

// A quotaServer plays the chat completions API under a quota. Each agent makes
// calls for as long as its steps need, then answers.
type quotaServer struct {
	*crowd

	mu      sync.Mutex
	taken   []time.Time
	refused int
	asked   []int // what was taken of each agent
	halfway []int // the same when half of all was
}

func newQuotaServer(c *crowd) *quotaServer {
	return &quotaServer{crowd: c, asked: make([]int, c.Agents)}
}

var agentNumber = regexp.MustCompile(`agent number (\d+)`)

// crowdPrompt is what an agent is told, by which the provider knows it.
func crowdPrompt(agent int) string { return fmt.Sprintf("You are agent number %d.", agent) }

// ServeHTTP takes a request, or refuses it.
func (p *quotaServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	agent := -1
	if found := agentNumber.FindSubmatch(body); err == nil && found != nil {
		agent, err = strconv.Atoi(string(found[1]))
	}
	if err != nil || agent < 0 || agent >= p.Agents {
		http.Error(w, `{"error":{"message":"which agent is this?"}}`, http.StatusBadRequest)
		return
	}
	if wait := p.take(agent, time.Now()); wait > 0 {
		w.Header().Set("Retry-After-Ms", strconv.FormatInt(wait.Milliseconds()+1, 10))
		http.Error(w, `{"error":{"message":"rate limit reached for requests","type":"requests","code":"rate_limit_exceeded"}}`, http.StatusTooManyRequests)
		return
	}
	select {
	case <-r.Context().Done():
		return
	case <-time.After(p.Thinks):
	}
	delta, finish := `{"content":"done"}`, "stop"
	if done := bytes.Count(body, []byte(`"role":"tool"`)); done < p.Steps-1 {
		delta, finish = fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":%q,"arguments":"{}"}}]}`, done, crowdTool), "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: {\"id\":\"c\",\"model\":\"crowd\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%q}],"+
		"\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":120}}\n\ndata: [DONE]\n\n", delta, finish) // whoever left needs none
}

// secondShare is the part of a minute's requests that may come within a second.
const secondShare = 20

// take counts a request in, or says after which time it may come again.
func (p *quotaServer) take(agent int, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, window := range []struct {
		span time.Duration
		most int
	}{{time.Minute, p.RequestsPerMinute}, {time.Second, max(p.RequestsPerMinute/secondShare, 1)}} {
		if n := len(p.taken); n >= window.most {
			if free := p.taken[n-window.most].Add(window.span); free.After(now) {
				p.refused++
				return free.Sub(now)
			}
		}
	}
	p.taken = append(p.taken, now)
	p.asked[agent]++
	if len(p.taken) == p.Agents*p.Steps/2 {
		p.halfway = slices.Clone(p.asked)
	}
	return 0
}

// busiest is how many requests were taken at most within a time.
func (p *quotaServer) busiest(span time.Duration) int {
	most, from := 0, 0
	for i, at := range p.taken {
		for at.Sub(p.taken[from]) >= span {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

func (p *quotaServer) progress() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%d of %d requests taken, %d refused", len(p.taken), p.Agents*p.Steps, p.refused)
}
