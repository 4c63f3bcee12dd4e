package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestExecutionsAreMarkedAsTheirMessagesAre: with the execution that goes on without one, and from which step on.
func TestExecutionsAreMarkedAsTheirMessagesAre(t *testing.T) {
	t.Parallel()
	edits := domain.Edits{TakenBack: []domain.Span{{To: 4, By: 3, Cleared: true}, {From: 6, To: 12, By: 5, AfterStep: 1}}}
	for name, test := range map[string]struct {
		from, to int
		steps    *int
		cleared  bool
		back     *TakenBack
	}{
		"cleared":                          {from: 0, to: 4, steps: new(2), cleared: true},
		"on the present path":              {from: 4, to: 6, steps: new(2)},
		"its last steps":                   {from: 4, to: 8, steps: new(2), back: &TakenBack{By: 5, AfterStep: 1}},
		"its last steps, of so many":       {from: 4, to: 8, back: &TakenBack{By: 5, AfterStep: 1}},
		"what it heard after its only one": {from: 4, to: 8, steps: new(1)},
		"all of it":                        {from: 8, to: 12, steps: new(2), back: &TakenBack{By: 5}},
		"since then":                       {from: 12, to: 14, steps: new(2)},
		"without messages":                 {from: 12, to: 12, steps: new(0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			past := Past{Ending: Ending{Steps: test.steps}}
			past.markTaken(edits, test.from, test.to)
			require.Equal(t, test.cleared, past.Cleared)
			require.Equal(t, test.back, past.TakenBack)
		})
	}
}
