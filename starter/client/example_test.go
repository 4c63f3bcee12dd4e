package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// An agent that is run to its end, on the server at an address. Some worker has to be up, and the API key of
// the model is the worker's.
func ExampleNew() {
	ctx := context.Background()
	const address = "127.0.0.1:7233"
	temporal, err := host.Dial(ctx, host.Connection{Address: address})
	if err != nil {
		log.Fatal(err)
	}
	defer temporal.Close()
	agents := client.New(temporal, client.Config{Loopback: host.Loopback(address)})

	final, err := agents.Execute(ctx, client.Start{
		Prompt: "Which of these files is the largest?",
		Definition: domain.Definition{
			Model: domain.LLMConfig{Provider: "openai-chat", Model: "gpt-5-mini"}, Tools: []string{"list_files"},
		},
	})
	if err != nil {
		log.Panic(err) // the execution, if it began, goes on
	}
	fmt.Println(final.Status(), final.Answer())
}

// What the model says is shown while it arrives, and taken back where an attempt fails.
func ExampleClient_Follow() {
	var agents *client.Client // of client.New
	ctx := context.Background()
	begun, err := agents.Start(ctx, client.Start{Prompt: "Tell me a story.", Definition: domain.Definition{
		Model: domain.LLMConfig{Provider: "anthropic", Model: "claude-haiku-4-5"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range agents.Follow(ctx, begun.ID, client.FollowOptions{Number: begun.Number}) {
		if err != nil {
			log.Fatal(err)
		}
		switch event.Type {
		case client.EventText:
			fmt.Print(event.Text)
		case client.EventWithdrawn:
			fmt.Println("\n[again from the beginning]")
		case domain.EventInferenceReceived:
			fmt.Print(event.Text[event.Shown:]) // what came too fast to be seen
		default: // tool calls, retries, stops: see the types of events of domain, and client.Moments
		}
		if event.Ended != nil {
			fmt.Println("\n", event.Ended.Status)
		}
	}
}

// What was said to one agent is where another begins, with another model: here as a state that was saved between.
func ExampleStart_WithState() {
	var agents *client.Client // of client.New
	ctx := context.Background()
	state, err := agents.State(ctx, "librarian")
	if err != nil {
		log.Fatal(err)
	}
	saved, err := state.EncodeSession() // without its execution
	if err != nil {
		log.Fatal(err)
	}

	state, err = domain.DecodeAgentState(saved)
	if err != nil {
		log.Fatal(err)
	}
	start, err := client.Start{
		Prompt:     "Which of them would you read first?",
		Definition: domain.Definition{Model: domain.LLMConfig{Provider: "anthropic", Model: "claude-haiku-4-5"}},
		Metadata:   domain.Metadata{"reader": []byte(`"Ann"`)}, // beside the state's
	}.WithState(state)
	if err != nil {
		log.Fatal(err)
	}
	final, err := agents.Execute(ctx, start)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(final.Answer())
}

// A named agent is a session: Start begins its first execution, and the next one where the session is open.
// While one is in progress it is refused; Send adds to that one instead.
func ExampleClient_Start() {
	var agents *client.Client // of client.New
	ctx := context.Background()
	ask := func(prompt string) (client.Result, error) {
		begun, err := agents.Start(ctx, client.Start{
			ID: "librarian", Prompt: prompt,
			// An open session keeps its definition; what is asked for here has to be the same, the model aside.
			Definition: domain.Definition{
				Model: domain.LLMConfig{Provider: "gemini", Model: "gemini-2.5-flash"}, SystemPrompt: "You keep the books.",
			},
		})
		if errors.Is(err, &client.Error{Class: client.Refused}) {
			return client.Result{}, fmt.Errorf("the librarian is busy: %w", err)
		}
		if err != nil {
			return client.Result{}, err
		}
		return agents.Wait(ctx, begun.ID, begun.Number)
	}
	for _, prompt := range []string{"Who wrote Middlemarch?", "And what else?"} { // it remembers the first
		result, err := ask(prompt)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Number, result.Answer)
	}
}
