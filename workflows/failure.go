package workflows

import (
	"errors"

	"go.temporal.io/sdk/temporal"

	"everstep/domain"
)

// failureOf reads an activity's failure back into the error that it was.
func failureOf(err error) *domain.Error { return bounded(reasonOf(err)) }

// bounded returns the error with a message that a state may keep. Workers bound
// theirs; those of others may not.
func bounded(err *domain.Error) *domain.Error {
	if len(err.Message) <= domain.MaxReason {
		return err
	}
	own := *err
	own.Message = domain.Shorten(err.Message, domain.MaxReason)
	return &own
}

func reasonOf(err error) *domain.Error {
	if own, ok := errors.AsType[*domain.Error](err); ok {
		return own
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		var own domain.Error
		if app.HasDetails() && app.Details(&own) == nil && own.Kind != "" {
			return &own
		}
		if app.Type() == payloadSizeError {
			return domain.Errorf(domain.TooLarge, "the result is larger than the server takes")
		}
		return domain.Errorf(domain.Internal, "the worker failed: %s", app.Message())
	}
	switch {
	case temporal.IsCanceledError(err):
		return domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "cut off by a stop")
	case temporal.IsTimeoutError(err):
		return domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout, "no worker finished it in time")
	}
	if _, failed := errors.AsType[*temporal.ActivityError](err); !failed {
		return domain.Errorf(domain.Internal, "the worker's answer cannot be read; see that all workers are of the same version")
	}
	return domain.Errorf(domain.Internal, "the worker failed; its log says more")
}

// payloadSizeError is how newer servers name a result above their limit. They
// call it retryable, which it is not.
const payloadSizeError = "payloadSizeError"

// refusal turns an error of ours into one that an update's caller can read.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	own := domain.AsError(err)
	return temporal.NewApplicationErrorWithOptions(own.Message, string(own.Kind),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{own}})
}

// heartbeatOf returns the last heartbeat of an activity that timed out.
func heartbeatOf(err error) (domain.Heartbeat, bool) {
	var beat domain.Heartbeat
	timeout, ok := errors.AsType[*temporal.TimeoutError](err)
	if !ok || !timeout.HasLastHeartbeatDetails() || timeout.LastHeartbeatDetails(&beat) != nil {
		return domain.Heartbeat{}, false
	}
	return beat, true
}
