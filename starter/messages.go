package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
)

func messagesCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "messages ID",
		Short: "Show an agent's transcript",
		Long: `Shows the transcript of an agent over all its executions. It needs a worker.
Messages that can no longer be read are reported as gone (exit 1), and the
others follow.`,
		Example: `  starter messages notes
  starter messages notes --json | jq -r 'select(.message.role == "user").message.parts[].text'`,
		Args:              argument("id", "starter messages notes"),
		ValidArgsFunction: p.completeIDs,
		RunE: p.ofAgent(func(ctx context.Context, s *server, id string) error {
			var gone error
			for entry, err := range s.agents.Messages(ctx, id) {
				if errors.Is(err, &client.Error{Class: client.Gone}) {
					gone = err
					p.report(err)
					continue
				}
				if err != nil {
					return err
				}
				if p.flags.json {
					if err := p.json(entry); err != nil {
						return err
					}
					continue
				}
				p.out.printf("%s", messageText(p.out.theme, entry))
			}
			return reported(gone)
		}),
	}
}

// messageText is a message under a line that says whose it is.
func messageText(t theme, e domain.Entry) string {
	var b strings.Builder
	head := fmt.Sprintf("%d %s", e.Index, e.Message.Role)
	if result := e.Message.ToolResult; result != nil {
		head += " " + oneLine(result.Name)
	}
	fmt.Fprintf(&b, "%s\n", t.name(head))
	body := func(text string) {
		for _, l := range strings.Split(strings.TrimRight(clean(text), "\n"), "\n") {
			b.WriteString("  " + l + "\n")
		}
	}
	for _, part := range e.Message.Parts {
		if part.Type == domain.PartText {
			body(part.Text)
			continue
		}
		body("[" + string(part.Type) + "]")
	}
	for _, call := range e.Message.ToolCalls {
		body("→ " + oneLine(call.Name) + " " + oneLine(call.Arguments))
	}
	if result := e.Message.ToolResult; result != nil {
		if result.IsError {
			body("error:")
		}
		body(result.Content)
	}
	return b.String()
}
