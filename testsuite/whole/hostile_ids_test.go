package whole_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// asksOf is all that a client does with an agent that there has to be.
func (s *stack) asksOf() map[string]func(ctx context.Context, id string) error {
	first := func(seq func(func(domain.Entry, error) bool)) (err error) {
		for _, err = range seq {
			break
		}
		return err
	}
	return map[string]func(ctx context.Context, id string) error{
		"status":  func(ctx context.Context, id string) error { _, err := s.agents.Status(ctx, id); return err },
		"result":  func(ctx context.Context, id string) error { _, err := s.agents.Result(ctx, id, 0); return err },
		"explain": func(ctx context.Context, id string) error { _, err := s.agents.Explain(ctx, id, 0); return err },
		"state":   func(ctx context.Context, id string) error { _, err := s.agents.State(ctx, id); return err },
		"close":   func(ctx context.Context, id string) error { _, err := s.agents.Close(ctx, id); return err },
		"pause":   func(ctx context.Context, id string) error { _, err := s.agents.Pause(ctx, id); return err },
		"deny": func(ctx context.Context, id string) error {
			_, err := s.agents.Answer(ctx, id, client.Word{Verdict: domain.WasDenied})
			return err
		},
		"messages": func(ctx context.Context, id string) error { return first(s.agents.Messages(ctx, id)) },
		"send": func(ctx context.Context, id string) error {
			_, err := s.agents.Send(ctx, id, client.SendOptions{Prompt: "hi"})
			return err
		},
		"stop": func(ctx context.Context, id string) error {
			_, err := s.agents.Stop(ctx, id, client.StopOptions{Mode: contract.StopNow})
			return err
		},
		"extend": func(ctx context.Context, id string) error {
			_, err := s.agents.Extend(ctx, id, client.ExtendOptions{})
			return err
		},
		"resolve": func(ctx context.Context, id string) error {
			_, err := s.agents.Resolve(ctx, id, client.ResolveOptions{Call: "x", Verdict: domain.VerdictDone, Reason: "so"})
			return err
		},
	}
}

// TestClientHostileIDs gives each naughty string as an agent's id to what takes one: it says that there is none, or that this
// is no id. As the call to resolve, and as the reason, it resolves nothing; a word about a call takes it as it is.
func TestClientHostileIDs(t *testing.T) {
	t.Parallel()
	all := naughty(t)
	paid := make(chan string, 8)
	s := start(t, host.Config{Tools: append(payTools(paid)[1:], payment())})
	asks := s.asksOf()
	names := slices.Sorted(maps.Keys(asks))
	for i, text := range all {
		name := names[i%len(names)]
		err := asks[name](within(t), text)
		require.Error(t, err, "%s %q", name, text)
		require.True(t, errors.Is(err, &client.Error{Class: client.Invalid}) || errors.Is(err, &client.Error{Class: client.NotFound}), "%s %q: %v", name, text, err)
	}

	unresolved := s.named("unresolved")
	s.pays(t, unresolved)
	status, err := s.agents.Status(within(t), unresolved)
	require.NoError(t, err)
	call := status.Waits[0].ToolExecutionID
	for i, text := range all {
		if i%5 > 0 || strings.HasPrefix(call.String(), text) {
			continue // each asks the server, and a beginning of the id is how it is called in short
		}
		_, err := s.agents.Resolve(within(t), unresolved, client.ResolveOptions{Call: text, Verdict: domain.VerdictDone, Reason: "so"})
		require.True(t, errors.Is(err, &client.Error{Class: client.Invalid}) || errors.Is(err, &client.Error{Class: client.Refused}) || errors.Is(err, &client.Error{Class: client.NotFound}), "%q: %v", text, err)
	}
	require.Equal(t, 1, s.unknownIn(t, unresolved))

	odd := all[len(all)-1] + "\x1b[2J\u202e\n" + strings.Repeat("é", 2000)
	definition := scripted(writeScript(t, "turns:\n  - tool_calls: [{name: look}]\n  - text: done\n"), "look")
	definition.Approvals = domain.ApprovalsOf("ask")
	begun, err := s.agents.Start(within(t), client.Start{ID: s.named("waits"), Prompt: "go", Definition: definition})
	require.NoError(t, err)
	waiting := s.waitingOf(t, begun.ID, 1)[0]
	_, err = s.agents.Answer(within(t), begun.ID, client.Word{Verdict: domain.WasDenied, Call: waiting.ToolExecutionID, By: odd, Reason: odd})
	if err != nil {
		require.ErrorIs(t, err, &client.Error{Class: client.Invalid})
		_, err = s.agents.Answer(within(t), begun.ID, client.Word{Verdict: domain.WasDenied, Call: waiting.ToolExecutionID, Reason: odd[:100]})
		require.NoError(t, err)
	}
	s.ended(t, begun)
}

// TestToolsOfHostileNames cannot be made.
func TestToolsOfHostileNames(t *testing.T) {
	t.Parallel()
	for _, text := range naughty(t) {
		made := tool.New(text, "", domain.ReadOnly, func(context.Context, struct{}) (string, error) { return "", nil }).Check()
		require.Equal(t, strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" && text != "" && len(text) <= 64, made == nil, "%q: %v", text, made)
	}
}
