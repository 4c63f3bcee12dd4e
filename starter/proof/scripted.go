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

// Scripted are the agents of the proof: the plain and the whole ones in turn.
func Scripted() []Agent {
	var agents []Agent
	for i, a := range Plain() {
		agents = append(agents, a, Whole()[i])
	}
	return agents
}

// Plain are agents with a model and tools alone: one that takes notes, whose
// tool may be repeated, over two executions; and one that pays, whose tool may
// not. Both call several tools at once in some steps and are long enough to
// continue as new a few times, where the server suggests that early.
func Plain() []Agent {
	note, pay := Tool{noteTool, domain.Idempotent}, Tool{payTool, domain.AtMostOnce}
	return []Agent{
		{
			Name: "notes", Script: notesScript(18), Tools: []Tool{note},
			System:     "You take notes.",
			Executions: []Execution{{Prompt: "Take notes.", MaxSteps: 0}, {Prompt: "And take some more."}},
		},
		{
			Name: "payments", Script: paymentsScript(18), Tools: []Tool{pay, note},
			System:     "You pay bills.",
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

// notesScript is an agent's whose tool may be repeated: each turn quotes what
// the one before found, so that a lost or changed result would show.
func notesScript(steps int) []byte {
	var turns []scriptTurn
	for execution := range 2 {
		for k := range steps / (execution + 1) {
			text := fmt.Sprintf("Step %d of part %d. ", k+1, execution+1)
			if k > 0 {
				text += `The last note said: {{ result "note" }}. `
			}
			var calls []scriptCall
			for position := range parallel(k) {
				calls = append(calls, scriptCall{noteTool, map[string]any{
					"text": fmt.Sprintf("part %d, step %d, note %d", execution+1, k+1, position+1), "millis": 20 + 50*position,
					"filler": filler(k, position),
				}})
			}
			turns = append(turns, turnOf(text+strings.Repeat("A thought. ", 20), calls...))
		}
		turns = append(turns, turnOf(`Part done with {{ len (results "note") }} notes in sight: {{ result "note" }}`))
	}
	return encodeTurns(turns)
}

// paymentsScript is an agent's whose payments may be unknown, so it quotes none.
func paymentsScript(steps int) []byte {
	var turns []scriptTurn
	for k := range steps {
		var calls []scriptCall
		for position := range parallel(k) {
			calls = append(calls, scriptCall{payTool, map[string]any{
				"text": fmt.Sprintf("bill %d/%d", k+1, position+1), "amount": 10*k + position, "millis": 20 + 50*position,
			}})
		}
		if k%5 == 4 {
			calls = append(calls, scriptCall{noteTool, map[string]any{"text": fmt.Sprintf("paid up to %d", k+1), "millis": 10}})
		}
		turns = append(turns, turnOf(fmt.Sprintf("Paying at step %d. %s", k+1, strings.Repeat("A thought. ", 20)), calls...))
	}
	return encodeTurns(append(turns, turnOf("All bills are dealt with.")))
}

// parallel is how many calls a step makes: every other step makes three.
func parallel(step int) int {
	if step%2 == 1 {
		return 3
	}
	return 1
}

// filler makes one call in seven longer than what a request carries by value.
func filler(step, position int) string {
	if (step+position)%7 != 3 {
		return ""
	}
	return strings.Repeat("long ", domain.MaxInlineArguments/4)
}

func encodeTurns(turns []scriptTurn) []byte {
	encoded, err := json.Marshal(map[string]any{"turns": turns})
	if err != nil {
		panic(err) // texts and numbers only
	}
	return encoded
}

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
