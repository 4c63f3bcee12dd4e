package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/hook"
)

// watcherAttempts is how many workers a hook may lose.
const watcherAttempts = 12

// WatchHook names the hook of the proof at a trigger that is an activity. It
// writes its effect into the ledger.
func WatchHook(trigger domain.Trigger) string { return "watch_" + string(trigger) }

// watcher is a hook that is an activity: it writes its effect into the ledger
// and then says what it wants done. What it says follows from its request
// alone, so that it says the same when it runs again.
func (p plan) watcher(trigger domain.Trigger) hook.Hook {
	h := hook.IO(trigger, WatchHook(trigger), func(ctx context.Context, r domain.HookRequest) (domain.HookReply, error) {
		at := placed(ctx)
		at.Hook, at.Boundary = hookKey(r), domain.BeforeHook
		p.ask(at)
		if err := enter(p.Ledger, effect{Hook: at.Hook, WorkflowID: at.WorkflowID, Step: r.Step}); err != nil {
			return domain.HookReply{}, err
		}
		at.Boundary = domain.AfterHook
		p.ask(at)
		return watched(r), nil
	})
	h.Timeout, h.Attempts = time.Minute, watcherAttempts
	return h
}

// hookKey names one run of a hook in an agent's life, its attempts aside, and is
// the same in every run of the agent. Where a model repeats the id of a call
// within a step, as real ones do, several runs have one key.
func hookKey(r domain.HookRequest) string {
	key := fmt.Sprintf("%d/%d/%s", r.Number, r.Steps, r.Hook.Trigger)
	switch {
	case r.Call != nil:
		key += "/" + r.Call.ID
	case r.Result != nil:
		key += "/" + r.Result.Call.ID
	}
	return key
}

// watched is what a watcher wants done.
func watched(r domain.HookRequest) domain.HookReply {
	var reply domain.HookReply
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
