package whole_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

type order struct {
	Order int    `json:"order"`
	Note  string `json:"note,omitzero"`
}

// payment is a tool that never knows whether it has paid.
func payment() tool.Tool {
	return tool.New("pay", "Pays.", domain.AtMostOnce, func(context.Context, order) (string, error) {
		return "", tool.OutcomeUnknown(errors.New("the line broke"))
	}, tool.EffectKey("order"))
}

// TestVerifyOutlivesItsWorker: the call's is lost, and so is that which asks what became of it.
func TestVerifyOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	deaths := s.mortals(t)
	begun := s.ended(t, s.begin(t, `
turns:
  - tool_calls: [{name: wire, arguments: {}}]
  - text: '{{ result "wire" }}'
`, "wire"))
	require.Equal(t, "receipt 4711", s.result(t, begun.ID, 1).Answer)
	require.EqualValues(t, 2, deaths.Load())
}
