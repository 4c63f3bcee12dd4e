package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestResultHasTheSignal that ended the execution, where a worker tells it.
func TestResultHasTheSignal(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.ends(stopped(1))
	f := newFake(run)
	said := &domain.StopSignal{Reason: domain.StepsLimitReached, Message: "max_steps is 2 and 2 are done"}
	f.query = answeringEnd(stopped(1), contract.End{Signal: said})
	r, err := f.client().Wait(t.Context(), "nora", 0)
	require.NoError(t, err)
	require.Equal(t, said, r.Signal)
}

// TestRefusalsAreInOurWords has nothing that the SDK writes for programs.
func TestRefusalsAreInOurWords(t *testing.T) {
	t.Parallel()
	f := newFake(newRun("run-1", nil))
	for name, c := range map[string]struct {
		err   error
		class Class
		text  string
	}{
		"ours":       {temporal.NewNonRetryableApplicationError("max_cost: nobody knows the price", string(domain.Invalid), nil), Invalid, "max_cost: nobody knows the price"},
		"of unknown": {temporal.NewApplicationError("unknown update extend", "other"), Failed, "extending nora: unknown update extend"},
	} {
		t.Run(name, func(t *testing.T) {
			f.update = func(string, any) (any, error) { return nil, c.err }
			_, err := f.client().Extend(t.Context(), "nora", ExtendOptions{Budget: steps(9)})
			requireClass(t, err, c.class)
			require.EqualError(t, err, c.text)
		})
	}
}
