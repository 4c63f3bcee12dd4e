// Command typed asks an agent for an answer that is a value of a Go type.
//
//	starter dev
//	go run ./worker/examples/typed -model openai-chat/gpt-5-mini "The site is down"
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strings"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// A verdict is what the agent answers with.
type verdict struct {
	Severity string `json:"severity" jsonschema:"low, high or urgent"`
	Why      string `json:"why" jsonschema:"one sentence"`
}

// triage runs an agent to its end. Its answer is checked against the schema of
// the type; one that does not fit goes back to the model.
func triage(ctx context.Context, agents *client.Client, model domain.LLMConfig, report string) (verdict, error) {
	format, err := client.FormatOf[verdict]("verdict")
	if err != nil {
		return verdict{}, err
	}
	agent, err := agents.Start(ctx, client.Start{Prompt: report, Definition: domain.Definition{
		Model: model, SystemPrompt: "You judge reports of users.", Format: format,
	}})
	if err != nil {
		return verdict{}, err
	}
	return client.Output[verdict](ctx, agents, agent.ID, agent.Number)
}

func main() {
	address := flag.String("address", "127.0.0.1:7233", "the Temporal server")
	model := flag.String("model", "openai-chat/gpt-5-mini", "the model")
	flag.Parse()
	ctx := context.Background()
	temporal, err := host.Dial(ctx, host.Connection{Address: *address})
	if err != nil {
		log.Fatal(err)
	}
	defer temporal.Close()
	agents := client.New(temporal, client.Config{Loopback: host.Loopback(*address)})
	provider, name, _ := strings.Cut(*model, "/")
	got, err := triage(ctx, agents, domain.LLMConfig{Provider: provider, Model: name}, strings.Join(flag.Args(), " "))
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(got.Severity+":", got.Why)
}
