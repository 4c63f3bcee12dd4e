package testsuite_test

import (
	"context"
	"fmt"
	"strings"
)

// audited fails where what history alone tells of an ended execution is not what
// the workflow has kept of it. That is the law of package progress: one account
// of what happened, whoever reads it.
func (s *stack) audited(ctx context.Context, id string, number int) error {
	differences, err := s.agents.Audit(ctx, id, number)
	if err == nil && len(differences) > 0 {
		err = fmt.Errorf("history and the workflow tell two stories of execution %d of %s:\n%s", number, id, strings.Join(differences, "\n"))
	}
	return err
}
