package workflows

import (
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
)

// lossOf reads how an activity ended that gave no reply.
func lossOf(err error) contract.Loss {
	var loss contract.Loss
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		loss.Untaken = timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
		var heartbeat contract.Heartbeat
		if timeout.HasLastHeartbeatDetails() && timeout.LastHeartbeatDetails(&heartbeat) == nil {
			loss.Heartbeat = &heartbeat
		}
	}
	ended, failed := errors.AsType[*temporal.ActivityError](err)
	loss.Exhausted = failed && ended.RetryState() == enumspb.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED
	switch {
	case temporal.IsCanceledError(err):
		loss.How = contract.Cancelled
	case temporal.IsTimeoutError(err):
		loss.How = contract.TimedOut
	case !failed:
		loss.How = contract.Garbled
	}
	if own, ok := errors.AsType[*domain.Error](err); ok {
		loss.Reported = own
		return loss
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		loss.Final, loss.RetryAfter = app.NonRetryable(), app.NextRetryDelay()
		var own domain.Error
		switch {
		case app.HasDetails() && app.Details(&own) == nil && own.Kind != "":
			loss.Reported = &own
		case app.Type() == payloadSizeError:
			loss.How = contract.Oversized
		default:
			loss.Reported = contract.WorkerFailure(app.Message())
		}
	}
	return loss
}

// errorOf is why an activity failed that gave no reply.
func errorOf(err error) *domain.Error { return lossOf(err).Err() }

// notRun is why a call was not made, as the model reads it.
func notRun(format string, args ...any) *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: "+format, args...)
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
