package client

import (
	"context"
	"slices"
	"sync"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/starter/client/internal/history"
)

// attributes remembers which of our search attributes the server knows. A start
// that sets one that it does not know is refused.
type attributes struct {
	mu    sync.Mutex
	read  bool
	names []string
}

// registered returns those of our search attributes that the namespace has,
// asking once. A server that does not say has none; one that is away is an error.
func (c *Client) registered(ctx context.Context) ([]string, error) {
	c.known.mu.Lock()
	defer c.known.mu.Unlock()
	if c.known.read {
		return c.known.names, nil
	}
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	response, err := history.Retried(call, func() (*operatorservice.ListSearchAttributesResponse, error) {
		return c.temporal.OperatorService().ListSearchAttributes(call, &operatorservice.ListSearchAttributesRequest{
			Namespace: c.cfg.Namespace,
		})
	})
	if err != nil && (history.Away(err) || ctx.Err() != nil) {
		return nil, err
	}
	c.known.read = true
	for _, name := range []string{domain.AttributeAgentName, domain.AttributeAgentStatus, domain.AttributeStopReason} {
		if response.GetCustomAttributes()[name] == enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			c.known.names = append(c.known.names, name)
		}
	}
	return c.known.names, nil
}

// initial returns the search attributes that a workflow starts with.
func (a agent) initial(known []string) temporal.SearchAttributes {
	var updates []temporal.SearchAttributeUpdate
	if a.name != "" && slices.Contains(known, domain.AttributeAgentName) {
		updates = append(updates, temporal.NewSearchAttributeKeyKeyword(domain.AttributeAgentName).ValueSet(a.name))
	}
	if slices.Contains(known, domain.AttributeAgentStatus) {
		key := temporal.NewSearchAttributeKeyKeyword(domain.AttributeAgentStatus)
		updates = append(updates, key.ValueSet(string(domain.StatusInProgress)))
	}
	return temporal.NewSearchAttributes(updates...)
}
