package kept

import (
	"context"
	"fmt"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// Histories is where the kept histories lie, as the tests of a room see it. They
// are never edited and never replaced by a change of the workflow: what they
// record is running somewhere.
const Histories = "../testdata/histories"

// HistoryHooks are those of the kept histories. They stay as they are for as
// long as a history uses them.
func HistoryHooks() []hook.Hook {
	nudge := hook.BeforeStep("kept-nudge", func(p hook.Point) (hook.Point, error) {
		if p.State.StepCount() > 0 {
			return p, nil
		}
		return p.Say(domain.RoleUser, "Be brief."), nil
	})
	deny := hook.BeforeToolUse("kept-deny", func(c hook.ToolUse) (hook.ToolUse, error) {
		if strings.Contains(c.At.Call.Arguments, "secret") {
			return hook.Block(c, "not that"), nil
		}
		return c, nil
	})
	redact := hook.AfterToolUse("kept-redact", func(c hook.ToolResult) (hook.ToolResult, error) {
		c.At.Execution.Value = strings.ReplaceAll(c.At.Execution.Value, "a", "*")
		return c, nil
	})
	again := hook.AfterStep("kept-again", func(p hook.Point) (hook.Point, error) {
		if step, ok := p.State.CurrentStep(); ok && step.Number == 2 {
			return p.Say(domain.RoleUser, "Say it once more.").Continue(), nil
		}
		return p, nil
	})
	report := hook.IO(domain.TriggerOnStop, "kept-report", func(_ context.Context, r contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{Note: domain.Metadata{"steps": fmt.Append(nil, r.Steps)}}, nil
	})
	audit := hook.IO(domain.TriggerBeforeToolUse, "kept-audit", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{}, nil
	})
	long := hook.BeforeToolUse("kept-long", func(c hook.ToolUse) (hook.ToolUse, error) {
		c.At.Call.Arguments += strings.Repeat(" ", 800_000)
		return c, nil
	})
	return []hook.Hook{nudge, deny, redact, again, report, audit, long}
}
