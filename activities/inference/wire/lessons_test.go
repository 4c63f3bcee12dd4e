package wire_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// TestLessonsAreBounded: of so many models that a worker does not remember all, it forgets some, and the others' stay.
func TestLessonsAreBounded(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	t.Cleanup(server.Close)
	asking, remembered := true, 0
	client, err := wire.New(wire.API{
		Name: "fake", Server: "https://fake.example", Variables: "FAKE",
		Learn: func(_, _ []byte) ([]string, string) { return []string{"seed", "user"}, "without them" },
		Prepare: func(a *wire.Attempt, _ inference.Call) (wire.Request, wire.Decoder, error) {
			if asking {
				return wire.Request{Path: "ask", Body: fmt.Append(nil, len(a.Lessons))}, nil, nil
			}
			if len(a.Lessons) == 2 {
				remembered++
			}
			return wire.Request{}, nil, errors.New("enough")
		},
	}, wire.Config{BaseURL: server.URL})
	require.NoError(t, err)
	const models = 1020
	for _, asking = range []bool{true, false} {
		for n := range models {
			_, err := client.Infer(t.Context(), inference.Call{Config: domain.LLMConfig{Provider: "fake", Model: fmt.Sprint(n)}}, func(inference.Delta) {})
			_, adapted := errors.AsType[*inference.Adapted](err)
			require.Equal(t, asking, adapted)
		}
	}
	require.Equal(t, 1000, remembered)
}
