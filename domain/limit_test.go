package domain_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestLimitTable holds the table against what it speaks of: each field of a
// budget and of what is spent has its row, and each row all that it needs.
func TestLimitTable(t *testing.T) {
	t.Parallel()
	rules := domain.LimitRules()
	limits, keys := []domain.Limit{}, []string{}
	for i, rule := range rules {
		limits, keys = append(limits, rule.Limit), append(keys, rule.Key)
		require.NotEmpty(t, rule.Noun, rule.Limit)
		require.NotEmpty(t, rule.Done, rule.Limit)
		require.NotEmpty(t, rule.Help, rule.Limit)
		require.True(t, rule.Reason.WasForceStopped() && rule.Reason.OfLimit(), "%s: an execution that reaches a limit was stopped", rule.Limit)
		require.NoError(t, new(domain.Unit).UnmarshalText([]byte(rule.Unit)))
		if i > 0 {
			require.LessOrEqual(t, rules[i-1].Reason.Priority(), rule.Reason.Priority(), "the table is in the order of priority")
		}
	}
	require.Equal(t, domain.Limits(), limits)
	require.ElementsMatch(t, jsonKeys(reflect.TypeFor[domain.ExecutionBudget]()), append(keys, "max_steps_from"), "each limit of a budget has a row in LimitRules")
	require.Len(t, jsonKeys(reflect.TypeFor[domain.Spent]()), len(rules)-1, "of each limit but the deadline something is spent")
	all := spentOfAll(1)
	require.Equal(t, spentOfAll(2), all.Add(all), "Spent.Add leaves a field out, so its limit would not hold over executions")
	for i := range reflect.TypeFor[domain.Spent]().NumField() {
		var one domain.Spent
		reflect.ValueOf(&one).Elem().Field(i).Set(reflect.ValueOf(all).Field(i))
		of := slices.DeleteFunc(domain.LimitRules(), func(rule domain.LimitRule) bool {
			return rule.Unit == domain.UnitTime || rule.Used(one, noon).Int() == 0
		})
		require.Len(t, of, 1, "%+v is used of one limit", one)
		if of[0].Unit != domain.UnitMilliseconds {
			require.Zero(t, one.Less(one), "Spent.Less leaves a field out")
		}
		reflect.ValueOf(&one).Elem().Field(i).Set(reflect.ValueOf(spentOfAll(-1)).Field(i))
		require.Error(t, domain.CheckRecorded(one), "%+v is negative", one)
	}
}

// spentOfAll has spent so much of each limit.
func spentOfAll(n int) (spent domain.Spent) {
	for _, field := range reflect.ValueOf(&spent).Elem().Fields() {
		field.Set(reflect.ValueOf(n).Convert(field.Type()))
	}
	return spent
}

// TestEachLimitIsCounted: an execution spends of each limit, the same whether its step is in progress, completed or
// folded, and one that goes on from it has that spent already.
func TestEachLimitIsCounted(t *testing.T) {
	t.Parallel()
	running := must(begunState().WithStepStarted(executionID(1).Step(1), after(1)))
	step := toolStep(executionID(1), 1)
	step.ToolExecutions[1] = domain.ToolExecution{StartedAt: after(1), CompletedAt: after(2), Error: domain.Invalidf("no such file")}
	running = must(running.WithCurrentStep(step, after(2))).WithToolCalls(3, after(2))
	completed := must(running.WithCurrentStepCompleted(after(3)))
	ended := must(completed.WithExecutionCompleted(after(9)))
	next := must(ended.BeginExecution(executionID(2), domain.Unlimited(), after(99)))
	next = next.WithCounts(domain.ExecutionCounts{Prior: ended.Spent(after(99))}, after(99))
	for _, rule := range domain.LimitRules() {
		if rule.Unit == domain.UnitTime {
			continue // nothing is spent of a deadline
		}
		used := rule.Used(running.Spent(after(9)), after(9))
		require.Positive(t, used.Int(), "nobody counts for %s: AgentStep.Spent does, of what this step does", rule.Limit)
		for name, s := range map[string]domain.AgentState{
			"completed": completed, "folded": completed.WithStepsFolded(0), "ended": ended, "decoded": decodedState(t, completed.WithStepsFolded(0)),
		} {
			require.Equal(t, used, rule.Used(s.Spent(after(9)), after(9)), "%s, %s", rule.Limit, name)
		}
		require.Equal(t, used, rule.Used(next.Spent(after(99)), after(99)), "%s, going on", rule.Limit)
	}
}

func decodedState(t *testing.T, s domain.AgentState) domain.AgentState {
	t.Helper()
	data, err := s.EncodeFull()
	require.NoError(t, err)
	return must(domain.DecodeAgentState(data))
}

// TestEachLimitHolds gives each limit alone, and spends it.
func TestEachLimitHolds(t *testing.T) {
	t.Parallel()
	now, spent := after(7), spentOfAll(7)
	seen := map[string]domain.Limit{}
	for _, rule := range domain.LimitRules() {
		t.Run(string(rule.Limit), func(t *testing.T) {
			total := someTotal(rule, 7)
			_, limited := rule.Total(domain.Unlimited())
			require.False(t, limited)
			budget := rule.With(domain.Unlimited(), total)
			got, limited := rule.Total(budget)
			require.True(t, limited)
			require.Equal(t, total, got)
			encoded, err := json.Marshal(budget)
			require.NoError(t, err)
			require.Contains(t, string(encoded), `"`+rule.Key+`":`)
			require.NotContains(t, seen, string(encoded), "two rows share a field")
			seen[string(encoded)] = rule.Limit

			use, reached := ledger(budget, spent).Reached(now)
			require.Equal(t, rule.Exhausts, reached)
			if reached {
				require.Equal(t, rule.Limit, use.Rule.Limit)
				require.Equal(t, rule.Reason, use.Rule.Reason)
			}
			require.False(t, budget.IsEmpty())
			require.Equal(t, rule.Exhausts, exhausted(rule.With(domain.Unlimited(), someTotal(rule, 0)), domain.Spent{}, now), "a limit of nothing")
			_, reached = ledger(budget, domain.Spent{}).Reached(now.Add(-time.Second))
			require.False(t, reached, "with nothing spent there is all left")

			use, limited = ledger(budget, spent).UseOf(rule.Limit, now)
			require.True(t, limited)
			require.Equal(t, total, use.Total)
			require.Equal(t, total, use.Used)
			for _, signal := range []domain.StopSignal{use.ReachedSignal(), use.TimeOverSignal(), use.TooShortSignal(5), use.DeniedSignal(3)} {
				require.Equal(t, rule.Reason, signal.Reason)
				require.Equal(t, use.GoOn(), signal.GoOn())
				require.JSONEq(t, `"`+string(rule.Limit)+`"`, string(signal.Context["limit"]))
				require.JSONEq(t, string(signal.Context["total"]), string(signal.Context["used"]))
			}

			lifted := budget.Extended(domain.Unlimited(), []domain.Limit{rule.Limit})
			require.True(t, lifted.IsEmpty())
			require.Equal(t, budget, domain.Unlimited().Extended(budget, nil))
			require.Equal(t, budget, domain.Unlimited().CappedBy(budget))
			if rule.Unit != domain.UnitTime {
				left, _ := rule.Total(budget.Remaining(spent))
				require.Zero(t, left.Int()+int64(left.Seconds()))
			}
		})
	}
}

func TestLimitSentences(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	budget := domain.ExecutionBudget{
		MaxSteps: new(int64(3)), MaxTokens: new(int64(100)), MaxSeconds: new(1.5), MaxCostNanoUSD: new(int64(500_000_000)),
		Deadline: &at, MaxToolCalls: new(int64(2)),
	}
	spent := domain.Spent{Steps: 3, Tokens: 120, Seconds: 1.62, CostNanoUSD: 510_000_000, ToolCalls: 1}
	said := func(limit domain.Limit, signal func(domain.LimitUse) domain.StopSignal) string {
		use, limited := ledger(budget, spent).UseOf(limit, at)
		require.True(t, limited)
		return signal(use).Message
	}
	reached := domain.LimitUse.ReachedSignal
	require.Equal(t, "max_steps is 3 and 3 are done", said(domain.LimitSteps, reached))
	require.Equal(t, "max_tokens is 100 and 120 are used", said(domain.LimitTokens, reached))
	require.Equal(t, "max_cost is $0.5 and $0.51 are spent", said(domain.LimitCost, reached))
	require.Equal(t, "max_seconds is 1.5 and 1.6 are used", said(domain.LimitSeconds, reached))
	require.Equal(t, "the deadline has passed", said(domain.LimitDeadline, reached))
	require.Equal(t, "max_seconds is 1.5 and they are over", said(domain.LimitSeconds, domain.LimitUse.TimeOverSignal))
	require.Equal(t, "the deadline 2026-01-31T12:00:00Z has passed", said(domain.LimitDeadline, domain.LimitUse.TimeOverSignal))
	require.Equal(t, "max_cost is $0.5, $0.51 are spent, and the next inference is estimated to read 40 tokens",
		said(domain.LimitCost, func(u domain.LimitUse) domain.StopSignal { return u.TooShortSignal(40) }))
	require.Equal(t, "max_tool_calls is 2, 1 were used before this step, and the model asked for 3 more",
		said(domain.LimitToolCalls, func(u domain.LimitUse) domain.StopSignal { return u.DeniedSignal(3) }))
	spent.Steps = domain.DefaultMaxSteps
	steps, limited := ledger(domain.ExecutionBudget{}.WithDefaultSteps(), spent).UseOf(domain.LimitSteps, at)
	require.True(t, limited)
	signal := steps.ReachedSignal()
	require.Equal(t, "max_steps is 200, the default, and 200 are done", signal.Message)
	require.JSONEq(t, "true", string(signal.Context["default"]))
	use, _ := ledger(budget, spent).UseOf(domain.LimitSeconds, at)
	context, err := json.Marshal(use.ReachedSignal().Context)
	require.NoError(t, err)
	require.JSONEq(t, `{"limit":"max_seconds","unit":"milliseconds","used":1620,"total":1500}`, string(context))
}

// jsonKeys are the names of a struct's fields in JSON.
func jsonKeys(of reflect.Type) []string {
	var keys []string
	for i := range of.NumField() {
		key, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		keys = append(keys, key)
	}
	return keys
}
