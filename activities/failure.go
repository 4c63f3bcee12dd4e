package activities

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/enum"
)

// maxRetryDelay bounds what another side may ask us to wait. Some send a day.
const maxRetryDelay = time.Hour

// failure is the one place where an error becomes one that Temporal records. Its
// only detail is the error itself, so that a workflow reads back what was sent.
func failure(err error) error {
	own, ok := errors.AsType[*domain.Error](err)
	if !ok { // none, or what says that the activity was stopped
		return err
	}
	return temporal.NewApplicationErrorWithOptions(own.Message, string(own.Kind), temporal.ApplicationErrorOptions{
		NonRetryable:   !own.Kind.Retryable() || own.Lacking, // the workflow looks for another worker
		NextRetryDelay: min(max(own.RetryAfter, 0), maxRetryDelay),
		Details:        []any{own},
	})
}

// lacking is the error of a worker that lacks what others may have, as while workers
// are replaced; it says which one.
func lacking(err error) error {
	if err == nil {
		return nil
	}
	own := *domain.AsError(err)
	own.Kind, own.Lacking, own.Message = domain.Unavailable, true, fmt.Sprintf("worker %s: %s", workerName(), own.Message)
	return &own
}

// workerName is how this worker is called for people, as the SDK does.
func workerName() string {
	machine, _ := os.Hostname() // without one the process has to do
	return fmt.Sprintf("%d@%s", os.Getpid(), machine)
}

// recordable is an error of somebody else's as it may be recorded: without the
// secrets, and without what no reader knows, which would cost the whole reply,
// usage and all. Otherwise is the kind of one that has none.
func (a *Activities) recordable(err domain.Error, otherwise domain.Kind) *domain.Error {
	if !slices.Contains(enum.Known[domain.Kind](), err.Kind) {
		err.Kind = otherwise
	}
	if !slices.Contains(enum.Known[domain.Code](), err.Code) {
		err.Code = ""
	}
	return new(hidden(a.config.Secrets, err))
}
