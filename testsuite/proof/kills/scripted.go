package kills

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

func noteTools() []Tool { return []Tool{{Name: noteTool, Effect: domain.Idempotent}} }
func payTools() []Tool {
	return append([]Tool{{Name: payTool, Effect: domain.AtMostOnce}}, noteTools()...)
}

// Scripted are the agents of the proof: the plain and the whole ones in turn, and the tight one.
func Scripted() []Agent {
	plain, whole := Plain(), Whole()
	return []Agent{plain[0], whole[0], plain[1], whole[1], tight()}
}

// tight is an agent whose tokens are enough as long as no worker is killed in an inference: what one lost may have cost ends
// it early. Its instructions are longer than what its model says that it reads, so that no estimate is below that.
func tight() Agent {
	const steps = 9
	var turns []scriptTurn
	for k := range steps - 1 {
		turns = append(turns, turnOf("Noting.", noteOf(fmt.Sprint("note ", k+1), 20)))
	}
	turns = append(turns, turnOf("All is noted."))
	used := int64(steps * turns[0].tokens())
	return Agent{
		Name: "tight", Tools: noteTools(), System: strings.Repeat("Note. ", 250), Script: encodeTurns(turns), requestTokens: turns[0].tokens(),
		Definition: domain.Definition{Model: domain.LLMConfig{MaxOutputTokens: 60}},
		Executions: []Execution{{Prompt: "Take notes.", Budget: domain.ExecutionBudget{MaxTokens: new(used + 700)}}},
	}
}

// Plain are agents with a model and tools alone: one whose tool may be repeated, and
// one whose may not. Both make parallel calls and are long enough to continue as new.
func Plain() []Agent {
	return []Agent{
		{
			Name: "notes", Script: notesScript([]int{18, 9}, nil, turnOf(`Part done with {{ len (results "note") }} notes in sight.`)), Tools: noteTools(), System: "You take notes.",
			Executions: []Execution{{Prompt: "Take notes."}, {Prompt: "And take some more."}},
		},
		{
			Name: "payments", Script: paymentsScript(18, nil, turnOf("All bills are dealt with.")), Tools: payTools(), System: "You pay bills.",
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

// tokens are what a request of the turn costs.
func (t scriptTurn) tokens() int { return t.Usage["input_tokens"] + t.Usage["output_tokens"] }

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

func noteOf(text string, millis int) scriptCall {
	return scriptCall{noteTool, map[string]any{"text": text, "millis": millis, "filler": ""}}
}

// filler is longer than what a request carries by value.
func filler() string { return strings.Repeat("long ", domain.MaxInlineArguments/4) }

// notesScript is an agent's whose tool may be repeated: each turn quotes what those
// before found, so that a lost or changed result would show. Its notes fill a small
// window, and have words at which hooks act. The last turns end each part.
func notesScript(parts []int, words map[int]string, last ...scriptTurn) []byte {
	var turns []scriptTurn
	for part, steps := range parts {
		for k := range steps {
			calls := callsOf(k, words[k], func(position, millis int, word string) scriptCall {
				text := fmt.Sprintf("part %d, step %d, note %d %s", part+1, k+1, position+1, word)
				note := noteOf(strings.TrimSpace(text), millis)
				if note.Arguments["pages"] = 90; k%8 == 3 && position == 1 {
					note.Arguments["filler"] = filler()
				}
				return note
			})
			text := fmt.Sprintf(`Step %d of part %d, %s. {{ with results "note" }}Notes in sight: from {{ printf "%%.40s" (first .) }} to {{ last . | printf "%%.40s" }}{{ else }}No note in sight.{{ end }} `, k+1, part+1, wordSecret)
			turns = append(turns, turnOf(text, calls...))
		}
		turns = append(turns, last...)
	}
	return encodeTurns(turns)
}

// paymentsScript is an agent's whose payments may be unknown, so it quotes none. Hooks
// block or replace some of the bills.
func paymentsScript(steps int, words map[int]string, last ...scriptTurn) []byte {
	var turns []scriptTurn
	for k := range steps {
		calls := callsOf(k, words[k], func(position, millis int, word string) scriptCall {
			text := strings.TrimSpace(fmt.Sprintf("bill %d/%d %s", k+1, position+1, word))
			return scriptCall{payTool, map[string]any{"text": text, "amount": 10*k + position, "millis": millis}}
		})
		if k%4 == 2 {
			calls = append(calls, noteOf(fmt.Sprintf("paid up to %d, %s", k+1, strings.Repeat(wordVerbose+" ", 20)), 10))
		}
		turns = append(turns, turnOf(fmt.Sprintf("Paying at step %d with %s.", k+1, wordSecret), calls...))
	}
	return encodeTurns(append(turns, last...))
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
	again := noteOf("the same again", 10)
	return []Agent{
		{
			Name: "whole-notes", Tools: noteTools(), System: "You take notes.",
			Script: notesScript([]int{14, 8}, map[int]string{
				1: wordLengthy, 2: wordForbidden, 4: wordPlanB, 6: wordRefused, 9: wordForbidden, 11: wordLengthy,
			}, append([]scriptTurn{turnOf("Once.", again), turnOf("Twice.", again)}, ending()...)...),
			Definition: whole(domain.OutputNative, wholeWindow, SteerHook,
				WatchHook(domain.TriggerBeforeStep), WatchHook(domain.TriggerAfterInference), WatchHook(domain.TriggerBeforeToolUse)),
			Executions: []Execution{{Prompt: "Take notes.", Budget: domain.ExecutionBudget{MaxSteps: new(int64(9))}}, {GoesOn: true}, {Prompt: "And take some more."}},
		},
		{
			Name: "whole-payments", Tools: payTools(), System: "You pay bills.",
			Script: paymentsScript(12, map[int]string{1: wordForbidden, 3: wordPlanB, 8: wordPlanB, 9: wordForbidden}, ending()...),
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
		// Without a bound of the answer, what one lost may have cost would be all the money.
		Model: domain.LLMConfig{ContextWindow: window, MaxOutputTokens: wholeWindow / 4, Price: &domain.Price{Input: dollar, Output: 4 * dollar}},
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
