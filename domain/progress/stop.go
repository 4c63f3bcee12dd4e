package progress

import (
	"encoding/json"

	"everstep/domain"
	"everstep/domain/contract"
)

// ReadStop reads a stop's signal. One that cannot be read counts in the default mode, and says so.
func ReadStop(data []byte) contract.StopRequest {
	var request contract.StopRequest
	if len(data) > 0 && json.Unmarshal(data, &request) != nil {
		request = contract.StopRequest{Reason: "the stop's payload could not be read; taken as after_step"}
	}
	if request.Mode == "" {
		request.Mode = contract.AfterStep
	}
	request.Reason = domain.Shorten(request.Reason, domain.MaxReason)
	request.Source = domain.Shorten(request.Source, domain.MaxReason)
	return request
}

// ServerStop is what a cancellation with the server's own tools asks for.
func ServerStop() contract.StopRequest {
	return contract.StopRequest{Reason: "the workflow was cancelled", Mode: contract.StopNow, Source: "server"}
}

// StopOf is the signal that a request to stop adds.
func StopOf(r contract.StopRequest) domain.StopSignal {
	signal := domain.StopSignal{Reason: domain.UserRequested, Message: r.Reason, Source: r.Source}
	if signal.Source == "" {
		signal.Source = "user"
	}
	return signal
}
