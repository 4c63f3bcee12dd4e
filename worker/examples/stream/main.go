// Command stream serves agents over HTTP: what the model writes goes to the
// caller as it arrives, and a caller who leaves stops the agent.
//
//	starter dev
//	go run ./worker/examples/stream -model openai-chat/gpt-5-mini
//	curl -N -d "Tell me a story" http://127.0.0.1:8080/
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// A server starts an agent for each request. It asks nobody who they are: put
// it behind something that does.
type server struct {
	agents     *client.Client
	definition domain.Definition
}

// stopPatience bounds how long a stop may take to reach the agent.
const stopPatience = 10 * time.Second

// ServeHTTP takes a prompt and answers with the agent's events, as they happen.
func (s server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	prompt, err := io.ReadAll(http.MaxBytesReader(w, r.Body, domain.MaxMessage))
	if err != nil {
		http.Error(w, "the prompt is too long", http.StatusRequestEntityTooLarge)
		return
	}
	agent, err := s.agents.Start(r.Context(), client.Start{Prompt: string(prompt), Definition: s.definition})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Agent-Id", agent.ID)
	s.follow(r.Context(), w, agent)
	if r.Context().Err() != nil {
		s.stop(r.Context(), agent)
	}
}

// follow writes what happens until the agent has ended or the caller has left.
// The agent itself would go on without anybody who follows it.
func (s server) follow(ctx context.Context, w http.ResponseWriter, agent client.Execution) {
	options := client.FollowOptions{Number: agent.Number}
	for event, err := range s.agents.Follow(ctx, agent.ID, options) {
		if err != nil {
			return
		}
		if event.Type == client.EventText || event.Type == client.EventWithdrawn || event.Ended != nil { // what else happens is not for this caller
			write(w, event)
		}
	}
}

// write sends an event as browsers read them. Text that is withdrawn is of an
// attempt that failed: the caller forgets what came of it.
func write(w http.ResponseWriter, event client.Event) {
	data, err := json.Marshal(event)
	if err != nil {
		return // an event can be encoded
	}
	_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event.Type, data)
	_ = http.NewResponseController(w).Flush() // a caller who left is noticed above
}

// stop ends the agent at once. The request's context is over, so it takes
// another.
func (s server) stop(request context.Context, agent client.Execution) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(request), stopPatience)
	defer cancel()
	_, err := s.agents.Stop(ctx, agent.ID, client.StopOptions{Mode: contract.StopNow, Reason: "the caller has left"})
	if err != nil {
		log.Print("stop ", agent.ID, ": ", err)
	}
}

func main() {
	address := flag.String("address", "127.0.0.1:7233", "the Temporal server")
	listen := flag.String("listen", "127.0.0.1:8080", "where to serve")
	model := flag.String("model", "openai-chat/gpt-5-mini", "the model")
	flag.Parse()
	temporal, err := host.Dial(context.Background(), host.Connection{Address: *address})
	if err != nil {
		log.Fatal(err)
	}
	defer temporal.Close()
	agents := client.New(temporal, client.Config{Loopback: host.Loopback(*address)})
	provider, name, _ := strings.Cut(*model, "/")
	definition := domain.Definition{Model: domain.LLMConfig{Provider: provider, Model: name}}
	web := &http.Server{Addr: *listen, Handler: server{agents, definition}, ReadHeaderTimeout: stopPatience}
	log.Panic(web.ListenAndServe())
}
