package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/domain"
)

// Find returns the id of the agent that a text means: the text, where an agent has it as its name or UUID, else the one
// id that begins with it. It is refused as Invalid where several do, and names some. Where none does the text comes
// back as it is, so that what is done with it says that there is no such agent. It needs no worker; an agent that was
// started a moment ago may not be found by a beginning.
func (c *Client) Find(ctx context.Context, text string) (string, error) {
	a, err := agentOf(text)
	if err != nil {
		return "", err
	}
	switch _, err = c.describe(ctx, text); {
	case err == nil:
		return text, nil
	case !Is(err, NotFound) && c.unreached == nil:
		return "", err
	case a.session != "" || len(text) < 2: // too short a beginning to look for
		return text, nil
	}
	if c.cfg.Records != nil {
		if kept, err := c.cfg.Records.List(ctx, a.id); err == nil && len(kept) > 0 {
			return text, nil
		}
	}
	var found []string // one more than are shown at most
	o := ListOptions{ListFilter: ListFilter{Query: fmt.Sprintf("WorkflowId STARTS_WITH '%s'", domain.WorkflowID(text))}}
	err = c.list(ctx, o, func(l Listed, _ *workflowpb.WorkflowExecutionInfo) bool {
		if !l.Foreign && strings.HasPrefix(l.ID, text) {
			found = append(found, l.ID)
		}
		return len(found) <= shownMatches
	})
	if errors.Is(err, ErrUnreached) {
		err = nil
	}
	if err == nil {
		found = c.withRecorded(ctx, text, found)
	}
	switch {
	case err != nil:
		return "", fail(ctx, text, "looking for "+text, err)
	case len(found) == 0 && c.unreached != nil && c.cfg.Records != nil:
		return "", errorf(Unreachable, c.unreached, "%s; the records tell nothing of %s", c.unreached.Message, a.called()).next("`list --records` shows of whom they tell")
	case len(found) == 0:
		return text, nil
	case len(found) > 1:
		more := ""
		if len(found) > shownMatches {
			found, more = found[:shownMatches], " and others"
		}
		return "", invalidf("id: no agent is called %q, and several ids begin so: %s%s; write more of the one that is meant", text, strings.Join(found, ", "), more)
	}
	return found[0], nil
}

// shownMatches bounds the ids that are named where a beginning is not unique.
const shownMatches = 5
