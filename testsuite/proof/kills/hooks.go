package kills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/domain/hook"
)

// SteerHook names the hook that does at every trigger what a function can do.
const SteerHook = "steer"

// fallHook fails before one step of an execution that goes on from none, after so
// many steps.
const (
	fallHook  = "fall"
	fallAfter = 6
)

// The words at which hooks act.
const (
	wordSecret    = "hunter2"   // of an answer: redacted
	wordDraft     = "draft"     // of an answer: it becomes final
	wordPlanB     = "plan b"    // of a call: another one is made
	wordForbidden = "forbidden" // of a call: a function blocks it
	wordRefused   = "refused"   // of a call: an activity blocks it
	wordLengthy   = "lengthy"   // of a result: a function shortens it
	wordVerbose   = "verbose"   // of a result: an activity shortens it
	planB         = "plan a, as the hook wants it"
	redacted      = "[redacted]"
)

// hooks are those of every worker of the kills. Agents list what they use.
func (p WorkerPlan) hooks() []hook.Hook {
	all := []hook.Hook{
		hook.BeforeExecution(SteerHook, p.announce),
		hook.BeforeStep(SteerHook, pace),
		hook.BeforeInference(SteerHook, func(c hook.Inference) (hook.Inference, error) {
			c.At.MaxOutputTokens = 2000
			return c, nil
		}),
		hook.AfterInference(SteerHook, polish),
		hook.BeforeToolUse(SteerHook, vet),
		hook.AfterToolUse(SteerHook, abridge),
		hook.AfterStep(SteerHook, insist),
		hook.OnError(SteerHook, func(c hook.Error) (hook.Error, error) { return c.Note("failure", c.At.Error.Code) }),
		hook.OnStop(SteerHook, func(c hook.Point) (hook.Point, error) {
			reason, _ := c.State.StopReason()
			return c.Say(domain.RoleUser, fmt.Sprintf("(%d steps; %s)", c.State.StepCount(), reason)), nil
		}),
		hook.AfterExecution(SteerHook, func(c hook.Point) (hook.Point, error) {
			return c.Note(fmt.Sprintf("tally_%d", c.State.ExecutionCount), c.State.StepCount())
		}),
		hook.BeforeStep(fallHook, fall),
	}
	for _, trigger := range enum.Known[domain.Trigger]() {
		all = append(all, p.watcher(trigger))
	}
	return all
}

// announce says that an execution begins, and tells the runner where it
// goes on from another one. Where its worker dies it tells that again.
func (p WorkerPlan) announce(c hook.Point) (hook.Point, error) {
	words := "begins"
	if c.State.Execution.Origin != nil {
		words = "goes on"
		p.ask(hit{PID: os.Getpid(), Boundary: contract.GoingOn, AgentID: c.State.AgentID, ExecutionID: c.State.Execution.ID})
	}
	return c.Say(domain.RoleUser, fmt.Sprintf("Execution %d %s.", c.State.ExecutionCount, words)), nil
}

// pace says something before every fourth step, and notes how far it is.
func pace(c hook.Point) (hook.Point, error) {
	steps := c.State.StepCount()
	if steps%4 == 3 {
		c = c.Say(domain.RoleUser, fmt.Sprintf("%d steps are done.", steps))
	}
	return c.Note("steps", steps)
}

// polish replaces what an answer must not or need not say.
func polish(c hook.Reply) (hook.Reply, error) {
	c.At.Message.Parts = slices.Clone(c.At.Message.Parts)
	for i, part := range c.At.Message.Parts {
		c.At.Message.Parts[i].Text = strings.NewReplacer(wordSecret, redacted, wordDraft, "final").Replace(part.Text)
	}
	return c, nil
}

// vet blocks a call or makes another one of it.
func vet(c hook.ToolUse) (hook.ToolUse, error) {
	if strings.Contains(c.At.Call.Arguments, wordForbidden) {
		return hook.Block(c, "It is "+wordForbidden+"."), nil
	}
	c.At.Call.Arguments = strings.ReplaceAll(c.At.Call.Arguments, wordPlanB, planB)
	return c, nil
}

func abridge(c hook.ToolResult) (hook.ToolResult, error) {
	if x := &c.At.Execution; x.Error == nil && strings.Contains(x.Value, wordLengthy) {
		x.Value = domain.Shorten(x.Value, 60)
	}
	return c, nil
}

// insist has an agent go on that says it is not done, over its own request to stop.
func insist(c hook.Point) (hook.Point, error) {
	step, ok := c.State.CurrentStepOrLast()
	if !ok || step.Type() != domain.StepFinalResponse {
		return c, nil
	}
	at := slices.IndexFunc(step.Output, func(m domain.Message) bool { return m.Role == domain.RoleAssistant })
	var said struct {
		Done *bool `json:"done"`
	}
	if at < 0 || json.Unmarshal([]byte(step.Output[at].Text()), &said) != nil || said.Done == nil || *said.Done {
		return c, nil
	}
	return c.Say(domain.RoleUser, "You are not done.").Stop("it gives up").Continue(), nil
}

func fall(c hook.Point) (hook.Point, error) {
	if c.State.Execution.Origin == nil && c.State.StepCount() == fallAfter {
		return c, errors.New("it falls, once")
	}
	return c, nil
}

// watcherAttempts is how many workers a hook may lose.
const watcherAttempts = 12

// WatchHook names the hook at a trigger that is an activity.
func WatchHook(trigger domain.Trigger) string { return "watch_" + string(trigger) }

// watcher writes its effect into the ledger and then says what it wants done,
// which follows from its request alone, so that it is the same again.
func (p WorkerPlan) watcher(trigger domain.Trigger) hook.Hook {
	h := hook.IO(trigger, WatchHook(trigger), func(ctx context.Context, r contract.HookRequest) (contract.HookReply, error) {
		at := placed(ctx)
		at.Hook, at.Boundary = hookKey(r), contract.BeforeHook
		p.ask(at)
		if err := enter(p.Ledgers, at.WorkflowID, effect{Hook: at.Hook}); err != nil {
			return contract.HookReply{}, err
		}
		at.Boundary = contract.AfterHook
		p.ask(at)
		return watched(r), nil
	})
	h.Timeout, h.Attempts = time.Minute, watcherAttempts
	return h
}

// hookKey names one run of a hook in an agent's life, attempts aside. Where a model
// repeats the id of a call within a step, as real ones do, several have one key.
func hookKey(r contract.HookRequest) string {
	key := fmt.Sprintf("%d/%d/%s", r.Number, r.Steps, r.Hook.Trigger)
	switch {
	case r.Call != nil:
		key += "/" + r.Call.ID
	case r.Result != nil:
		key += "/" + r.Result.Call.ID
	}
	return key
}

func watched(r contract.HookRequest) contract.HookReply {
	var reply contract.HookReply
	switch r.Hook.Trigger {
	case domain.TriggerBeforeToolUse:
		if strings.Contains(r.Call.Arguments, wordRefused) {
			reply.Block = "It is " + wordRefused + "."
		}
	case domain.TriggerAfterToolUse:
		if r.Result.Error == nil && strings.Contains(r.Result.Value, wordVerbose) {
			reply.Content = new(domain.Shorten(r.Result.Value, 60))
		}
	case domain.TriggerAfterInference:
		if text := r.Answer.Text(); strings.Contains(text, wordSecret) {
			answer := *r.Answer
			answer.Parts = []domain.Part{{Type: domain.PartText, Text: strings.ReplaceAll(text, wordSecret, redacted)}}
			reply.Answer = &answer
		}
	case domain.TriggerAfterStep:
		if r.Steps%5 == 4 {
			reply.Say = []domain.Message{domain.UserMessage(fmt.Sprintf("Seen: %d steps before this one.", r.Steps))}
		}
	case domain.TriggerBeforeExecution, domain.TriggerBeforeStep, domain.TriggerBeforeInference,
		domain.TriggerOnError, domain.TriggerOnStop, domain.TriggerAfterExecution:
		reply.Note = domain.Metadata{WatchHook(r.Hook.Trigger): json.RawMessage(fmt.Sprint(r.Steps))}
	}
	return reply
}
