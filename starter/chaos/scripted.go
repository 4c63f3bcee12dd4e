package chaos

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
