package activities

import (
	"time"

	"go.temporal.io/sdk/temporal"

	"everstep/domain"
)

// maxRetryDelay bounds what another side may ask us to wait. Some send a day.
const maxRetryDelay = time.Hour

// failure is the one place where an error becomes one that Temporal records.
// Its type is the kind, its only detail the error itself, so that a workflow
// reads back what was sent. Whether Temporal tries again is the kind's to say,
// and the delay the error's.
func failure(err *domain.Error) error {
	return temporal.NewApplicationErrorWithOptions(err.Message, string(err.Kind), temporal.ApplicationErrorOptions{
		NonRetryable:   !err.Kind.Retryable(),
		NextRetryDelay: min(max(err.RetryAfter, 0), maxRetryDelay),
		Details:        []any{err},
	})
}
