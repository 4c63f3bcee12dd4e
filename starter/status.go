package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"everstep/domain"
)

func statusCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "status ID",
		Short: "Show what an agent is doing",
		Long: `Shows what an agent is doing now, what it has used, and what its budget leaves.
Where no worker is up, it shows what the server knows, and says so.`,
		Example: `  starter status notes
  starter status notes --json | jq -r .status`,
		Args:              argument("id", "starter status notes"),
		ValidArgsFunction: p.completeIDs,
		RunE: p.ofAgent(func(ctx context.Context, s *server, id string) error {
			status, err := s.agents.Status(ctx, id)
			if err != nil {
				return err
			}
			if p.flags.json {
				return p.json(statusOf(status))
			}
			p.out.printf("%s", statusText(p.out.theme, id, status, p.now()))
			return nil
		}),
	}
}

// A statusJSON is a status with all its keys: what is absent is null or empty,
// never left out, so that scripts can rely on the keys.
type statusJSON struct {
	domain.StatusView
	ExecutionID *domain.ExecutionID `json:"execution_id"`
	// CostUSD is null where nobody knows it.
	CostUSD    *string             `json:"cost_usd"`
	Since      *time.Time          `json:"since"`
	StopReason *domain.StopReason  `json:"stop_reason"`
	Paused     bool                `json:"paused"`
	Origin     *domain.ExecutionID `json:"origin"`
	Prior      *priorJSON          `json:"prior"`
	Window     *int64              `json:"context_window"`
	Context    *int64              `json:"context_tokens"`
}

// A priorJSON is what the executions before have spent of the budget.
type priorJSON struct {
	domain.Spent
	CostUSD *string `json:"cost_usd"`
}

func statusOf(v domain.StatusView) statusJSON {
	s := statusJSON{StatusView: v, ExecutionID: present(v.ExecutionID), Since: present(v.Since), StopReason: present(v.StopReason)}
	s.Paused, s.Origin, s.Window, s.Context = v.Paused, present(v.Origin), present(v.Window), present(v.Context)
	s.CostUSD, s.Priced = costOfStatus(v), false // null says it
	if !v.Prior.IsZero() {
		s.Prior = &priorJSON{Spent: v.Prior, CostUSD: knownCost(v.Prior.CostNanoUSD, v.Prior.Tokens, v.Priced)}
	}
	if s.StopSignals == nil {
		s.StopSignals = []domain.StopSignal{}
	}
	if s.PendingApprovals == nil {
		s.PendingApprovals = []string{}
	}
	if s.PendingQuestions == nil {
		s.PendingQuestions = []string{}
	}
	return s
}

// present is nil for the zero value.
func present[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
