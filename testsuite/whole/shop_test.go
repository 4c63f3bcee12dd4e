package whole_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

// shopWorker is the argument with which the test binary is a worker as a new user would write it.
const shopWorker = "shop-worker"

// A ledger is a file of what was done, a line each. While there is a file beside it a refund of a slow order that was
// paid has no answer.
type ledger struct{ path string }

func (l ledger) write(what string) error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return tool.NotStarted(err)
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, what)
	return err
}

type refund struct {
	Order string `json:"order"`
	Note  string `json:"note,omitzero"`
}

func (l ledger) tools() []tool.Tool {
	return []tool.Tool{
		tool.New("refund", "Pays an order back.", domain.AtMostOnce, func(ctx context.Context, a refund) (string, error) {
			if err := l.write("refund " + a.Order); err != nil {
				return "", err
			}
			if a.Order == "slow" {
				<-ctx.Done()
			}
			return "paid " + a.Order, ctx.Err()
		}, tool.EffectKey("order")),
		tool.New("lookup", "Looks an order up.", domain.ReadOnly, func(_ context.Context, a refund) (string, error) {
			return a.Order + ": 40 dollars", nil
		}),
		tool.New("send_email", "Sends a mail.", domain.Keyed, func(ctx context.Context, a struct {
			To string `json:"to"`
		},
		) (string, error) {
			call, _ := tool.ExecutionOf(ctx)
			return "sent", l.write("mail " + a.To + " " + call.Key)
		}),
	}
}

func shopWork(ctx context.Context, args []string) error {
	return serve(ctx, args, host.Config{Tools: ledger{args[2]}.tools(), Log: host.Log{Level: slog.LevelWarn}})
}

// shopScripts are what ten agents do, by name.
func shopScripts() map[string]string {
	call := func(name, arguments string) string { return "{name: " + name + ", arguments: {" + arguments + "}}" }
	turns := func(turns ...string) string {
		return "turns:\n  - tool_calls: [" + strings.Join(turns, "]\n  - tool_calls: [") + "]\n  - text: done\n"
	}
	scripts := map[string]string{
		"looks":   turns(call("lookup", "order: o1")),
		"allowed": turns(call("refund", "order: o2, note: vip")),
		"denied":  turns(call("lookup", "order: o3"), call("refund", "order: o3")),
		"mails":   turns(call("send_email", "to: ann")),
		"slow":    turns(call("refund", "order: slow"), call("refund", "order: slow, note: please")),
		"both":    turns(call("refund", "order: o4") + ", " + call("send_email", "to: bob") + ", " + call("lookup", "order: o4")),
	}
	for i := range 4 {
		scripts[fmt.Sprint("pays", i)] = turns(call("lookup", fmt.Sprint("order: p", i)), call("refund", fmt.Sprint("order: p", i)))
	}
	return scripts
}

// waitingIn are the calls that wait, of agents whose names end as the test's, as AGENT TOOL.
func (s *stack) waitingIn(t *testing.T) (found []string) {
	t.Helper()
	for call, err := range s.agents.AllWaiting(within(t), "") {
		if err != nil {
			return nil // the server is busy, and is asked again
		}
		if name, own := strings.CutSuffix(call.ID, s.named("")); own && call.Kind == domain.WaitApproval {
			found = append(found, name+" "+call.Tool)
		}
	}
	slices.Sort(found)
	return found
}

// says decides about all calls of an agent that wait.
func (s *stack) says(t *testing.T, name string, verdict domain.Verdict) {
	t.Helper()
	for call, err := range s.agents.AllWaiting(within(t), s.named(name)) {
		require.NoError(t, err)
		_, err = s.agents.Answer(within(t), s.named(name), agents.Word{Call: call.ToolExecutionID, Digest: call.Digest, Verdict: verdict, By: "ann", Reason: "as it is"})
		require.NoError(t, err)
	}
}

// TestAShop is a new user's first day: ten agents that ask for refunds, a worker that is killed in the middle of one and
// while calls wait, words given and refused, and one outcome that nobody knows until somebody looks. Nothing is paid twice,
// and what the client lists is true at each moment.
func TestAShop(t *testing.T) {
	t.Parallel()
	s, l := connect(t, "plain", nil), ledger{t.TempDir() + "/ledger"}
	done := func() []string {
		text, _ := os.ReadFile(l.path) // none: nothing was done
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		slices.Sort(lines)
		return lines
	}
	kill := s.process(t, shopWorker, l.path).Kill
	begun := map[string]agents.Execution{}
	for name, script := range shopScripts() {
		definition := scripted(writeScript(t, script), "refund", "lookup", "send_email")
		definition.Approvals = &domain.Approvals{Rules: []domain.ApprovalRule{{
			Tool: "refund", Arguments: map[string]json.RawMessage{"note": json.RawMessage(`"vip"`)}, Then: domain.Allow,
		}}}
		var err error
		begun[name], err = s.agents.Start(within(t), agents.Start{ID: s.named(name), Prompt: "go", Definition: definition})
		require.NoError(t, err)
	}
	asked := []string{"both refund", "both send_email", "denied refund", "mails send_email", "pays0 refund", "pays1 refund", "pays2 refund", "pays3 refund", "slow refund"}
	wait := func(want []string) {
		t.Helper()
		require.Eventually(t, func() bool { return slices.Equal(want, s.waitingIn(t)) }, patience, 50*time.Millisecond, "%v", want)
	}
	wait(asked)
	require.Equal(t, []string{"refund o2"}, done(), "what a rule allows, and nothing else")

	kill()
	wait(asked) // told without a worker
	kill = s.process(t, shopWorker, l.path).Kill
	s.says(t, "denied", domain.WasDenied)
	s.says(t, "slow", domain.Approved)
	require.Eventually(t, func() bool { return slices.Contains(done(), "refund slow") }, patience, 10*time.Millisecond)
	kill() // it has paid, and nobody has heard
	status, err := s.agents.Status(within(t), s.named("slow"))
	require.NoError(t, err)
	require.Equal(t, domain.StatusInProgress, status.Status)
	require.Zero(t, s.unknownIn(t, s.named("slow")), "nobody knows that yet")

	s.process(t, shopWorker, l.path)
	s.ended(t, begun["slow"])
	require.Eventually(t, func() bool { return s.unknownIn(t, s.named("slow")) == 1 }, patience, 50*time.Millisecond)
	for _, name := range []string{"both", "mails", "pays0", "pays1", "pays2", "pays3"} {
		s.says(t, name, domain.Approved)
	}
	status, err = s.agents.Status(within(t), s.named("slow"))
	require.NoError(t, err)
	resolved, err := s.agents.Resolve(within(t), s.named("slow"), agents.ResolveOptions{
		Call: status.Waits[0].ToolExecutionID.String(), Verdict: domain.VerdictDone, Result: "paid slow", Reason: "it is in the ledger",
	})
	require.NoError(t, err)
	require.Zero(t, resolved.UnknownOutcomes)
	for name, x := range begun {
		result, err := s.agents.Wait(within(t), x.ID, 1)
		require.NoError(t, err)
		require.Equal(t, "done", result.Answer, name)
	}
	wait(nil)
	require.Eventually(t, func() bool { return s.unknownIn(t, s.named("slow")) == 0 }, patience, 50*time.Millisecond)
	var kinds []string
	for _, line := range done() {
		kinds = append(kinds, strings.Join(strings.Fields(line)[:2], " "))
	}
	require.Equal(t, []string{"mail ann", "mail bob", "refund o2", "refund o4", "refund p0", "refund p1", "refund p2", "refund p3", "refund slow"}, kinds, "each once")
}
