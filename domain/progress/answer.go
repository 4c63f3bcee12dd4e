package progress

import (
	"strings"

	"everstep/domain"
)

// A Reading says what kind of answer a model gave.
type Reading int

const (
	// Whole: it says something or asks for tools.
	Whole Reading = iota
	// InPart: the provider wants to be asked to go on with it.
	InPart
	// Nothing: it has neither text nor tool calls.
	Nothing
	// TooMany: it asks for more calls than are taken.
	TooMany
)

// Read says what kind of answer a message is.
func Read(m domain.Message, response domain.Response) Reading {
	calls := len(m.ToolCalls)
	switch {
	case response.Finish == domain.FinishOther && response.FinishWord == domain.WordPaused && calls == 0:
		return InPart
	case Blank(m) && calls == 0 && response.Finish != domain.FinishRefusal:
		return Nothing
	case calls > domain.MaxRequestedCalls:
		return TooMany
	}
	return Whole
}

// Misfit is the error of an answer that does not fit the response format, or nil.
// A refusal is an answer in the model's own words, whatever the format.
func Misfit(m domain.Message, response domain.Response, problems string) *domain.Error {
	if problems == "" || len(m.ToolCalls) > 0 || response.Finish == domain.FinishRefusal {
		return nil
	}
	return domain.CodedErrorf(domain.Invalid, domain.CodeInvalidOutput,
		"the answer does not fit the response format: %s", domain.Shorten(problems, domain.MaxReason/2)).From(SourceOutput)
}

// Blank reports whether a message has no text that can be seen.
func Blank(m domain.Message) bool { return strings.TrimSpace(m.Text()) == "" }

// The sources of errors and signals that are none of a hook's, tool's or provider's. They are recorded.
const (
	SourceInference = "inference"         // what becomes of asking the model
	SourceOutput    = "structured_output" // the guard of the response format
)

// TooManyCalls is the error of an answer that asks for too many tool calls.
func TooManyCalls(calls int) *domain.Error {
	return domain.CodedErrorf(domain.TooLarge, domain.CodeMalformed,
		"the model asked for %d tool calls in one answer; at most %d are taken", calls, domain.MaxRequestedCalls)
}

// MaxPauses bounds how often one step lets a provider go on.
const MaxPauses = 16

// TooManyPauses is the error of an answer that does not come to its end.
func TooManyPauses(pauses int) *domain.Error {
	return domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "the model paused %d times in one answer", pauses)
}

// Withheld is the error of an answer that the provider's filter kept back.
func Withheld() *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeFiltered, "the provider's filter withheld the answer")
}

// NothingTwice is the error of a model that gave nothing, and nothing again.
func NothingTwice() *domain.Error {
	return domain.CodedErrorf(domain.Unavailable, domain.CodeEmptyResponse, "the model gave neither text nor tool calls, twice")
}

// Ending is an error as a step ends with it: bounded, and with its source.
func Ending(err *domain.Error) *domain.Error {
	err = Bounded(err)
	if err.Source == "" {
		err = err.From(SourceInference)
	}
	return err
}
