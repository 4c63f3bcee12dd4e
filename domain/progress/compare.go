package progress

import (
	"fmt"
	"reflect"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// Compare holds what facts tell of an execution against the steps that the
// execution itself has kept, and says each difference in words. Left out is what
// a history cannot tell: what hooks made of answers, calls and results, steps that
// asked for nothing, calls never begun, and whether a stop kept a call from that, or
// came while one that did nothing waited for another try.
func (e Execution) Compare(hooks []contract.HookSpec, kept []domain.StepExecution) []string {
	c := comparison{hooked: map[domain.Trigger]bool{}}
	for _, h := range hooks {
		c.hooked[h.Trigger] = true
	}
	told := map[int]Step{}
	steps, _ := e.Steps(false)
	for _, s := range steps {
		told[s.Number] = s
	}
	for _, k := range kept {
		c.step = k.Step.Number
		s, ok := told[c.step]
		delete(told, c.step)
		switch {
		case ok:
			c.compare(s, k.Step)
		case !k.Step.Usage.IsZero() || len(k.Step.ToolExecutions) > 0 || k.Step.Response != nil:
			c.differ("the step", "nothing", "a step")
		}
	}
	for n := range told {
		c.step = n
		c.differ("the step", "a step", "nothing")
	}
	slices.Sort(c.found)
	return c.found
}

type comparison struct {
	hooked map[domain.Trigger]bool
	step   int
	found  []string
}

func (c *comparison) differ(what string, told, kept any) {
	c.found = append(c.found, fmt.Sprintf("step %d: %s: history tells %v, the execution has kept %v", c.step, what, told, kept))
}

func (c *comparison) same(what string, told, kept any) {
	if !reflect.DeepEqual(told, kept) {
		c.differ(what, told, kept)
	}
}

func (c *comparison) compare(told Step, kept domain.AgentStep) {
	c.same("usage", told.Usage, kept.Usage)
	c.same("lost usage", told.Lost, kept.Lost)
	c.same("cost", [2]int64{told.CostNanoUSD, told.LostNanoUSD}, [2]int64{kept.CostNanoUSD, kept.LostNanoUSD})
	c.same("tries", told.Tries, kept.Tries)
	if c.hooked[domain.TriggerAfterInference] {
		return
	}
	idle := func(t domain.ToolExecution) bool { return t.NotStarted || t.StartedAt.IsZero() && notRun(t) }
	if kept.Interrupted != told.Interrupted && slices.ContainsFunc(kept.ToolExecutions, idle) {
		told, kept = told.surelyCutOff(), Step{AgentStep: kept}.surelyCutOff().AgentStep
	}
	c.same("interrupted", told.Interrupted, kept.Interrupted)
	if !slices.Equal(told.Errors, kept.Errors) {
		c.differ("errors", told.Errors, kept.Errors)
	}
	c.same("response", told.Response, kept.Response)
	c.same("calls", len(told.ToolExecutions), len(kept.ToolExecutions))
	for i := range min(len(told.ToolExecutions), len(kept.ToolExecutions)) {
		c.call(told.ToolExecutions[i], kept.ToolExecutions[i])
	}
}

// surelyCutOff is the step as one whose calls a stop cut off.
func (s Step) surelyCutOff() Step {
	if s.Interrupted {
		return s
	}
	return s.cutOff(CutOff{By: StopInTools})
}

func notRun(t domain.ToolExecution) bool { return t.Error != nil && t.Error.Code == domain.CodeNotRun }

func (c *comparison) call(told, kept domain.ToolExecution) {
	begun := !kept.StartedAt.IsZero()
	neither := notRun(told) && notRun(kept)
	if !neither {
		c.same("begun "+kept.ID.String(), !told.StartedAt.IsZero(), begun)
	}
	unasked := neither && told.StartedAt.IsZero() // no worker was asked for it, so that none could say why
	if !begun || unasked || c.hooked[domain.TriggerAfterToolUse] {
		return
	}
	// A step is shown with its longest texts cut.
	if domain.LeftOf(kept.Call.Arguments, told.Call.Arguments) {
		kept.Call.Arguments = told.Call.Arguments
	}
	if domain.LeftOf(kept.Value, told.Value) {
		kept.Value = told.Value
	}
	c.same("call "+kept.ID.String(), told.Call, kept.Call)
	c.same("value of "+kept.ID.String(), told.Value, kept.Value)
	c.same("approval of "+kept.ID.String(), spoken(told.Approval), spoken(kept.Approval))
	c.same("answer of "+kept.ID.String(), heard(told.Answer), heard(kept.Answer))
	c.same("error of "+kept.ID.String(), told.Error, kept.Error)
	if kept.Attempts > 0 {
		c.same("attempts of "+kept.ID.String(), told.Attempts, kept.Attempts)
	}
}

// spoken is an approval as far as a memo and somebody's word tell it.
func spoken(a domain.Approval) domain.Approval {
	return domain.Approval{Decision: a.Decision, By: a.By, Reason: a.Reason, Standing: a.Standing, Edited: a.Edited, Asked: a.Asked}
}

// heard is an answer as far as a memo and somebody's word tell it.
func heard(a domain.Answer) domain.Answer {
	return domain.Answer{Outcome: a.Outcome, By: a.By, Reason: a.Reason}
}
