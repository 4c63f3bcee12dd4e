package record

import (
	"slices"

	"everstep/domain"
	"everstep/domain/account"
)

// A Raw is the record of an execution for being kept alone: its steps and events are JSON as the workflow wrote it, so that they
// are neither decoded nor encoded. What reads the record decodes and checks them.
type Raw struct {
	// record is without them.
	record        Record
	steps, events []account.RawItem
}

// OfRaw is Of for an account whose steps and events are left as JSON.
func OfRaw(a account.Raw) (Raw, error) {
	r, err := Of(account.Account{Head: a.Head, Executions: a.Executions, Messages: a.Messages})
	if err != nil {
		return Raw{}, err
	}
	return Raw{r, a.Steps, a.Events}.withMissing()
}

// WithParts returns the record with what runs have recorded of its execution that nobody tells any more.
func (r Raw) WithParts(parts []Part) (Raw, error) {
	for _, p := range parts { // of two steps of one number the first stays: the workflow's own
		for _, step := range p.Steps {
			text, err := domain.Encode(account.Step{Execution: r.record.Number, StepExecution: step})
			if err != nil {
				return r, err
			}
			r.steps = append(slices.Clip(r.steps), account.RawItem{Number: stepNumber(step), JSON: text})
		}
		for _, event := range p.Events {
			text, err := domain.Encode(event)
			if err != nil {
				return r, err
			}
			r.events = append(slices.Clip(r.events), account.RawItem{Number: eventNumber(event), JSON: text})
		}
	}
	return r.withMissing()
}

// withMissing returns the record with each item once, in the order of their numbers, and with what is missing between them.
func (r Raw) withMissing() (Raw, error) {
	r.steps, r.events = account.ByNumber(slices.Clone(r.steps), itemNumber), account.ByNumber(slices.Clone(r.events), itemNumber)
	r.record.Missing = gaps(r.record, r.steps, itemNumber, r.events, itemNumber)
	return r, r.check()
}

func itemNumber(i account.RawItem) int { return i.Number }

// check refuses a record that a reader would refuse, as far as that shows without decoding its steps and events.
func (r Raw) check() error {
	if err := r.record.checkEnd(); err != nil {
		return err
	}
	if n := len(r.steps); n > 0 && (r.steps[0].Number < 1 || r.steps[n-1].Number > r.record.Outcome.Steps) {
		return invalid("steps", "has numbers from %d to %d; steps count from 1 to %d", r.steps[0].Number, r.steps[n-1].Number, r.record.Outcome.Steps)
	}
	if len(r.events) > 0 && r.events[0].Number < 1 {
		return invalid("events", "has number %d; events count from 1", r.events[0].Number)
	}
	return r.record.checkMessages()
}

// Ref names the record.
func (r Raw) Ref() Ref { return r.record.Ref() }

func (r Raw) key() string { return r.record.key() }

// Missing says which steps, messages and events could not be read any more.
func (r Raw) Missing() []account.Missing { return r.record.Missing }

// MarshalJSON writes the record as the account of its execution.
func (r Raw) MarshalJSON() ([]byte, error) {
	a, err := accountOf(r.record)
	if err != nil {
		return nil, err
	}
	return domain.Encode(struct {
		account.Account
		Steps  []account.RawItem `json:"steps,omitempty"`
		Events []account.RawItem `json:"events,omitempty"`
	}{a, r.steps, r.events})
}
