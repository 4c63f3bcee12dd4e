package openaichat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// TestTurns: where roles have to take turns, instructions come first, the user begins and has the last word, and the model
// speaks between a tool and the user. A word is who speaks, in one message each.
func TestTurns(t *testing.T) {
	t.Parallel()
	say := func(role domain.Role, text string) domain.Message {
		return domain.Message{Role: role, Parts: domain.UserMessage(text).Parts}
	}
	named := func(name, text string) domain.Message {
		m := domain.UserMessage(text)
		m.Name = name
		return m
	}
	calls := domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}}
	result := domain.ToolMessage(domain.ToolResult{CallID: "a", Content: "1"})
	system, user, model := domain.RoleSystem, domain.RoleUser, domain.RoleAssistant
	for name, test := range map[string]struct {
		without string
		said    []domain.Message
		want    string
	}{
		"as they come":            {"free roles", []domain.Message{say(user, "q"), say(model, "a"), say(user, "q")}, "system:be brief user:q assistant:a user:q"},
		"instructions at first":   {"free roles", []domain.Message{say(system, "x"), say(domain.RoleDeveloper, "y"), say(user, "q")}, "system:be brief x y user:q"},
		"an instruction later":    {"free roles", []domain.Message{say(user, "q"), say(system, "x")}, "system:be brief user:q <system> x </system>"},
		"a user behind a tool":    {"free roles", []domain.Message{say(user, "q"), calls, result, say(user, "hurry")}, "system:be brief user:q assistant: tool:1 assistant:Understood. user:hurry"},
		"a system behind a tool":  {"free roles", []domain.Message{say(user, "q"), calls, result, say(system, "x")}, "system:be brief user:q assistant: tool:1 assistant:Understood. user:<system> x </system>"},
		"the model first":         {"free roles", []domain.Message{say(model, "a"), say(user, "q")}, "system:be brief user:Continue. assistant:a user:q"},
		"the model last":          {"free roles", []domain.Message{say(user, "q"), say(model, "a")}, "system:be brief user:q assistant:a user:Continue."},
		"the model twice":         {"free roles", []domain.Message{say(user, "q"), say(model, "a"), calls, result}, "system:be brief user:q assistant:a tool:1"},
		"nothing of the model":    {"free roles", []domain.Message{say(user, "q"), say(model, ""), say(user, "r")}, "system:be brief user:q r"},
		"instructions alone":      {"free roles", []domain.Message{say(system, "x")}, "system:be brief x user:Continue."},
		"two people":              {"free roles", []domain.Message{named("ann", "a"), named("ann", "b"), say(model, "x"), named("ann", "c"), named("bob", "d")}, "system:be brief user ann:a b assistant:x user:c d"},
		"no system":               {"system", []domain.Message{say(user, "q"), say(system, "x")}, "user:<system> be brief </system> q <system> x </system>"},
		"free, a user and a tool": {"", []domain.Message{say(user, "q"), calls, result, say(user, "a"), say(user, "b"), say(system, "x"), say(model, "z")}, "system:be brief user:q assistant: tool:1 user:a b system:x assistant:z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
				var body struct {
					Messages []struct{ Role, Name, Content string }
				}
				data, _ := io.ReadAll(r.Body)
				_ = json.Unmarshal(data, &body)
				for _, m := range body.Messages {
					got = append(got, strings.TrimSpace(m.Role+" "+m.Name)+":"+strings.Join(strings.Fields(m.Content), " "))
				}
				_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
			})
			p, err := wire.New(openaichat.Dialect{Vendor: wire.API{Name: "made-up", Server: "https://made-up.example", Variables: "MADE_UP"}, Without: []string{test.without}}.API(), wire.Config{BaseURL: server.URL})
			require.NoError(t, err)
			_, failed := providers.Infer(t, p, inference.Call{Config: domain.LLMConfig{Provider: "made-up", Model: "m"}, System: "be brief", Messages: test.said})
			require.Nil(t, failed)
			require.Equal(t, test.want, strings.Join(got, " "))
		})
	}
}
