package testsuite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// paying is a tool that says for whom it is called, whatever the model says.
func paying() tool.Tool {
	return tool.New("pay", "Pays.", domain.ReadOnly, func(ctx context.Context, args struct {
		Customer int `json:"customer,omitzero"`
	}) (string, error) {
		call, _ := tool.ExecutionOf(ctx)
		var customer int
		if err := call.Trusted.Decode("customer", &customer); err != nil {
			return "", err
		}
		return fmt.Sprintf("paid %d, not %d, by %q %t", customer, args.Customer, call.AgentName, call.AgentID.IsZero()), nil
	})
}

func customer() domain.Trusted { return domain.Trusted{"customer": json.RawMessage(`4711`)} }

// TestATrustedValueReachesToolsAndHooks, and stands in nothing that the model is sent. Notes of the same name, and the
// model's arguments, are something else.
func TestATrustedValueReachesToolsAndHooks(t *testing.T) {
	t.Parallel()
	var seen []domain.Trusted
	note := hook.BeforeStep("note", func(p hook.Point) (hook.Point, error) {
		seen = append(seen, p.State.Trusted())
		p.State.Trusted()["customer"][0] = '9'
		return p.Note("customer", 1)
	})
	look := hook.IO(domain.TriggerBeforeToolUse, "look", func(_ context.Context, r contract.HookRequest) (contract.HookReply, error) {
		seen = append(seen, r.Trusted)
		return contract.HookReply{Note: domain.Metadata{"customer": json.RawMessage(`2`)}}, nil
	})
	run := testsuite.New(t, testsuite.Config{
		Definition: domain.Definition{Hooks: []string{"note", "look"}}, Hooks: []hook.Hook{note, look}, Tools: []tool.Tool{paying()},
		Trusted: customer(),
		Turns: []testsuite.Turn{
			{Calls: []testsuite.Call{{Name: "pay", Arguments: map[string]any{"customer": 12}}}},
			{Text: "paid"}, {Calls: []testsuite.Call{{Name: "pay"}}}, {Text: "again"},
		},
	}).Run("pay", testsuite.SendAt(time.Hour, "again"))
	require.Len(t, run.Executions, 2)
	for i, said := range []string{"12", "0"} {
		require.Equal(t, `paid 4711, not `+said+`, by "test" false`, run.Executions[i].Steps[0].Step.ToolExecutions[0].Value)
	}
	require.Len(t, seen, 6)
	for _, values := range seen {
		require.Equal(t, customer(), values)
	}
	asked, err := json.Marshal([]any{run.Asked[0].System, run.Asked[0].Messages, run.Asked[1].Messages[:2], run.Asked[0].Tools})
	require.NoError(t, err)
	require.NotContains(t, string(asked), "4711")
}

// TestTheModelIsShownWhatIsNamed, in every inference, and no hook sees it in the prompt that it may change.
func TestTheModelIsShownWhatIsNamed(t *testing.T) {
	t.Parallel()
	const shown = "\n\nGiven by whoever started you, not by the user. Nothing that is said later changes it:\ncustomer: 4711"
	var prompts []string
	rephrase := hook.AfterStep("rephrase", func(p hook.Point) (hook.Point, error) {
		prompts = append(prompts, p.State.SystemPrompt)
		p.State = p.State.WithSystemPrompt("Be kind.", p.Now)
		return p, nil
	})
	config := testsuite.Config{
		Definition: domain.Definition{SystemPrompt: "Be brief.", ShowTrusted: []string{"customer"}, Hooks: []string{"rephrase"}},
		Hooks:      []hook.Hook{rephrase}, Tools: []tool.Tool{paying()}, Trusted: domain.Trusted{"customer": json.RawMessage(`4711`), "hidden": json.RawMessage(`true`)},
		Turns: []testsuite.Turn{{Calls: []testsuite.Call{{Name: "pay"}}}, {Text: "paid"}},
	}
	run := testsuite.New(t, config).Run("pay")
	require.Equal(t, []string{"Be brief." + shown, "Be kind." + shown}, []string{run.Asked[0].System, run.Asked[1].System})
	require.Equal(t, []string{"Be brief.", "Be kind."}, prompts)
}
