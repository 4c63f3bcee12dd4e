package progress

import (
	"fmt"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// Compare holds what facts tell of an execution against the steps that the
// execution itself has kept, and says each difference in words. What a history
// cannot tell is left out: what hooks have made of answers, calls and results,
// steps that asked for nothing, calls that were never begun, and whether a stop
// came while a call that did nothing waited for another try.
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

// A comparison collects differences.
type comparison struct {
	hooked map[domain.Trigger]bool
	step   int
	found  []string
}

func (c *comparison) differ(what string, told, kept any) {
	c.found = append(c.found, fmt.Sprintf("step %d: %s: history tells %v, the execution has kept %v", c.step, what, told, kept))
}

func (c *comparison) compare(told Step, kept domain.AgentStep) {
	if told.Usage != kept.Usage {
		c.differ("usage", told.Usage, kept.Usage)
	}
	if told.Lost != kept.Lost {
		c.differ("lost usage", told.Lost, kept.Lost)
	}
	if told.CostNanoUSD != kept.CostNanoUSD || told.LostNanoUSD != kept.LostNanoUSD {
		c.differ("cost", []int64{told.CostNanoUSD, told.LostNanoUSD}, []int64{kept.CostNanoUSD, kept.LostNanoUSD})
	}
	if told.Tries != kept.Tries {
		c.differ("tries", told.Tries, kept.Tries)
	}
	if c.hooked[domain.TriggerAfterInference] {
		return
	}
	if kept.Interrupted && !told.Interrupted && slices.ContainsFunc(kept.ToolExecutions, func(t domain.ToolExecution) bool { return t.NotStarted }) {
		told = told.cutOff(CutOff{By: StopInTools})
	}
	if told.Interrupted != kept.Interrupted {
		c.differ("interrupted", told.Interrupted, kept.Interrupted)
	}
	if !slices.Equal(told.Errors, kept.Errors) {
		c.differ("errors", told.Errors, kept.Errors)
	}
	if (told.Response == nil) != (kept.Response == nil) || told.Response != nil && *told.Response != *kept.Response {
		c.differ("response", told.Response, kept.Response)
	}
	if len(told.ToolExecutions) != len(kept.ToolExecutions) {
		c.differ("calls", len(told.ToolExecutions), len(kept.ToolExecutions))
		return
	}
	for i, t := range told.ToolExecutions {
		c.call(t, kept.ToolExecutions[i])
	}
}

func (c *comparison) call(told, kept domain.ToolExecution) {
	begun := !kept.StartedAt.IsZero()
	if told.StartedAt.IsZero() == begun && (told.Error == nil || told.Error.Code != domain.CodeNotRun || kept.Error == nil || kept.Error.Code != domain.CodeNotRun) {
		c.differ(fmt.Sprintf("begun %s", kept.ID), !told.StartedAt.IsZero(), begun)
	}
	if !begun || c.hooked[domain.TriggerAfterToolUse] {
		return
	}
	if told.Call != kept.Call {
		c.differ(fmt.Sprintf("call %s", kept.ID), told.Call, kept.Call)
	}
	if told.Value != kept.Value {
		c.differ(fmt.Sprintf("value of %s", kept.ID), told.Value, kept.Value)
	}
	if (told.Error == nil) != (kept.Error == nil) || told.Error != nil && *told.Error != *kept.Error {
		c.differ(fmt.Sprintf("error of %s", kept.ID), told.Error, kept.Error)
	}
	if kept.Attempts > 0 && told.Attempts != kept.Attempts {
		c.differ(fmt.Sprintf("attempts of %s", kept.ID), told.Attempts, kept.Attempts)
	}
}
