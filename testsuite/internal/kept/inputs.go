package kept

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/testsuite"
)

// CheckInputs holds what each step notes of what the model was sent against the
// requests, byte for byte.
func CheckInputs(t *testing.T, run testsuite.Run) {
	t.Helper()
	asked := run.Asked
	for _, e := range run.Executions {
		for _, step := range e.Steps {
			if step.Step.Input.Digest.IsZero() {
				require.Nil(t, step.Step.Response, "step %d was answered, and notes no input", step.Step.Number)
				continue
			}
			want := encoded(t, run.Shown(step.Step))
			found := false
			for !found && len(asked) > 0 {
				found = !asked[0].Summary && encoded(t, asked[0].Messages) == want
				asked = asked[1:]
			}
			require.True(t, found || step.Step.Response == nil, "the model was never sent what step %d notes: %s", step.Step.Number, want)
		}
	}
}

func encoded(t *testing.T, messages []domain.Message) string {
	t.Helper()
	text, err := json.Marshal(messages)
	require.NoError(t, err)
	return string(text)
}
