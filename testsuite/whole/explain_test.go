package whole_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

func (s *stack) explained(t *testing.T, id string) client.ExplainView {
	t.Helper()
	view := s.explains(t, id, 0)
	requireSums(t, view)
	return view
}

// requireSums adds the steps up once more, from what the JSON says.
func requireSums(t *testing.T, view client.ExplainView) {
	t.Helper()
	text, err := json.Marshal(view)
	require.NoError(t, err)
	type part struct {
		Usage domain.Usage `json:"usage"`
		Lost  domain.Usage `json:"lost_usage"`
		Cost  *int64       `json:"cost_nano_usd"`
	}
	var read struct {
		Steps  []part `json:"steps"`
		Totals part   `json:"totals"`
		Waste  part   `json:"waste"`
	}
	require.NoError(t, json.Unmarshal(text, &read))
	var sum, lost, cost int64
	for _, s := range read.Steps {
		sum, lost = sum+s.Usage.TotalTokens(), lost+s.Lost.TotalTokens()
		if s.Cost != nil {
			cost += *s.Cost
		}
	}
	require.Equal(t, read.Totals.Usage.TotalTokens(), sum)
	require.Equal(t, read.Waste.Usage.TotalTokens(), lost)
	if read.Totals.Cost != nil {
		require.Equal(t, *read.Totals.Cost, cost)
	}
	if r := view.Reported; r != nil && r.Steps == len(view.Steps) {
		require.Equal(t, r.Usage, view.Totals.Usage, "the execution counts the same")
	}
}
