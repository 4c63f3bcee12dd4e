package workflows

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// stopping is what stops do to work in flight. What they do to the loop is the
// state's signals.
type stopping struct {
	// mode is the strongest asked for; empty where no stop came.
	mode domain.StopMode
	// asked counts the stops of this execution.
	asked int
	// alarms go off in this execution, unless it ends first.
	alarms []*alarm
	// escalation is the one that makes a stop one of mode now, seconds and
	// deadline are those of the time limits.
	escalation, seconds, deadline *alarm
}

// maxStops is how many stops of one execution are kept as signals. Later ones
// count all the same, and are logged.
const maxStops = 100

// now reports whether nothing more may be in flight.
func (t stopping) now() bool { return t.mode == domain.StopNow }

// noTools reports whether no further tool call may start.
func (t stopping) noTools() bool { return t.mode == domain.StopNow || t.mode == domain.AfterInference }

// disarm ends all timers, so that none outlives its execution.
func (t *stopping) disarm() {
	for _, a := range t.alarms {
		a.silence()
	}
	t.alarms, t.escalation, t.seconds, t.deadline = nil, nil, nil, nil
}

// listenToStops turns stop signals, alarms and a cancellation of the workflow
// into state, for the life of the run. It leaves what arrives where it is until
// it heeds it, so that the loop can heed it first: of what one workflow task
// brings, the loop often learns before this coroutine.
func (s *session) listenToStops(ctx workflow.Context) {
	s.stops = workflow.GetSignalChannel(s.root, string(domain.SignalStop))
	s.cancelled = func() bool { return !s.closedByServer && ctx.Err() != nil }
	workflow.GoNamed(s.root, "stops", func(ctx workflow.Context) {
		for {
			_ = workflow.Await(ctx, s.disturbed)
			s.heed()
		}
	})
}

// disturbed reports whether something has arrived that wants to be heeded.
func (s *session) disturbed() bool {
	return s.cancelled() || s.stops.Len() > 0 || s.stop.due()
}

// heed takes all that has arrived to stop the work. Whatever is about to start
// something heeds first: nothing starts after a stop.
func (s *session) heed() {
	if s.cancelled() {
		s.closedByServer = true
		s.shut()
		s.takeStop(domain.StopRequest{Reason: "the workflow was cancelled", Mode: domain.StopNow, Source: "server"})
	}
	for {
		var raw converter.RawValue
		if !s.stops.ReceiveAsync(&raw) {
			break
		}
		s.takeStop(readStop(raw))
	}
	for _, a := range s.stop.alarms {
		if a.due() {
			a.ring()
		}
	}
}

// readStop reads a stop's payload. Every stop counts: one that cannot be read
// is taken in the default mode, and says so.
func readStop(raw converter.RawValue) domain.StopRequest {
	payload := raw.Payload()
	if payload == nil || len(payload.GetData()) == 0 {
		return domain.StopRequest{Mode: domain.AfterStep}
	}
	var request domain.StopRequest
	if err := json.Unmarshal(payload.GetData(), &request); err != nil {
		return domain.StopRequest{Mode: domain.AfterStep, Reason: "the stop's payload could not be read; taken as after_step"}
	}
	if request.Mode == "" {
		request.Mode = domain.AfterStep
	}
	request.Reason = domain.Shorten(request.Reason, domain.MaxReason)
	request.Source = domain.Shorten(request.Source, domain.MaxReason)
	return request
}

// takeStop applies a stop to the execution in progress. One that meets an idle
// session, or names another execution, is dropped and logged.
func (s *session) takeStop(request domain.StopRequest) {
	execution, _ := s.state.Execution()
	log := workflow.GetLogger(s.root)
	switch {
	case !s.state.HasActiveExecution():
		log.Info("stop dropped: no execution is in progress")
		return
	case !request.ExecutionID.IsZero() && request.ExecutionID != execution.ID():
		log.Info("stop dropped: it names another execution", "execution_id", request.ExecutionID)
		return
	}
	source := request.Source
	if source == "" {
		source = "user"
	}
	if s.stop.asked++; s.stop.asked <= maxStops {
		s.signal(domain.UserRequested, source, request.Reason)
	} else {
		log.Info("one stop of many: it counts, and is not kept", "mode", request.Mode, "stops", s.stop.asked)
	}
	s.stop.mode = s.stop.mode.Stronger(request.Mode)
	if _, within := s.state.CurrentStepStartedAt(); s.stop.now() || !within {
		// Between steps there is nothing that a gentler stop would let finish.
		s.cancelWork()
		return
	}
	if within := time.Duration(request.Within); within > 0 {
		s.escalate(within)
	}
}

// escalate makes the stop one of mode now after a time. Of several times the
// earliest counts.
func (s *session) escalate(within time.Duration) {
	if earlier := s.stop.escalation; earlier != nil {
		if !s.now().Add(within).Before(earlier.at) {
			return
		}
		earlier.silence()
	}
	s.stop.escalation = s.after(within, func() {
		s.stop.mode = domain.StopNow
		s.cancelWork()
	})
}
