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

// Provider is an adapter of an API that says {"say":…}, and {"why":…} at the end.
type Provider struct{ wire *wire.Client }

// Infer is all that an adapter does around its own encoding and decoding.
func (p *Provider) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	a, err := p.wire.Begin(ctx, call)
	if err != nil {
		return inference.Answer{}, err
	}
	defer a.End()
	body, err := json.Marshal(map[string]string{"ask": call.Messages[0].Text()})
	if err != nil {
		return inference.Answer{}, err
	}
	response, err := a.Post("say", nil, http.Header{"X-Api-Key": {a.Key()}}, body)
	if err != nil {
		return inference.Answer{Partial: true}, err
	}
	defer response.Body.Close()
	out := &assembly{attempt: a, draft: wire.NewDraft(emit)}
	if err := a.Read(response, out); err != nil {
		return out.draft.Partial(), err
	}
	return out.draft.Answer(domain.FinishStop, out.why), nil
}

type assembly struct {
	attempt *wire.Attempt
	draft   *wire.Draft
	why     string
}

func (s *assembly) Complete() bool { return s.why != "" }
func (s *assembly) Held() int      { return s.draft.Held() }

func (s *assembly) Whole(data []byte) error {
	_, err := s.Event(wire.Event{Data: data})
	return err
}

func (s *assembly) Event(e wire.Event) (done bool, err error) {
	var piece struct {
		Say   wire.Text       `json:"say"`
		Why   wire.Text       `json:"why"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(e.Data, &piece) != nil {
		return false, s.attempt.Malformed("the stream holds something that is not a piece", e.Data)
	}
	if wire.Present(piece.Error) {
		return false, s.attempt.Inner(e.Data)
	}
	s.why = string(piece.Why)
	s.draft.Text(0, string(piece.Say))
	s.draft.Flush()
	return s.Complete(), nil
}

// An adapter in whole, and a server that is cut off.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: {\"say\":\"hel\"}\n\ndata: {\"say\":\"lo\"}\n\n")
	}))
	defer server.Close()
	client, err := wire.New(wire.API{
		Name: "echo", DefaultBaseURL: "https://echo.example/v1", BaseURLVariable: "ECHO_BASE_URL", KeyVariable: "ECHO_API_KEY",
	}, wire.Config{BaseURL: server.URL, Key: wire.FixedKey("secret")})
	if err != nil {
		fmt.Println(err)
		return
	}
	provider := &Provider{wire: client}
	call := inference.Call{Config: domain.LLMConfig{Provider: "echo", Model: "m"}, Messages: []domain.Message{domain.UserMessage("hello")}}
	answer, err := provider.Infer(context.Background(), call, func(inference.Delta) {})
	fmt.Println(answer.Partial, answer.Message.Text())
	fmt.Println(err, domain.AsError(err).Billed)
	// Output:
	// true hello
	// echo: the stream ended before the answer was whole true
}
