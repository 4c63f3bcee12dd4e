package whole_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	agents "everstep/starter/client"
	"everstep/testsuite/internal/kept"
	"everstep/worker/host"
)

var update = flag.Bool("update", false, "record the kept histories anew")

// TestRecordHistories records histories of the kinds that must go on replaying.
func TestRecordHistories(t *testing.T) {
	if !*update {
		t.Skip("histories are recorded with -update only")
	}
	require.NoError(t, os.MkdirAll(kept.Histories, 0o750))
	t.Run("plain", func(t *testing.T) {
		s := start(t, host.Config{})
		s.keep(t, "plain", s.ended(t, s.begin(t, "turns: [{text: hello}]")))
	})
	t.Run("subagents", func(t *testing.T) {
		start(t, host.Config{Tools: []tool.Tool{echo()}}).recordChildren(t)
	})
	t.Run("subagents-held", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: tree(t, quickLeaf)})
		require.NoError(t, err)
		s.keep(t, "subagents-held", s.ended(t, begun))
	})
	t.Run("kept-answers", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: tree(t, quickLeaf), Budget: domain.ExecutionBudget{MaxSteps: new(int64(20)), MaxTokens: new(int64(9000))}})
		require.NoError(t, err)
		s.keep(t, "kept-answers", s.ended(t, begun))
	})
	t.Run("budget-requests", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: uneven(t), Budget: domain.ExecutionBudget{MaxSteps: new(int64(16))}})
		require.NoError(t, err)
		s.keep(t, "budget-requests", s.ended(t, begun))
		long := children(begun.ExecutionID, 2)[1]
		s.keep(t, "budget-requests-below", agents.Execution{ID: long, WorkflowID: domain.WorkflowID(long)})
	})
	t.Run("tree-waits", func(t *testing.T) {
		s := start(t, host.Config{Tools: payTools(make(chan string, 8))})
		begun := s.waitsBelow(t)
		s.keep(t, "tree-waits", s.ended(t, begun))
		below := children(begun.ExecutionID, 1)[0]
		s.keep(t, "tree-waits-below", agents.Execution{ID: below, WorkflowID: domain.WorkflowID(below)})
	})
	t.Run("carried-definitions", func(t *testing.T) {
		s := start(t, host.Config{Storage: noStorage})
		definition := scripted(writeScript(t, "turns: [{text: hello}]"))
		definition.SystemPrompt = strings.Repeat("s", 200_000)
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: strings.Repeat("p", 900_000), Definition: definition})
		require.NoError(t, err)
		result, err := s.agents.Wait(within(t), begun.ID, 1)
		require.NoError(t, err)
		require.Equal(t, domain.StatusFailed, result.Outcome.Status)
		s.keep(t, "carried-definitions", begun)
	})
	t.Run("level-grace", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: tree(t, slowLeaf)})
		require.NoError(t, err)
		_, leaves := s.below(t, begun.ExecutionID)
		s.doing(t, leaves[0], "waiting for the model")
		_, err = s.agents.Stop(within(t), begun.ID, agents.StopOptions{Mode: contract.StopNow, Reason: "enough"})
		require.NoError(t, err)
		s.keep(t, "level-grace", s.ended(t, begun))
	})
	t.Run("handoffs", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		s.keep(t, "handoffs", s.ended(t, s.handsOver(t, "", "scripted")))
	})
	t.Run("foreign", func(t *testing.T) {
		s := start(t, host.Config{})
		refused, _ := s.beginForeign(t, "foreign")
		s.keep(t, "foreign", refused)
	})
	t.Run("parallel-tools", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		s.keep(t, "parallel-tools", s.ended(t, s.begin(t, `
turns:
  - text: 'looking'
    tool_calls: [{name: echo, arguments: {text: a}}, {name: echo, arguments: {text: b}}, {name: nothing, arguments: {}}, {name: echo, arguments: {text: c}}]
  - text: 'done'
`, "echo")))
	})
	t.Run("wrapped-calls", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		s.keep(t, "wrapped-calls", s.ended(t, s.begin(t, `
turns:
  - tool_calls: [{name: multi_tool_use.parallel, arguments: {tool_uses: [{recipient_name: functions.echo, parameters: {text: a}}, {recipient_name: echo, parameters: {text: b}}]}}]
  - tool_calls: [{name: multi_tool_use.parallel, arguments: {tool_uses: [{recipient_name: functions.nothing}]}}, {name: functions.echo, arguments: {text: c}}]
  - text: 'done'
`, "echo")))
	})
	t.Run("result-parts", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{drawing()}})
		s.keep(t, "result-parts", s.ended(t, s.begin(t, `
turns:
  - tool_calls: [{name: draw}, {name: draw}]
  - tool_calls: [{name: draw}]
  - text: 'done'
`, "draw")))
	})
	t.Run("own-tries", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{engaged(make(chan struct{}, 16))}})
		begun := s.begin(t, busyScript, "call")
		s.stopWaiting(t, begun.ID)
		s.keep(t, "own-tries", s.ended(t, begun))
	})
	t.Run("stop-in-wait", func(t *testing.T) {
		s := start(t, host.Config{})
		begun := s.begin(t, "turns: [{failures: [{status: 429, retry_after: 1h}], text: done}]")
		require.Eventually(t, func() bool {
			status, err := s.agents.Status(within(t), begun.ID)
			return err == nil && strings.Contains(status.Doing, "waits until")
		}, patience, 10*time.Millisecond)
		_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Reason: "enough"})
		require.NoError(t, err)
		s.keep(t, "stop-in-wait", s.ended(t, begun))
	})
	t.Run("budget", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		steps := int64(2)
		begun, err := s.agents.Start(within(t), agents.Start{
			Prompt: "go", Definition: scripted(longScript(t, 3, 1), "echo"), Budget: domain.ExecutionBudget{MaxSteps: &steps},
		})
		require.NoError(t, err)
		s.keep(t, "budget", s.ended(t, begun))
	})
	for _, mode := range contract.StopModes() {
		t.Run("stop-"+string(mode), func(t *testing.T) {
			shop := newWorkshop()
			shop.open()
			s := start(t, host.Config{Tools: []tool.Tool{shop.tool(domain.AtMostOnce)}})
			begun := s.begin(t, toolScript, "work")
			s.textSeen(t, begun.ID)
			_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Mode: mode, Within: contract.Span(time.Hour), Reason: "enough"})
			require.NoError(t, err)
			s.keep(t, "stop-"+string(mode), s.ended(t, begun))
		})
	}
	t.Run("session", func(t *testing.T) {
		s := start(t, host.Config{})
		s.answers(t, agents.Start{ID: "kept", Definition: scripted(writeScript(t, oneTwo))})
		s.keep(t, "session", s.closesAfter(t, s.sends(t, "kept")))
	})
	t.Run("execution-records", func(t *testing.T) {
		s := start(t, host.Config{Records: t.TempDir()})
		s.answers(t, agents.Start{ID: "kept-records", Definition: scripted(writeScript(t, oneTwo))})
		s.keep(t, "execution-records", s.closesAfter(t, s.sends(t, "kept-records")))
	})
	t.Run("followed-definitions", func(t *testing.T) {
		s := connect(t, "plain", nil)
		s.keep(t, "followed-definitions", s.deployed(t, "kept"))
	})
	t.Run("updated-definition", func(t *testing.T) {
		s := connect(t, "plain", nil)
		s.keep(t, "updated-definition", s.renamed(t, "kept-updated"))
	})
	t.Run("joined-updates", func(t *testing.T) {
		s := start(t, host.Config{})
		s.keep(t, "joined-updates", s.rejoined(t, "kept"))
	})
	t.Run("given", func(t *testing.T) {
		s := start(t, host.Config{})
		notes, before := domain.Metadata{"ticket": json.RawMessage(`"A-7"`)}, []domain.Entry{{Message: domain.UserMessage("before")}}
		s.answers(t, agents.Start{ID: "kept", Definition: scripted(writeScript(t, oneTwo)), Messages: before})
		s.keep(t, "given", s.closesAfter(t, s.sends(t, "kept", agents.SendOptions{Metadata: notes, Messages: before})))
	})
	t.Run("trusted", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{whom()}})
		definition := scripted(writeScript(t, "turns: [{tool_calls: [{name: whom, arguments: {}}]}, {text: one}, {tool_calls: [{name: whom, arguments: {}}]}, {text: two}]"), "whom")
		definition.ShowTrusted = []string{"customer"}
		s.answers(t, agents.Start{ID: "kept", Definition: definition, Trusted: domain.Trusted{"customer": json.RawMessage(`4711`)}})
		s.keep(t, "trusted", s.closesAfter(t, s.sends(t, "kept", agents.SendOptions{Trusted: domain.Trusted{"order": json.RawMessage(`"A-7"`)}})))
	})
	t.Run("worker-shutdown", func(t *testing.T) {
		s := connect(t, "plain", nil)
		first := s.work(t, host.Config{})
		begun := s.begin(t, "turns: [{text: 'one two three four five six seven eight', delay: 2s}]")
		s.textSeen(t, begun.ID)
		first.Stop()
		second := s.work(t, host.Config{})
		defer second.Stop()
		s.keep(t, "worker-shutdown", s.ended(t, begun))
	})
	t.Run("unknown-outcome", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{payment()}})
		s.pays(t, "kept")
		second := s.settlesAndGoesOn(t, "kept")
		_, err := s.agents.Close(within(t), "kept")
		require.NoError(t, err)
		s.keep(t, "unknown-outcome", second)
	})
	t.Run("settled-after-end", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{payment()}})
		id, calls := s.endsUnsettled(t)
		_, err := s.agents.Resolve(within(t), id, settling(calls[0], receipt))
		require.NoError(t, err)
		s.keep(t, "settled-after-end", agents.Execution{WorkflowID: domain.WorkflowID(id)})
	})
	t.Run("verified-calls", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{knowing()}})
		s.keep(t, "verified-calls", s.ended(t, s.begin(t, knowingScript, "pay")))
	})
	t.Run("effects-in-turn", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{payment(), once()}})
		s.keep(t, "effects-in-turn", s.ended(t, s.begin(t, turnsScript, "pay", "once")))
	})
	recordAgents(t)
	recordWaits(t)
	recordMessages(t)
	recordLife(t)
	recordSessionBudgets(t)
	recordRewinds(t)
	recordVersions(t)
	recordForks(t)
	recordSchedules(t)
	t.Run("storage-outage", func(t *testing.T) {
		s := connect(t, "continuing", continuing)
		begun := s.outage(t, func(agents.Execution) {})
		s.keep(t, "storage-outage", begun)
	})
	t.Run("idle-outage", func(t *testing.T) {
		s := connect(t, "continuing", continuing)
		storage := filepath.Join(t.TempDir(), "storage")
		require.NoError(t, os.Mkdir(storage, 0o750))
		t.Cleanup(s.work(t, host.Config{Storage: storage}).Stop)
		require.NoError(t, os.Rename(storage, storage+".away"))
		require.NoError(t, os.WriteFile(storage, nil, 0o600))
		turn := "{text: '" + strings.Repeat("x", 1000) + "'}, "
		begun, err := s.agents.Start(within(t), agents.Start{
			ID: "kept", Prompt: strings.Repeat("x", 999_500), Definition: scripted(writeScript(t, "turns: ["+strings.Repeat(turn, 20)+"]")),
		})
		require.NoError(t, err)
		s.ended(t, begun)
		send := func() {
			more, err := s.agents.Send(within(t), "kept", agents.SendOptions{Prompt: "more"})
			require.NoError(t, err)
			s.ended(t, more)
		}
		for s.asked(t, "kept").History.Events < 58 {
			send()
		}
		// What it drops wakes it where it is idle, and the server suggests a new run.
		require.NoError(t, s.temporal.SignalWorkflow(within(t), begun.WorkflowID, "", string(contract.SignalStop), contract.StopRequest{}))
		require.Eventually(t, func() bool { return s.asked(t, "kept").History.Unstored != "" }, patience, 20*time.Millisecond)
		require.NoError(t, os.Remove(storage))
		require.NoError(t, os.Rename(storage+".away", storage))
		send()
		s.keep(t, "idle-outage", begun)
	})
	t.Run("continue-as-new", func(t *testing.T) {
		s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}})
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: scripted(longScript(t, 15, 1), "echo")})
		require.NoError(t, err)
		s.keep(t, "continue-as-new-first", begun)
		last := s.ended(t, begun)
		last.RunID = ""
		s.keep(t, "continue-as-new-last", last)
	})
}

// keep writes a run's history, once it is closed.
func (s *stack) keep(t *testing.T, name string, of agents.Execution) {
	t.Helper()
	history := &historypb.History{}
	events := s.temporal.GetWorkflowHistory(within(t), of.WorkflowID, of.RunID, true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		history.Events = append(history.Events, event)
		if event.GetWorkflowExecutionContinuedAsNewEventAttributes() != nil {
			break
		}
	}
	encoded, err := protojson.Marshal(history)
	require.NoError(t, err)
	machine, err := os.Hostname()
	require.NoError(t, err)
	// Not where a payload in base64 happens to have it.
	encoded = regexp.MustCompile(`(["@])`+regexp.QuoteMeta(machine)+"([@:])").ReplaceAll(encoded, []byte("${1}machine${2}"))
	require.NoError(t, os.WriteFile(filepath.Join(kept.Histories, name+".json"), encoded, 0o600))
}
