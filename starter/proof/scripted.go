package proof

import (
	"encoding/json"
	"fmt"
	"strings"

	"everstep/domain"
)

const (
	noteTool = "note"
	payTool  = "pay"
)

func noteTools() []Tool { return []Tool{{noteTool, domain.Idempotent}} }
func payTools() []Tool  { return []Tool{{payTool, domain.AtMostOnce}, {noteTool, domain.Idempotent}} }

// Scripted are the agents of the proof: the plain and the whole ones in turn.
func Scripted() []Agent {
	plain, whole := Plain(), Whole()
	return []Agent{plain[0], whole[0], plain[1], whole[1]}
}

// Plain are agents with a model and tools alone: one whose tool may be repeated, and
// one whose may not. Both make parallel calls and are long enough to continue as new.
func Plain() []Agent {
	return []Agent{
		{
			Name: "notes", Script: notesScript(), Tools: noteTools(), System: "You take notes.",
			Executions: []Execution{{Prompt: "Take notes."}, {Prompt: "And take some more."}},
		},
		{
			Name: "payments", Script: paymentsScript(), Tools: payTools(), System: "You pay bills.",
			Executions: []Execution{{Prompt: "Pay the bills."}},
		},
	}
}

// The parts of a script that are written here. JSON is YAML.
type (
	scriptTurn struct {
		Text  string         `json:"text,omitzero"`
		JSON  map[string]any `json:"json,omitempty"`
		Calls []scriptCall   `json:"tool_calls,omitempty"`
		Delay string         `json:"delay"`
		Usage map[string]int `json:"usage"`
		// Finish is why the model ends, where that does not follow.
		Finish domain.FinishReason `json:"finish_reason,omitempty"`
	}
	scriptCall struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	}
)

func turnOf(text string, calls ...scriptCall) scriptTurn {
	return scriptTurn{Text: text, Calls: calls, Delay: "80ms", Usage: map[string]int{"input_tokens": 200, "output_tokens": 40}}
}

func answerOf(value map[string]any) scriptTurn {
	turn := turnOf("")
	turn.JSON = value
	return turn
}

// callsOf are the calls of a step: one, or three in every other step, which take
// longer one by one. The first has a word at which a hook acts.
func callsOf(step int, word string, call func(position, millis int, word string) scriptCall) []scriptCall {
	var calls []scriptCall
	for position := range []int{1, 3}[step%2] {
		calls = append(calls, call(position, 20+50*position, word))
		word = ""
	}
	return calls
}

func noteOf(text string, millis int, filler string) scriptCall {
	return scriptCall{noteTool, map[string]any{"text": text, "millis": millis, "filler": filler}}
}

// filler is longer than what a request carries by value.
func filler() string { return strings.Repeat("long ", domain.MaxInlineArguments/4) }

func billsOf(step int, word string) []scriptCall {
	return callsOf(step, word, func(position, millis int, word string) scriptCall {
		text := strings.TrimSpace(fmt.Sprintf("bill %d/%d %s", step+1, position+1, word))
		return scriptCall{payTool, map[string]any{"text": text, "amount": 10*step + position, "millis": millis}}
	})
}

// notesScript is an agent's whose tool may be repeated: each turn quotes what
// the one before found, so that a lost or changed result would show.
func notesScript() []byte {
	var turns []scriptTurn
	for part, steps := range []int{18, 9} {
		for k := range steps {
			text := fmt.Sprintf("Step %d of part %d. ", k+1, part+1)
			if k > 0 {
				text += `The last note said: {{ result "note" }}. `
			}
			calls := callsOf(k, "", func(position, millis int, _ string) scriptCall {
				note := noteOf(fmt.Sprintf("part %d, step %d, note %d", part+1, k+1, position+1), millis, "")
				if (k+position)%7 == 3 {
					note.Arguments["filler"] = filler()
				}
				return note
			})
			turns = append(turns, turnOf(text+strings.Repeat("A thought. ", 20), calls...))
		}
		turns = append(turns, turnOf(`Part done with {{ len (results "note") }} notes in sight: {{ result "note" }}`))
	}
	return encodeTurns(turns)
}

// paymentsScript is an agent's whose payments may be unknown, so it quotes none.
func paymentsScript() []byte {
	var turns []scriptTurn
	for k := range 18 {
		calls := billsOf(k, "")
		if k%5 == 4 {
			calls = append(calls, noteOf(fmt.Sprintf("paid up to %d", k+1), 10, ""))
		}
		turns = append(turns, turnOf(fmt.Sprintf("Paying at step %d. %s", k+1, strings.Repeat("A thought. ", 20)), calls...))
	}
	return encodeTurns(append(turns, turnOf("All bills are dealt with.")))
}

func encodeTurns(turns []scriptTurn) []byte {
	encoded, err := json.Marshal(map[string]any{"turns": turns})
	if err != nil {
		panic(err) // texts and numbers only
	}
	return encoded
}

// Whole are agents with all that an agent can have, in executions that go on from
// one that stopped or failed. The one that takes notes is in an open session, and is
// summed up several times. The one that pays goes on in another workflow, and is
// never summed up: an unknown outcome takes more or less of the window than a result.
func Whole() []Agent {
	return []Agent{
		{
			Name: "whole-notes", Script: wholeNotesScript(), Tools: noteTools(), System: "You take notes.",
			Definition: whole(domain.OutputNative, wholeWindow, SteerHook,
				WatchHook(domain.TriggerBeforeStep), WatchHook(domain.TriggerAfterInference), WatchHook(domain.TriggerBeforeToolUse)),
			Executions: []Execution{{Prompt: "Take notes.", MaxSteps: 9}, {GoesOn: true}, {Prompt: "And take some more."}},
		},
		{
			Name: "whole-payments", Script: wholePaymentsScript(), Tools: payTools(), System: "You pay bills.",
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

// whole is the definition of an agent with all that one can have. Its bound of money
// is never reached.
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

// ending are the last answers: one over which a guard, a hook and a request to go on
// disagree, one that does not fit the schema, and one that a hook mends.
func ending() []scriptTurn {
	disputed := answerOf(map[string]any{"done": false, "stage": "final"})
	disputed.Finish = domain.FinishOther
	return []scriptTurn{
		disputed, answerOf(map[string]any{"done": "nearly"}), answerOf(map[string]any{"done": true, "stage": wordDraft}),
	}
}

// wholeNotesScript has its notes fill the window, meets every word at which a
// hook acts, and makes the same call twice.
func wholeNotesScript() []byte {
	words := map[int]string{1: wordLengthy, 2: wordForbidden, 4: wordPlanB, 6: wordRefused, 9: wordForbidden, 11: wordLengthy}
	var turns []scriptTurn
	for part, steps := range []int{14, 8} {
		for k := range steps {
			calls := callsOf(k, words[k], func(position, millis int, word string) scriptCall {
				text := fmt.Sprintf("part %d, step %d, note %d %s", part+1, k+1, position+1, word)
				note := noteOf(strings.TrimSpace(text), millis, "")
				if note.Arguments["pages"] = 90; k%8 == 3 && position == 1 {
					note.Arguments["filler"] = filler()
				}
				return note
			})
			text := fmt.Sprintf(`Step %d of part %d, %s. {{ with results "note" }}Notes in sight: from {{ printf "%%.40s" (first .) }} to {{ last . | printf "%%.40s" }}{{ else }}No note in sight.{{ end }} `, k+1, part+1, wordSecret)
			turns = append(turns, turnOf(text, calls...))
		}
		again := noteOf("the same again", 10, "")
		turns = append(append(turns, turnOf("Once.", again), turnOf("Twice.", again)), ending()...)
	}
	return encodeTurns(turns)
}

// wholePaymentsScript pays, and hooks block or replace some of the bills.
func wholePaymentsScript() []byte {
	words := map[int]string{1: wordForbidden, 3: wordPlanB, 8: wordPlanB, 9: wordForbidden}
	var turns []scriptTurn
	for k := range 12 {
		calls := billsOf(k, words[k])
		if k%4 == 2 {
			calls = append(calls, noteOf(fmt.Sprintf("paid up to %d, %s", k+1, strings.Repeat(wordVerbose+" ", 20)), 10, ""))
		}
		turns = append(turns, turnOf(fmt.Sprintf("Paying at step %d with %s.", k+1, wordSecret), calls...))
	}
	return encodeTurns(append(turns, ending()...))
}
