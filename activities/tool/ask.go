package tool

import (
	"errors"

	"everstep/domain"
)

// Ask is the error of a tool that asks a person: the answer is the result of its call, which the model reads as it is. Until
// then the call waits in the workflow: it holds no worker, outlives all of them, and the time does not count in the
// execution's max_seconds. Any stop ends the wait, and a call ended so counts as one that was not run; so it is for calls
// that have done nothing yet. The tool is not called again. A question that domain.Question.Check refuses fails the call.
func Ask(question domain.Question) error { return asking{question} }

// Asks reports whether an error, or one that it wraps, is of Ask, and what is asked.
func Asks(err error) (question domain.Question, ok bool) {
	own, ok := errors.AsType[asking](err)
	return own.question, ok
}

type asking struct{ question domain.Question }

func (asking) Error() string { return "it asks a person" }
