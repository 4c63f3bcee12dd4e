package client

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"everstep/domain/account"
)

// TestABusyWorkerIsAskedAgain for as long as a question may take, for longer where workers go on asking for work, and one
// that nobody has seen for a while is not waited for.
func TestABusyWorkerIsAskedAgain(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	busy := serviceerror.NewDeadlineExceeded("query timed out before a worker could process it")
	unseen := serviceerror.NewFailedPrecondition("no poller seen for task queue recently, worker may be down")
	for name, tc := range map[string]struct {
		says   []error
		polled func() time.Time
		asked  int
		fails  bool
	}{
		"busy for once":           {[]error{busy, nil}, nil, 2, false},
		"busy for good":           {[]error{busy, busy, busy}, nil, 2, true},
		"busy, and seen long ago": {[]error{busy, busy, busy}, func() time.Time { return time.Unix(1, 0) }, 2, true},
		"busy, and seen":          {[]error{busy, busy, busy, busy, busy, nil}, time.Now, 6, false},
		"busy for good, and seen": {slices.Repeat([]error{busy}, 20), time.Now, 12, true},
		"busy, then gone":         {[]error{busy, unseen}, time.Now, 2, true},
		"gone":                    {[]error{unseen}, time.Now, 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, asked := newFake(run), 0
			f.polled = tc.polled
			f.query = func(context.Context, string, string, any) (any, error) {
				asked++
				time.Sleep(readTimeout / 2) // as a server does
				return account.Page{}, tc.says[asked-1]
			}
			_, err := f.client().ask(t.Context(), nora, "run-1", account.Request{})
			require.Equal(t, tc.asked, asked, name)
			require.Equal(t, tc.fails, errors.Is(err, errNoWorker), "%s: %v", name, err)
		})
	}
}
