package client

import (
	"encoding/json"
	"time"

	"everstep/domain"
)

// checkSend says what is wrong with a message before it is sent.
func checkSend(r domain.SendRequest, now time.Time) error {
	if err := domain.CheckPrompt(r.Prompt); err != nil {
		return err
	}
	if err := checkBudget(r.Budget, now); err != nil {
		return err
	}
	if r.Model != nil {
		if err := (domain.Definition{Model: *r.Model}).Check(); err != nil {
			return err
		}
	}
	return checkSize("message", r)
}

// checkInput says what is wrong with what a workflow is to start with.
func checkInput(in domain.SessionInput, now time.Time) error {
	if err := domain.CheckPrompt(in.Prompt); err != nil {
		return err
	}
	if err := in.Definition.Check(); err != nil {
		return err
	}
	if err := in.Definition.Budget.CheckDeadline(now); err != nil {
		return err
	}
	if err := checkBudget(in.Budget, now); err != nil {
		return err
	}
	return checkSize("prompt and definition", in)
}

func checkBudget(b domain.ExecutionBudget, now time.Time) error {
	if err := b.Check(); err != nil {
		return err
	}
	return b.CheckDeadline(now)
}

// checkSize refuses what the server would refuse in its own, worse way.
func checkSize(what string, value any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return domain.Errorf(domain.Invalid, "%s: cannot be written as JSON: %s", what, err)
	}
	if len(encoded) > domain.MaxPayload {
		return domain.Errorf(domain.TooLarge, "%s: take %d bytes together; at most %d are allowed", what, len(encoded), domain.MaxPayload)
	}
	return nil
}
