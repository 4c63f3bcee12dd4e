package domain

import (
	"everstep/domain/enum"
	"math"
	"slices"
	"time"
)

// DefaultMaxSteps are those of an execution for which neither the definition nor whoever begins it says anything.
const DefaultMaxSteps int64 = 200

// A StepsFrom says where max_steps of a budget comes from. It is empty where somebody has given a number, and where
// nobody has said anything.
type StepsFrom string

const (
	// StepsDefault: it is DefaultMaxSteps, as nobody has said anything.
	StepsDefault StepsFrom = "default"
	// StepsNone: somebody has said that steps are not limited. There is no max_steps then, also not the default.
	StepsNone StepsFrom = "none"
)

// UnmarshalText accepts the known words only.
func (f *StepsFrom) UnmarshalText(text []byte) error {
	return enum.Decode(f, text, "max_steps_from", StepsDefault, StepsNone)
}

// WithDefaultSteps returns the budget of an execution that begins with these limits: where they say nothing of max_steps
// it is DefaultMaxSteps. It is not for a sub-agent, which has a share of the steps of the agent that starts it.
func (b ExecutionBudget) WithDefaultSteps() ExecutionBudget {
	if b.MaxSteps == nil && b.MaxStepsFrom != StepsNone {
		b.MaxSteps, b.MaxStepsFrom = new(DefaultMaxSteps), StepsDefault
	}
	return b
}

// Add returns the sum.
func (s Spent) Add(t Spent) Spent {
	s.Seconds += t.Seconds
	return s.each(t, AddCost)
}

// Less returns what is left of it without what another has spent, time aside; nothing where that is more.
func (s Spent) Less(t Spent) Spent {
	return s.each(t, func(own, part int64) int64 { return max(own-part, 0) })
}

// AtMost returns the smaller of both of each limit, time aside.
func (s Spent) AtMost(t Spent) Spent {
	return s.each(t, func(own, most int64) int64 { return min(own, most) })
}

// each combines the whole numbers of both.
func (s Spent) each(t Spent, combined func(own, other int64) int64) Spent {
	others := t.counts()
	for i, own := range s.counts() {
		*own = combined(*own, *others[i])
	}
	return s
}

// ByDefault reports whether nobody has given a limit's total.
func (b ExecutionBudget) ByDefault(limit Limit) bool {
	return limit == LimitSteps && b.MaxStepsFrom == StepsDefault
}

// Spent is what a step used, with its sub-agents, of each limit that steps tell of: of time the execution does.
func (s AgentStep) Spent() (spent Spent) {
	for _, rule := range limitRules[:] {
		if used, counts := rule.spent(&spent).(*int64); counts {
			*used = rule.count(s)
		}
	}
	return spent
}

// MaxBudgetSeconds is the largest max_seconds: what a time.Duration can hold.
const MaxBudgetSeconds = float64(math.MaxInt64 / int64(time.Second))

// Unlimited returns the budget that limits nothing, not even steps: the zero value says nothing of them, and an execution
// that begins with it has DefaultMaxSteps.
func Unlimited() ExecutionBudget { return ExecutionBudget{MaxStepsFrom: StepsNone} }

// IsEmpty reports whether no limit is set.
func (b ExecutionBudget) IsEmpty() bool {
	b.MaxStepsFrom = ""
	return b.IsZero()
}

// IsZero reports whether nothing is said of any limit, not even that there is to be none.
func (b ExecutionBudget) IsZero() bool { return b == ExecutionBudget{} }

// Check says which limit makes no sense, and what to give instead.
func (b ExecutionBudget) Check() error {
	for _, rule := range limitRules[:] {
		total, _ := rule.in(&b)
		year := total.at.UTC().Year() // 1, where it is none
		switch {
		case !(total.seconds >= 0 && total.seconds <= MaxBudgetSeconds): // as NaN is
			return Invalidf("%s: is %v; give a number from 0 to %.0f, or leave it out for no limit", rule.Key, total.seconds, MaxBudgetSeconds)
		case year < 1 || year > 9999:
			return Invalidf("%s: is in the year %d; give a date like 2030-01-31T12:00:00Z", rule.Key, year)
		case total.count < 0:
			return Invalidf("%s: is %v; give zero or more, or leave it out for no limit", rule.Key, total.count)
		}
	}
	if b.MaxStepsFrom == StepsNone && b.MaxSteps != nil {
		return Invalidf("max_steps_from: is none, and max_steps is %d; leave one of them out", *b.MaxSteps)
	}
	if b.MaxStepsFrom == "" {
		return nil
	}
	return CheckWord(b.MaxStepsFrom)
}

// CheckDeadline refuses a budget whose deadline has passed already.
func (b ExecutionBudget) CheckDeadline(now time.Time) error {
	if b.Deadline != nil && !b.Deadline.After(now) {
		return Invalidf("deadline: %s has passed; give one in the future", b.Deadline.Format(time.RFC3339))
	}
	return nil
}

// Remaining returns each set limit less what was used of it, never below zero. The deadline stays.
func (b ExecutionBudget) Remaining(used Spent) ExecutionBudget {
	for rule, left := range b.limits {
		// A negative use counts as none, so that nothing overflows.
		spent := rule.Used(used, time.Time{})
		left.count = max(left.count-max(spent.count, 0), 0)
		left.seconds = max(left.seconds-max(spent.seconds, 0), 0)
		b = rule.With(b, left)
	}
	return b
}

// CappedBy returns the smaller of each limit and the earlier deadline. A limit of steps holds also where the other budget
// says that there is none.
func (b ExecutionBudget) CappedBy(other ExecutionBudget) ExecutionBudget {
	capped := b
	for rule, limit := range other.limits {
		if own, limited := rule.in(&b); !limited || limit.below(own) {
			capped = rule.With(capped, limit)
		}
	}
	// The word that goes with the number that counts, or with there being none.
	for _, from := range []ExecutionBudget{other, b} {
		if from.MaxStepsFrom != "" && same(from.MaxSteps, capped.MaxSteps, func(a, b int64) bool { return a == b }) {
			capped.MaxStepsFrom = from.MaxStepsFrom
		}
	}
	return capped
}

// Extended returns the budget with the totals that are set, which take the place of those before, and without those that are lifted. Totals that say that there
// is to be no max_steps lift it.
func (b ExecutionBudget) Extended(totals ExecutionBudget, lift []Limit) ExecutionBudget {
	if totals.MaxStepsFrom == StepsNone {
		lift = plus(lift, LimitSteps)
	}
	var extended ExecutionBudget
	for _, rule := range limitRules[:] {
		total, set := rule.in(&totals)
		if !set && !slices.Contains(lift, rule.Limit) {
			total, set = rule.in(&b)
		}
		if set {
			extended = rule.With(extended, total)
		}
	}
	switch {
	case totals.MaxSteps != nil:
	case slices.Contains(lift, LimitSteps):
		extended.MaxStepsFrom = StepsNone
	default:
		extended.MaxStepsFrom = b.MaxStepsFrom
	}
	return extended
}

// SameTime reports whether another budget has the same limits of time.
func (b ExecutionBudget) SameTime(other ExecutionBudget) bool {
	seconds := func(a, b float64) bool { return a == b }
	return same(b.MaxSeconds, other.MaxSeconds, seconds) && same(b.Deadline, other.Deadline, time.Time.Equal)
}

func same[T any](a, b *T, equal func(T, T) bool) bool {
	return a == b || a != nil && b != nil && equal(*a, *b)
}

// ExecutionCounts are what an execution has used that its steps do not tell.
type ExecutionCounts struct {
	// ToolCalls are the calls that count against max_tool_calls: those that have begun, and those of sub-agents.
	ToolCalls int64 `json:"tool_calls,omitzero"`
	// Waited is how long it has waited for people, and WaitingSince since when it does so now; zero: it does not.
	Waited       time.Duration `json:"waited,omitzero"`
	WaitingSince time.Time     `json:"waiting_since,omitzero"`
	// Prior is what those have spent of its budget that it extends.
	Prior Spent `json:"prior,omitzero"`
}

// WithCounts returns the state with other counts: those with which a loop takes over an execution.
func (s AgentState) WithCounts(c ExecutionCounts, now time.Time) AgentState {
	if s.Execution.IsZero() {
		return s
	}
	s.Execution.ExecutionCounts = c
	return s.updated(now)
}

// WithToolCalls counts more tool calls; a negative number takes off those that did not begin after all.
func (s AgentState) WithToolCalls(calls int64, now time.Time) AgentState {
	counts := s.Execution.ExecutionCounts
	counts.ToolCalls = max(counts.ToolCalls+calls, 0)
	return s.WithCounts(counts, now)
}

// WithWaiting returns the state of an execution that begins to wait for people,
// or goes on. The time between does not count as spent.
func (s AgentState) WithWaiting(on bool, now time.Time) AgentState {
	counts := s.Execution.ExecutionCounts
	switch waiting := !counts.WaitingSince.IsZero(); {
	case on && !waiting:
		counts.WaitingSince = now
	case !on && waiting:
		counts.Waited, counts.WaitingSince = counts.waited(now), time.Time{}
	}
	return s.WithCounts(counts, now)
}

func (c ExecutionCounts) waited(now time.Time) time.Duration {
	if c.WaitingSince.IsZero() {
		return c.Waited
	}
	return c.Waited + max(now.Sub(c.WaitingSince), 0)
}

// Spent is what counts against the execution's totals: its own, the step in progress included, and what those had spent that
// it goes on from with the same budget. One that was forked or rewound begins at nothing. Time that it has waited for people
// does not count, nor does any after its end.
func (s AgentState) Spent(now time.Time) Spent {
	if s.Execution.IsZero() {
		return Spent{}
	}
	e := s.Execution
	if e.Status.Terminal() {
		now = e.CompletedAt
	}
	own := s.ownSpent()
	own.Seconds = max((now.Sub(e.StartedAt) - e.waited(now)).Seconds(), 0)
	return own.Add(e.Prior)
}

// ownSpent is what the execution itself has used, its time aside.
func (s AgentState) ownSpent() Spent {
	total := s.Execution.total()
	own := total.Spent
	own.Steps = AddCost(own.Steps, total.ChildSteps)
	own.Tokens, own.ToolCalls, own.Seconds = total.Usage.TotalTokens(), s.Execution.ToolCalls, 0
	return own
}

// BudgetLeft is the execution's budget less what was spent; see Spent.
func (s AgentState) BudgetLeft(now time.Time) (ExecutionBudget, bool) {
	budget, ok := s.Budget()
	return budget.Remaining(s.Spent(now)), ok
}
