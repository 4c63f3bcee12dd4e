package chaos

import (
	"encoding/json"
	"fmt"
	"strings"

	"everstep/domain"
)

// Whole are agents with all that an agent can have: hooks at every trigger,
// guards, answers that have to fit a schema, a bound of money, a small window,
// and executions that go on from one that stopped or failed.
//
// The one that takes notes is in an open session and stops at its steps first;
// its conversation is summed up several times. The one that pays falls first and
// goes on in another workflow. It is never summed up: how much an unknown
// outcome takes of the window is another thing than what its result would.
func Whole() []Agent {
	note, pay := Tool{noteTool, domain.Idempotent}, Tool{payTool, domain.AtMostOnce}
	return []Agent{
		{
			Name: "whole-notes", Script: wholeNotesScript(), Tools: []Tool{note}, System: "You take notes.",
			Definition: whole(domain.OutputNative, wholeWindow, SteerHook,
				WatchHook(domain.TriggerBeforeStep), WatchHook(domain.TriggerAfterInference), WatchHook(domain.TriggerBeforeToolUse)),
			Executions: []Execution{{Prompt: "Take notes.", MaxSteps: 9}, {GoesOn: true}, {Prompt: "And take some more."}},
		},
		{
			Name: "whole-payments", Script: wholePaymentsScript(), Tools: []Tool{pay, note}, System: "You pay bills.",
			Definition: whole(domain.OutputTool, 0, SteerHook, fallHook,
				WatchHook(domain.TriggerBeforeExecution), WatchHook(domain.TriggerBeforeInference), WatchHook(domain.TriggerAfterToolUse),
				WatchHook(domain.TriggerAfterStep), WatchHook(domain.TriggerOnError), WatchHook(domain.TriggerOnStop),
				WatchHook(domain.TriggerAfterExecution)),
			Executions: []Execution{{Prompt: "Pay the bills."}, {GoesOn: true}},
		},
	}
}

// wholeWindow is small enough to sum up several times.
const wholeWindow = 4400

// whole is the definition of an agent with all that one can have. The bound of
// money is never reached; it has every call reserved for.
func whole(mode domain.OutputMode, window int64, hooks ...string) domain.Definition {
	const dollar = 1_000_000_000
	return domain.Definition{
		Model: domain.LLMConfig{ContextWindow: window, Price: &domain.Price{Input: dollar, Output: 4 * dollar}},
		Hooks: hooks,
		Guards: domain.Guards{
			FinishReasons: []domain.FinishReason{domain.FinishOther},
			Repetition:    &domain.Repetition{Nudge: 2, Stop: 4},
			OutputRetries: new(2),
		},
		Budget: domain.ExecutionBudget{MaxCostNanoUSD: new(int64(5 * dollar))},
		Format: domain.ResponseFormat{
			Type: domain.FormatSchema, Name: "report", Mode: mode,
			Schema: json.RawMessage(`{"type":"object","properties":{"done":{"type":"boolean"},"stage":{"type":"string","enum":["final"]}},"required":["done","stage"],"additionalProperties":false}`),
		},
		Compaction: domain.Compaction{Off: window == 0},
	}
}

// ending are the answers at the end: one over which a guard, a hook and a
// request to go on disagree, one that does not fit the schema, and one that a
// hook mends.
func ending() []scriptTurn {
	disputed := answerOf(map[string]any{"done": false, "stage": "final"})
	disputed.Finish = domain.FinishOther
	return []scriptTurn{
		disputed, answerOf(map[string]any{"done": "nearly"}), answerOf(map[string]any{"done": true, "stage": wordDraft}),
	}
}

func answerOf(value map[string]any) scriptTurn {
	turn := turnOf("")
	turn.JSON = value
	return turn
}

// wholeNotesScript has its notes fill the window, meets every word at which a
// hook acts, and makes the same call twice.
func wholeNotesScript() []byte {
	words := map[int]string{1: wordLengthy, 2: wordForbidden, 4: wordPlanB, 6: wordRefused, 9: wordForbidden, 11: wordLengthy}
	var turns []scriptTurn
	for part, steps := range []int{14, 8} {
		for k := range steps {
			var calls []scriptCall
			for position := range parallel(k) {
				text := fmt.Sprintf("part %d, step %d, note %d", part+1, k+1, position+1)
				if position == 0 && words[k] != "" {
					text += " " + words[k]
				}
				call := noteOf(text, 20+50*position, "")
				if call.Arguments["pages"] = 90; k%8 == 3 && position == 1 {
					call.Arguments["filler"] = strings.Repeat("long ", domain.MaxInlineArguments/4)
				}
				calls = append(calls, call)
			}
			text := fmt.Sprintf(`Step %d of part %d, %s. {{ with results "note" }}Notes in sight: from {{ printf "%%.40s" (first .) }} to {{ last . | printf "%%.40s" }}{{ else }}No note in sight.{{ end }} `, k+1, part+1, wordSecret)
			turns = append(turns, turnOf(text, calls...))
		}
		again := noteOf("the same again", 10, "")
		turns = append(append(turns, turnOf("Once.", again), turnOf("Twice.", again)), ending()...)
	}
	return encodeTurns(turns)
}

func noteOf(text string, millis int, filler string) scriptCall {
	return scriptCall{noteTool, map[string]any{"text": text, "millis": millis, "filler": filler}}
}

// wholePaymentsScript pays as the plain agent does, and some of its bills are
// blocked or replaced by hooks.
func wholePaymentsScript() []byte {
	words := map[int]string{1: wordForbidden, 3: wordPlanB, 8: wordPlanB, 9: wordForbidden}
	var turns []scriptTurn
	for k := range 12 {
		var calls []scriptCall
		for position := range parallel(k) {
			text := fmt.Sprintf("bill %d/%d", k+1, position+1)
			if position == 0 && words[k] != "" {
				text += " " + words[k]
			}
			calls = append(calls, scriptCall{payTool, map[string]any{"text": text, "amount": 10*k + position, "millis": 20 + 50*position}})
		}
		if k%4 == 2 {
			calls = append(calls, noteOf(fmt.Sprintf("paid up to %d, %s", k+1, strings.Repeat(wordVerbose+" ", 20)), 10, ""))
		}
		turns = append(turns, turnOf(fmt.Sprintf("Paying at step %d with %s.", k+1, wordSecret), calls...))
	}
	return encodeTurns(append(turns, ending()...))
}
