package wire

import (
	"strings"

	"everstep/domain"
)

// windowExceeded is how providers say that an answer ended where the model's
// window was full.
const windowExceeded = "model_context_window_exceeded"

// Overflow is the error of an answer that ended, by the provider's own word,
// where the model's window was full: what came of it is no answer, and the same
// conversation would end the same. Nil for all other words.
func (a *Attempt) Overflow(word string) error {
	if strings.ToLower(word) != windowExceeded {
		return nil
	}
	err := domain.CodedErrorf(domain.TooLarge, domain.CodeContextOverflow, "%s: the answer was cut off where the conversation exceeds the context of model %s",
		a.client.api.Name, a.call.Config.Model).From(a.client.api.Name)
	err.Billed, err.Detail = true, a.detail(nil)
	return err
}
