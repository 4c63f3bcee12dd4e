package guards_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/enum"
	"everstep/testsuite/internal/kept"
)

// What no scenario can show, and why.
var (
	noScenarioOfStatus = map[domain.ExecutionStatus]string{
		domain.StatusPending: "an execution that exists is never pending",
	}
	noScenarioOfEvent = map[domain.EventType]string{
		domain.EventHookCalled:        "a scenario's hooks are no activities; testsuite/whole has some that are",
		domain.EventToolCallWaiting:   "a scenario's tools wait for nothing; testsuite/whole has some that do",
		domain.EventSubagentSpawning:  "a scenario is one agent; testsuite/whole has trees of them",
		domain.EventSubagentGranted:   "a scenario is one agent; testsuite/whole has trees of them",
		domain.EventSubagentCompleted: "a scenario is one agent; testsuite/whole has trees of them",
		domain.EventMCPSessionOpened:  "a scenario has no MCP server; testsuite/whole has",
		domain.EventMCPSessionLost:    "a scenario has no MCP server; testsuite/whole has",
		domain.EventHandedOver:        "a scenario is one agent; testsuite/whole has some that hand over",
	}
)

// TestScenariosShowAll: each status, stop reason, trigger and type of event has
// a scenario whose expectation holds it.
func TestScenariosShowAll(t *testing.T) {
	t.Parallel()
	var expected strings.Builder
	for _, s := range kept.Scenarios(t) {
		expected.WriteString(s.Expected)
	}
	shows := func(kind, value, line string) {
		t.Helper()
		require.Regexp(t, `(?m)^ +(- )?`+line, expected.String(), "no scenario shows the %s %s", kind, value)
	}
	for _, status := range enum.Known[domain.ExecutionStatus]() {
		switch {
		case noScenarioOfStatus[status] != "":
		case status.Terminal():
			shows("status", string(status), fmt.Sprintf("status: %s$", status))
		default:
			shows("status", string(status), fmt.Sprintf("before_execution %s,", status))
		}
	}
	for _, reason := range enum.Known[domain.StopReason]() {
		shows("stop reason", string(reason), fmt.Sprintf("stop_reason: %s$", reason))
	}
	for _, trigger := range enum.Known[domain.Trigger]() {
		shows("trigger", string(trigger), string(trigger)+"( |$)")
	}
	for _, kind := range domain.EventTypes() {
		if noScenarioOfEvent[kind] == "" {
			shows("type of event", string(kind), string(kind)+"( |$)")
		}
	}
	for _, kind := range enum.Known[domain.StepType]() {
		require.Regexp(t, `(?m)^ +steps: \[.*\b`+string(kind)+`\b`, expected.String(), "no scenario shows the type of step %s", kind)
	}
}
