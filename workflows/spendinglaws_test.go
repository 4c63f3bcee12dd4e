package workflows_test

import (
	"fmt"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// owner is the agent's execution in whose time an execution of it or of a sub-agent ran.
func (s *simulation) owner(id domain.ExecutionID) domain.ExecutionID {
	if s.owners == nil {
		parents := map[string]domain.ExecutionID{}
		for _, told := range s.all() {
			for _, e := range told.Events {
				if spawning, ok := e.Data.(domain.SubagentSpawning); ok {
					parents[domain.WorkflowID(spawning.ChildID.String())] = e.ExecutionID
				}
			}
		}
		s.owners = map[domain.ExecutionID]domain.ExecutionID{}
		for child, told := range s.accounts {
			for _, e := range told.Executions {
				s.owners[e.ExecutionID] = parents[child]
			}
		}
	}
	for {
		parent, below := s.owners[id]
		if !below {
			return id
		}
		id = parent
	}
}

// spent is what providers and tools have counted of an execution with its sub-agents, and certain says that the agent was told all.
func (s *simulation) spent(execution domain.ExecutionID) (spent domain.Spent, certain bool) {
	certain = true
	for _, a := range s.asked {
		if s.owner(a.request.ExecutionID) == execution {
			spent.Tokens += a.used.TotalTokens()
			spent.CostNanoUSD += s.cost(a.used)
			certain = certain && a.heard
		}
	}
	for _, told := range s.all() {
		for _, e := range told.Events {
			if s.owner(e.ExecutionID) == execution && e.Type == domain.EventStepStarted {
				spent.Steps++
			}
		}
	}
	begun := map[domain.ToolExecutionID]bool{}
	for _, one := range s.ran {
		if s.owner(one.request.ExecutionID) == execution && one.begun && !begun[one.request.ID()] && s.verified[one.request.ID()] != domain.VerdictNotDone {
			begun[one.request.ID()] = true
			spent.ToolCalls++
		}
	}
	return spent, certain
}

// cost is in nano-dollars, rounded up for each inference.
func (s *simulation) cost(u domain.Usage) int64 {
	return (u.InputTokens*s.price.Input + u.OutputTokens*s.price.Output + 999_999) / 1_000_000
}

// spendingIsCounted: an execution says that it has used what its providers count, and no less where it could not be told all.
func (s *simulation) spendingIsCounted() error {
	if len(s.terminated) > 0 {
		return nil // of one that was terminated its grant counts, which says nothing where nothing is limited
	}
	for _, e := range s.executions {
		spent, certain := s.spent(e.ExecutionID)
		told := e.Usage.TotalTokens()
		if told < spent.Tokens || certain && !e.Usage.Estimated && told != spent.Tokens {
			return fmt.Errorf("execution %d says that it used %d tokens, and providers count %d", e.Number, told, spent.Tokens)
		}
		if e.CostNanoUSD < spent.CostNanoUSD || certain && !e.Usage.Estimated && e.CostNanoUSD != spent.CostNanoUSD {
			return fmt.Errorf("execution %d says that it cost %d nano-dollars, and providers count %d", e.Number, e.CostNanoUSD, spent.CostNanoUSD)
		}
	}
	return nil
}

// highest are the most that the limits of an execution ever were.
func (s *simulation) highest(e account.Execution) domain.ExecutionBudget {
	b := s.input.Definition.Budget
	for _, w := range s.requests {
		if reply, ok := w.value.(contract.ExtendReply); ok && w.taken() && reply.ExecutionID == e.ExecutionID {
			b = higher(b, reply.Budget)
		}
	}
	return b
}

// higher has of each limit the higher total.
func higher(b, other domain.ExecutionBudget) domain.ExecutionBudget {
	for _, rule := range domain.LimitRules() {
		one, limited := rule.Total(b)
		two, still := rule.Total(other)
		if limited && still && two.Int() > one.Int() {
			b = b.Raised(rule.Limit, two.Int()-one.Int())
		}
	}
	return b
}

// treesKeepToLimits: what an execution uses, with its sub-agents and with the executions that it goes on from, is within its limits.
func (s *simulation) treesKeepToLimits() error {
	for _, e := range s.executions {
		limits, used := s.highest(e), domain.Spent{}
		chain := []domain.ExecutionID{e.ExecutionID}
		for origin := e.Origin; origin != nil && origin.AgentID.IsZero(); origin = origin.Origin {
			chain = append(chain, origin.ExecutionID)
		}
		for _, id := range chain {
			spent, _ := s.spent(id)
			used = used.Add(spent)
		}
		if what := beyond(limits, s.excused(used, chain)); what != "" {
			return fmt.Errorf("execution %d: %s", e.Number, what)
		}
	}
	return nil
}

// excused leaves out what the newest inference of some executions has taken, where a provider may count more than was estimated:
// before it nothing was exceeded.
func (s *simulation) excused(used domain.Spent, executions []domain.ExecutionID) domain.Spent {
	for i := len(s.asked) - 1; i >= 0 && s.lies; i-- {
		if a := s.asked[i]; slices.Contains(executions, a.request.ExecutionID) && !a.used.IsZero() {
			used.Tokens -= a.used.TotalTokens()
			used.CostNanoUSD -= s.cost(a.used)
			break
		}
	}
	return used
}

func beyond(limits domain.ExecutionBudget, used domain.Spent) string {
	for _, rule := range domain.LimitRules() {
		if total, set := rule.Total(limits); set && rule.Limit != domain.LimitSeconds && rule.Used(used, time.Time{}).Int() > total.Int() {
			return fmt.Sprintf("%s is %v, and %v are used", rule.Limit, total, rule.Used(used, time.Time{}))
		}
	}
	return ""
}

func (s *simulation) sessionsKeepToTotals() error {
	totals, used := s.input.Definition.SessionBudget, domain.Spent{}
	for _, w := range s.requests {
		if reply, ok := w.value.(contract.ExtendSessionReply); ok && w.taken() {
			totals = higher(totals, reply.Account.Budget)
		}
	}
	var all []domain.ExecutionID
	for _, e := range s.executions {
		spent, _ := s.spent(e.ExecutionID)
		used, all = used.Add(spent), append(all, e.ExecutionID)
	}
	if what := beyond(totals, s.excused(used, all)); what != "" {
		return fmt.Errorf("the session: %s", what)
	}
	return nil
}
