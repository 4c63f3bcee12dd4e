package progress

import (
	"everstep/domain"
)

// accountOf is the account with which a session of such an agent begins; nil where it has no budget.
func accountOf(d domain.Definition) *domain.SessionAccount {
	if d.SessionBudget.IsEmpty() {
		return nil
	}
	return &domain.SessionAccount{Budget: d.SessionBudget}
}
