package render

import (
	"strings"

	"everstep/domain"
	"everstep/starter/client"
)

// A ResultJSON is a result with its cost in dollars.
type ResultJSON struct {
	client.Result
	// CostUSD is null where nobody knows it.
	CostUSD *string `json:"cost_usd"`
}

// Result adds what an execution cost. What the server ended has counted nothing.
func Result(r client.Result) ResultJSON {
	o := r.Outcome
	if o.Code == domain.CodeTerminated || o.Code == domain.CodeTimedOut {
		return ResultJSON{Result: r}
	}
	return ResultJSON{Result: r, CostUSD: knownCost(o.CostNanoUSD, o.Usage.TotalTokens(), o.Priced)}
}

// Failure is an error for people, with who it came from.
func Failure(e *domain.Error) string {
	text := OneLine(e.Message)
	// Providers begin their words with their names.
	if source := OneLine(e.Source); source != "" && !strings.HasPrefix(text, source+":") {
		text = source + ": " + text
	}
	return text
}

// Stopped says what stopped an execution, in the words of what did; empty
// where there is no more to say.
func Stopped(r client.Result, shown bool) string {
	if r.Outcome.Status != domain.StatusStopped {
		return ""
	}
	message := ""
	if r.Signal != nil {
		message = OneLine(r.Signal.Message)
	}
	if shown {
		if message == "" {
			return ""
		}
		return "  " + message
	}
	words := "stopped"
	if r.Outcome.StopReason != "" {
		words += " (" + string(r.Outcome.StopReason) + ")"
	}
	if message != "" {
		words += ": " + message
	}
	return words
}
