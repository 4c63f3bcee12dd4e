package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// echo is an API that says {"say":…}, and {"why":…} at the end.
var echo = wire.API{
	Name: "echo", Server: "https://echo.example/v1", Variables: "ECHO",
	Prepare: func(a *wire.Attempt, call inference.Call) (wire.Request, wire.Decoder, error) {
		body, err := json.Marshal(map[string]string{"ask": call.Messages[0].Text()})
		return wire.Request{Path: "say", Header: a.KeyIn("X-Api-Key", ""), Body: body}, &assembly{Attempt: a}, err
	},
}

type assembly struct {
	*wire.Attempt
	why string
}

func (s *assembly) Finish() string           { return s.why }
func (s *assembly) Answer() inference.Answer { return s.Finished(domain.FinishStop, s.why) }

func (s *assembly) Whole(data []byte) error {
	return s.Event(wire.Event{Data: data})
}

func (s *assembly) Event(e wire.Event) error {
	var piece struct {
		Say   wire.Text       `json:"say"`
		Why   wire.Text       `json:"why"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(e.Data, &piece) != nil {
		return s.Malformed("the stream holds something that is not a piece", e.Data)
	}
	if wire.Present(piece.Error) {
		return s.Inner(e.Data)
	}
	s.why = string(piece.Why)
	s.Text(0, string(piece.Say))
	if s.why != "" {
		s.Done()
	}
	return nil
}

// An adapter in whole, and a server that is cut off.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: {\"say\":\"hel\"}\n\ndata: {\"say\":\"lo\"}\n\n")
	}))
	defer server.Close()
	provider, err := wire.New(echo, wire.Config{BaseURL: server.URL, Key: wire.FixedKey("secret")})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := inference.Call{Config: domain.LLMConfig{Provider: "echo", Model: "m"}, Messages: []domain.Message{domain.UserMessage("hello")}}
	answer, err := provider.Infer(context.Background(), call, func(inference.Delta) {})
	fmt.Println(answer.Partial, answer.Message.Text())
	fmt.Println(err, domain.AsError(err).Billed)
	// Output:
	// true hello
	// echo: the stream ended after 41 bytes, before the answer was whole true
}
