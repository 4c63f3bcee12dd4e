package chaos

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"everstep/domain"
	"everstep/domain/progress"
	"everstep/starter/client"
)

// inFlight reads from the histories of an agent's runs which calls that may not
// be repeated a worker had when it was lost, and which process that was.
func inFlight(ctx context.Context, agents *client.Client, got played) (map[domain.ToolExecutionID]int, error) {
	found := make(map[domain.ToolExecutionID]int)
	for _, runID := range got.runs {
		for recorded, err := range agents.History(ctx, got.begun.ID, runID) {
			if err != nil {
				return nil, fmt.Errorf("read the history of %s: %w", got.begun.WorkflowID, err)
			}
			lost, ok := recorded.Fact.(progress.Lost)
			if ok && lost.Tool != nil && lost.Loss.How == progress.TimedOut && !lost.Tool.Effect.Repeatable() {
				// An identity is the process's id, its host and its queue.
				pid, _, _ := strings.Cut(lost.Worker, "@")
				found[lost.Tool.ID()], _ = strconv.Atoi(pid) // zero is no process
			}
		}
	}
	return found, nil
}
