package kills

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"everstep/domain"
	"everstep/testsuite/internal/accountcheck"
	"everstep/worker/host/codec"
	"everstep/workflows/replay"
)

// accounts is the folder in which workers note what they would tell of an agent after each workflow task.
const accounts = "accounts"

// mostCompared is how many workflow tasks of a run are compared.
const mostCompared = 30

// compareAccounts says where what the workers of an agent would have told is not what a replay of its histories tells.
func (p *proof) compareAccounts(ctx context.Context, id string) (differ []string, err error) {
	workflowID := domain.WorkflowID(id)
	notes, err := accountcheck.Read(filepath.Join(p.config.Dir, accounts), workflowID)
	if err != nil {
		return nil, err
	}
	options := replay.Options{DataConverter: codec.New().DataConverter()}
	compared := 0
	for _, runID := range slices.Sorted(maps.Keys(notes)) {
		events, err := p.events(ctx, workflowID, runID)
		if err != nil {
			return nil, err
		}
		n, found, err := accountcheck.Compare(ctx, events, notes[runID], mostCompared, options)
		if err != nil {
			found = append(found, err.Error())
		}
		compared, differ = compared+n, append(differ, found...)
	}
	if compared == 0 {
		differ = append(differ, fmt.Sprintf("no worker has noted what it would tell of %s", id))
	}
	return differ, nil
}

// events are those of a run that its server has.
func (p *proof) events(ctx context.Context, workflowID, runID string) (all []*historypb.HistoryEvent, err error) {
	history := p.temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", workflowID, err)
		}
		all = append(all, event)
	}
	return all, nil
}
