package render

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/client"
)

// TestStatusJSON has all keys, each once, in the order of the rows: null, or an empty list, where there is nothing to tell.
func TestStatusJSON(t *testing.T) {
	t.Parallel()
	encoded := func(v account.Status) map[string]json.RawMessage {
		line, err := domain.Encode(Status(v))
		require.NoError(t, err)
		var object map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(line, &object))
		require.Equal(t, strings.Count(StatusKeys(), "\n| `"), len(object), "no key twice")
		return object
	}
	empty := encoded(account.Status{})
	for key, want := range map[string]string{
		"name": "null", "since": "null", "stop_reason": "null", "error": "null", "suspended": "null", "prior": "null", "stop_signals": "[]", "todo": "[]",
		"paused": "false", "step_count": "0", "cost_nano_usd": "0",
	} {
		require.Equal(t, want, string(empty[key]), key)
	}
	full := encoded(account.Status{
		Head:      account.Head{Name: "notes", Since: testNow},
		Execution: account.Execution{Outcome: contract.Outcome{Status: domain.StatusFailed, StopReason: domain.Completed}, Ended: &contract.End{Error: domain.Invalidf("x <y>")}},
	})
	for key, want := range map[string]string{"name": `"notes"`, "since": `"2030-01-31T12:00:00Z"`, "stop_reason": `"completed"`} {
		require.Equal(t, want, string(full[key]), key)
	}
	require.Contains(t, string(full["error"]), `"x <y>"`)
}

func TestStatusText(t *testing.T) {
	t.Parallel()
	steps, left, secs := int64(10), int64(8), 90.0
	got := StatusText(noTheme(), "notes", account.Status{
		Head:      account.Head{Doing: "step 3: waiting for the \x1bmodel", Since: testNow.Add(-4 * time.Second), Open: true, Run: account.Run{WorkflowID: "agent/notes", ID: "r1"}, Configuration: account.Configuration{Model: "openai-chat/m"}, Ledger: account.Ledger{Execution: &account.Holder{Limit: domain.ExecutionBudget{MaxSteps: &steps, MaxSeconds: &secs}, Left: domain.ExecutionBudget{MaxSteps: &left}}}},
		Execution: account.Execution{Outcome: contract.Outcome{Number: 2, Status: domain.StatusInProgress, Steps: 2, Usage: domain.Usage{InputTokens: 1200, OutputTokens: 34, Estimated: true}}},
		History:   contract.HistoryView{Events: 31, Bytes: 6804, Runs: 2},
		Server:    account.Server{Source: contract.FromHistory},
	}, testNow)
	requireGolden(t, "status", got)

	idle := StatusText(noTheme(), "notes", account.Status{
		Head:      account.Head{Open: true},
		Execution: account.Execution{Outcome: contract.Outcome{Status: domain.StatusFailed}, Ended: &contract.End{Error: domain.Invalidf("no\nkey")}},
	}, testNow)
	require.Contains(t, idle, "failed, idle")
	require.Contains(t, idle, "no key")
	kept := StatusText(noTheme(), "notes", account.Status{
		Head:      account.Head{Doing: "ended; only its records are left", Since: testNow.Add(-time.Minute)},
		Execution: account.Execution{Outcome: contract.Outcome{Status: domain.StatusCompleted}},
		Server:    account.Server{Source: contract.FromRecords},
	}, testNow)
	require.Contains(t, kept, "ended, for 1 min 0 s; only its records are left")
	for _, s := range enum.Known[contract.StatusSource]() {
		require.NotEqual(t, string(s), source(account.Status{Server: account.Server{Source: s}}), "each source is put into words")
	}
	earlier := StatusText(noTheme(), "notes", account.Status{Server: account.Server{Source: contract.FromHistory}, AtEvent: 7}, testNow)
	require.Contains(t, earlier, "told by   the history, replayed as far as event 7")
	require.NotContains(t, earlier, "no worker answers", "none was asked")
}

// TestStatusOfWhatGoesOn has what only some executions have.
func TestStatusOfWhatGoesOn(t *testing.T) {
	t.Parallel()
	got := StatusText(noTheme(), "notes", account.Status{
		Head:      account.Head{Name: "notes", Doing: "paused", Settings: contract.Settings{Paused: true}, Window: 16000, Context: 4000, Ledger: account.Ledger{Execution: &account.Holder{Limit: domain.ExecutionBudget{MaxCostNanoUSD: new(int64(20_000_000))}, Left: domain.ExecutionBudget{MaxCostNanoUSD: new(int64(10_800_000))}}}},
		Execution: account.Execution{Outcome: contract.Outcome{Number: 2, Status: domain.StatusInProgress, CostNanoUSD: 4_200_000}, Origin: &domain.Origin{ExecutionID: domain.ExecutionID{UUID: uuid.MustParse("6cd30739-3b72-5c27-89d3-e71bda49aaaf")}}, Prior: domain.Spent{Steps: 10, Tokens: 1200, CostNanoUSD: 5_000_000}},
		Server:    account.Server{Source: contract.FromWorkflow},
	}, testNow)
	requireGolden(t, "status-going-on", got)
	require.Equal(t, "about 12 tokens", contextText(12, 0))
}

// TestEachLimitIsShown: what a budget allows, and what the executions had used that this one goes on from.
func TestEachLimitIsShown(t *testing.T) {
	t.Parallel()
	for _, rule := range domain.LimitRules() {
		total := domain.Count(rule.Unit, 7_000_000)
		if rule.Unit.OfTime() {
			total = map[domain.Unit]domain.Amount{domain.UnitTime: domain.Moment(testNow), domain.UnitMilliseconds: domain.Seconds(7)}[rule.Unit]
		}
		budget := rule.With(domain.Unlimited(), total)
		require.Contains(t, Budget(budget, budget), limitText(rule, total))
	}
	for i := range reflect.TypeFor[domain.Spent]().NumField() {
		var spent domain.Spent
		field := reflect.ValueOf(&spent).Elem().Field(i)
		field.Set(reflect.ValueOf(7_000_000).Convert(field.Type()))
		require.Equal(t, spent.Seconds == 0, strings.Contains(spentText(spent), "7"), "%+v", spent)
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	agents := []client.Listed{
		{Execution: client.Execution{ID: "notes", Number: 12}, Ending: client.Ending{Status: domain.StatusCompleted, Steps: new(3), StopReason: domain.Completed}, Open: true},
		{Execution: client.Execution{ID: "6cd30739-3b72-5c27-89d3-e71bda49aaaf", Number: 1}, Ending: client.Ending{Status: domain.StatusInProgress}, Open: true},
		{Execution: client.Execution{ID: "世界", Number: 1}, Ending: client.Ending{Status: domain.StatusFailed, Steps: new(1), Code: domain.CodeAuth}},
		{Execution: client.Execution{ID: "held", Number: 2}, Ending: client.Ending{Status: domain.StatusInProgress}, Open: true, Paused: true},
		{Execution: client.Execution{ID: "halted", Number: 1}, Ending: client.Ending{Status: domain.StatusInProgress}, Open: true, Paused: true, Stopping: true},
		{Execution: client.Execution{ID: "86abe349-6c81-41e2-b9e9-123721cc45b2", Number: 1}, Ending: client.Ending{Status: domain.StatusStopped, Steps: new(9), StopReason: domain.StepsLimitReached}},
		{Execution: client.Execution{ID: "X", Number: 1}, Ending: client.Ending{Status: domain.StatusFailed, Steps: new(0)}, Foreign: true},
	}
	agents[0].StartedAt = testNow.Add(-90 * time.Minute)
	out := Plain(&strings.Builder{})
	requireGolden(t, "list", List(agents, testNow).Render(out))
	for _, width := range []int{80, 60, 40} {
		out.Width = func() int { return width }
		table := List(agents, testNow).Render(out)
		requireGolden(t, fmt.Sprintf("list-%d", width), table)
		for row := range strings.Lines(table) {
			require.LessOrEqual(t, lipgloss.Width(strings.TrimSuffix(row, "\n")), width)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 0: "0 ms", 999 * time.Millisecond: "999 ms", 1500 * time.Millisecond: "1.5 s",
		61 * time.Second: "1 min 1 s", 3*time.Hour + 5*time.Minute: "3 h 5 min",
	} {
		require.Equal(t, want, Duration(d))
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		require.Equal(t, want, grouped(n))
	}
	require.Equal(t, "1 step", Counted(1, "step"))
	require.Equal(t, "0 steps", Counted(0, "step"))
	for n, want := range map[int64]string{1: "1 byte", 1023: "1,023 bytes", 2048: "2 KiB", 1536: "1.5 KiB", 5 << 20: "5 MiB", 3 << 40: "3072 GiB"} {
		require.Equal(t, want, size(n))
	}
	require.Empty(t, moment(time.Time{}))
}

// TestStatusAdvisesWhatIsTaken: what no workflow has nobody can resolve, revoke or take back.
func TestStatusAdvisesWhatIsTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		named            string
		status           domain.ExecutionStatus
		open             bool
		source           contract.StatusSource
		ended            domain.Code
		resolve, revokes bool
	}{
		"an idle session":                   {"notes", domain.StatusCompleted, true, contract.FromWorkflow, "", true, true},
		"an agent at work":                  {"", domain.StatusInProgress, false, contract.FromHistory, "", true, true},
		"a session that was closed":         {"notes", domain.StatusCompleted, false, contract.FromHistory, "", false, false},
		"an agent that has ended by itself": {"", domain.StatusCompleted, false, contract.FromHistory, "", true, false},
		"one that the server has ended":     {"", domain.StatusFailed, false, contract.FromServer, domain.CodeTerminated, false, false},
		"one of which a record tells":       {"", domain.StatusCompleted, false, contract.FromRecords, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := account.Status{
				Head:      account.Head{Name: c.named, Open: c.open, Position: account.Position{From: &domain.Origin{}}},
				Execution: account.Execution{Outcome: contract.Outcome{Status: c.status}},
				Server:    account.Server{Source: c.source, Ended: c.ended},
			}
			v.Waits, v.AlwaysAllowed = []domain.Wait{{Kind: domain.WaitOutcome, Tool: "pay"}}, []domain.StandingApproval{{Tool: "pay"}}
			text := StatusText(noTheme(), "notes", v, testNow)
			require.Contains(t, text, "whether pay took effect")
			require.Contains(t, text, "to which it was rewound")
			require.Equal(t, c.status == domain.StatusInProgress || c.open, strings.Contains(text, "the next message goes on from there"))
			require.Equal(t, c.resolve, strings.Contains(text, "resolve notes 00000000"))
			require.Equal(t, c.revokes, strings.Contains(text, "revoke notes 00000000"))
		})
	}
}

// TestTodoIsShown as the model reads it, and cleaned.
// TestUsedUp says of each limit of a session of which nothing is left above what it has to be raised.
func TestUsedUp(t *testing.T) {
	t.Parallel()
	account := domain.Holder{
		Budget: domain.ExecutionBudget{MaxSteps: new(int64(2)), MaxTokens: new(int64(100)), MaxCostNanoUSD: new(int64(1_000_000)), MaxToolCalls: new(int64(1))},
		Spent:  domain.Spent{Steps: 5, Tokens: 99, CostNanoUSD: 1_000_000, ToolCalls: 4},
	}
	require.Equal(t, "the session's max_steps is 2 and 5 are done, and has to be above 5; "+
		"the session's max_cost is $0.001 and $0.001 are spent, and has to be above $0.001", UsedUp(account), "without tool calls a model still answers")
	account.Budget.MaxSteps, account.Budget.MaxCostNanoUSD = new(int64(6)), nil
	require.Empty(t, UsedUp(account))
}

func TestTodoIsShown(t *testing.T) {
	t.Parallel()
	list := []domain.TodoItem{{Text: "look\naround\x1b[2J", Status: "done"}, {Text: "act", Status: "doing"}, {Text: "rest"}}
	for name, text := range map[string]string{
		"status":  StatusText(noTheme(), "notes", account.Status{Head: account.Head{Todo: list}}, testNow),
		"explain": Explanation(Plain(io.Discard), client.ExplainView{Todo: list}, testNow),
	} {
		require.Contains(t, text, "to do     [x] look around", name)
		require.Contains(t, text, "\n            [~] act\n            [ ] rest\n", name)
		require.NotContains(t, text, "\x1b", name)
	}
}

// TestABudgetSaysWhereItsStepsComeFrom: a default that nobody has given, and that there is to be none.
func TestABudgetSaysWhereItsStepsComeFrom(t *testing.T) {
	t.Parallel()
	byDefault := domain.ExecutionBudget{}.WithDefaultSteps()
	left := byDefault.Remaining(domain.Spent{Steps: 3})
	require.Equal(t, "200 steps by default (197 left)", budgetFact(byDefault, left))
	require.Equal(t, "20 steps", budgetFact(domain.ExecutionBudget{MaxSteps: new(int64(20))}, domain.ExecutionBudget{}))
	require.Equal(t, "no limit, not even of steps", budgetFact(domain.Unlimited(), domain.Unlimited()))
	require.Empty(t, budgetFact(domain.ExecutionBudget{}, domain.ExecutionBudget{}), "nothing is known of one")
}
