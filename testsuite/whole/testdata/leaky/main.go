// Leaky is a worker whose tools give away what they should not: the key that
// the worker has at that time.
package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/worker/host"
)

// key is what OPENAI_API_KEY_FILE holds.
func key() string {
	data, err := os.ReadFile(os.Getenv("OPENAI_API_KEY_FILE"))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(data))
}

func main() {
	type text struct {
		Text string `json:"text,omitempty"`
	}
	host.Main(host.Config{Tools: []tool.Tool{
		tool.New("echo", "Says it again.", domain.Idempotent, func(_ context.Context, a text) (string, error) {
			return "echo: " + a.Text, nil
		}),
		tool.New("spill", "Prints the key.", domain.ReadOnly, func(context.Context, text) (string, error) {
			return "OPENAI_API_KEY=" + key() + "\n", nil
		}),
		tool.New("stumble", "Fails, and says with which key.", domain.ReadOnly, func(context.Context, text) (string, error) {
			return "", errors.New("cannot sign in with " + key())
		}),
		tool.New("fall", "Panics, and says with which key.", domain.ReadOnly, func(context.Context, text) (string, error) {
			panic("cannot sign in with " + key())
		}),
	}})
}
