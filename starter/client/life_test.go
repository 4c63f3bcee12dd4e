package client

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// TestClearCountsWhatTheModelSaw: messages that a rewind had taken back are none of those that it sees no more.
func TestClearCountsWhatTheModelSaw(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edits domain.Edits
		want  int
	}{
		"nothing was taken back":   {domain.Edits{Emptied: 9}, 7},
		"some of what was dropped": {domain.Edits{Emptied: 9, TakenBack: []domain.Span{{From: 0, To: 4}, {From: 6, To: 7}}}, 4},
		"after it":                 {domain.Edits{Emptied: 9, TakenBack: []domain.Span{{From: 9, To: 11}}}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newRun("run-1", nil)
			run.ends(outcomeOf(1, 2))
			f := newFake(run)
			f.update = func(string, any) (any, error) { return contract.ClearReply{Messages: 7}, nil }
			f.query = func(context.Context, string, string, any) (any, error) {
				return account.Page{Account: account.Account{Head: &account.Head{Position: account.Position{Edits: c.edits}}}}, nil
			}
			cleared, err := f.client().Clear(t.Context(), "nora")
			require.NoError(t, err)
			require.Equal(t, c.want, cleared.Messages)
		})
	}
}
