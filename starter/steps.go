package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
)

func stepsCommand(p *program) *cobra.Command {
	var number int
	command := &cobra.Command{
		Use:   "steps ID",
		Short: "Show the completed steps of an execution",
		Long: `Shows the completed steps of an execution, one a line. It needs a worker. Steps
that can no longer be read are reported as gone (exit 1), and the others follow.`,
		Example: `  starter steps notes
  starter steps notes --execution 2 --json | jq '{number, type, finish_reason}'`,
		Args:              argument("id", "starter steps notes"),
		ValidArgsFunction: p.completeIDs,
		RunE: p.ofAgent(func(ctx context.Context, s *server, id string) error {
			priced, err := s.agents.Priced(ctx, id, number)
			if err != nil && !errors.Is(err, &client.Error{Class: client.Gone}) {
				return err
			}
			var gone error
			for step, err := range s.agents.Steps(ctx, id, number) {
				if errors.Is(err, &client.Error{Class: client.Gone}) {
					gone = err
					p.report(err)
					continue
				}
				if err != nil {
					return err
				}
				if p.flags.json {
					if err := p.json(stepJSON{step, priced}); err != nil {
						return err
					}
					continue
				}
				p.out.printf("%s\n", p.stepLine(step, priced))
			}
			return reported(gone)
		}),
	}
	command.Flags().SortFlags = false
	executionFlag(command, &number)
	return command
}

// A stepJSON is a step with its cost in dollars.
type stepJSON struct {
	domain.StepExecution
	priced bool
}

// cost is nil where nobody knows it.
func (s stepJSON) cost() *string {
	return knownCost(s.Step.CostNanoUSD, s.Usage().TotalTokens(), s.priced)
}

// MarshalJSON adds the cost to the step's own keys.
func (s stepJSON) MarshalJSON() ([]byte, error) {
	line, err := s.StepExecution.MarshalJSON()
	if err != nil {
		return nil, err
	}
	cost, err := json.Marshal(s.cost())
	if err != nil {
		return nil, err
	}
	line = append(bytes.TrimSuffix(line, []byte("}")), `,"cost_usd":`...)
	return append(append(line, cost...), '}'), nil
}

// reported turns an error that the user has seen into its exit code alone.
func reported(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitCode(err), cause: err}
}

// stepLine is a step in one line.
func (p *program) stepLine(s domain.StepExecution, priced bool) string {
	t := p.out.theme
	parts := []string{fmt.Sprintf("%3d  %-14s  %8s", s.Step.Number, s.Step.Type(), duration(s.Duration()))}
	tokens := counted(s.Usage().TotalTokens(), "token")
	if s.Usage().Estimated {
		tokens = "~" + tokens
	}
	parts = append(parts, tokens)
	switch cost := costFact(stepJSON{s, priced}.cost(), s.Usage().TotalTokens()); cost {
	case "":
	case unknownCost:
		parts = append(parts, "cost "+cost)
	default:
		parts = append(parts, cost)
	}
	if s.Step.Tries > 1 {
		parts = append(parts, fmt.Sprintf("%d tries", s.Step.Tries))
	}
	if finish, ok := s.Step.FinishReason(); ok {
		parts = append(parts, string(finish))
	}
	if s.Step.Interrupted {
		parts = append(parts, t.warn("interrupted"))
	}
	for _, call := range s.Step.ToolExecutions {
		words := oneLine(call.Name())
		if call.HasError() {
			words = t.bad(words + "!")
		}
		parts = append(parts, words)
	}
	if text := oneLine(s.Step.Text()); text != "" {
		parts = append(parts, t.faint(shortened(text, 80)))
	}
	return strings.Join(parts, "  ")
}

// shortened cuts a text and shows that it did.
func shortened(text string, n int) string {
	if short := domain.Shorten(text, n); short != text {
		return short + "…"
	}
	return text
}
