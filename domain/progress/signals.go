package progress

import (
	"everstep/domain"
)

// SourceBudget is the source of a limit's signal. It is recorded.
const SourceBudget = "budget"

// SourceSessionBudget is the source of the signal of a limit over the session. It is recorded.
const SourceSessionBudget = "session_budget"

// SourceOf is the source of the signal of a limit.
func SourceOf(use domain.LimitUse) string {
	if use.Session {
		return SourceSessionBudget
	}
	return SourceBudget
}
