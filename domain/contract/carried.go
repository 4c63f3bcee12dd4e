package contract

import (
	"encoding/json"

	"everstep/domain"
)

// CarryMargin is what a carry may gain between the look at it and its run's end, whatever is accepted meanwhile: changes of
// the definition, pins, reasons. Answers to updates are counted at their most.
const CarryMargin = 50_000

// CheckCarried refuses a definition that no run could hand to the next one.
func CheckCarried(d domain.Definition) error {
	size, err := DefinitionBytes(d)
	if over := size + domain.MaxCarriedState + MaxAnswers + CarryMargin - domain.MaxPayload; err == nil && over > 0 {
		err = NotCarried(d, "", over)
	}
	return err
}

// DefinitionBytes is about how much of a carry a definition takes. A run hands it on twice, as it was given and as a worker has
// resolved it, and what the model is told once more with the state.
func DefinitionBytes(d domain.Definition) (int, error) {
	return EncodedBytes(d, d, d.SystemPrompt, d.Format)
}

// EncodedBytes is how many bytes values take together when each is encoded.
func EncodedBytes(values ...any) (sum int, _ error) {
	for _, value := range values {
		encoded, err := json.Marshal(value)
		if err != nil {
			return 0, domain.Errorf(domain.Internal, "encode: %v", err)
		}
		sum += len(encoded)
	}
	return sum, nil
}

// NotCarried is the refusal of what takes so many bytes too many, for the longest of what an agent begins with.
func NotCarried(d domain.Definition, prompt string, over int) error {
	field, longest := "", 0
	for _, part := range []struct {
		name  string
		value any
	}{
		{"prompt", prompt}, {"system", d.SystemPrompt}, {"agents", d.Agents}, {"response_format", d.Format}, {"tools", d.Tools}, {"approvals", d.Approvals}, {"model", d.Model},
	} {
		if size, err := EncodedBytes(part.value); err == nil && size > longest {
			field, longest = part.name, size
		}
	}
	instead := "have the agent read what is long with a tool"
	if field == "prompt" {
		instead = "configure storage on the workers, with which a run hands no messages on"
	}
	return domain.TooLargef("%s: takes %d bytes, and with all else that the agent begins with %d more than one run of its workflow can hand to the next; shorten it, or %s",
		field, longest, over, instead)
}
