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
	// cancelTimers ends the timers of this execution.
	cancelTimers []workflow.CancelFunc
}

// now reports whether nothing more may be in flight.
func (t stopping) now() bool { return t.mode == domain.StopNow }

// noTools reports whether no further tool call may start.
func (t stopping) noTools() bool { return t.mode == domain.StopNow || t.mode == domain.AfterInference }

// disarm ends all timers, so that none outlives its execution.
func (t *stopping) disarm() {
	for _, cancel := range t.cancelTimers {
		cancel()
	}
	t.cancelTimers = nil
}

// listenToStops turns stop signals, and a cancellation of the workflow, into state.
func (s *session) listenToStops(ctx workflow.Context) {
	stops := workflow.GetSignalChannel(s.root, string(domain.SignalStop))
	workflow.GoNamed(s.root, "stops", func(ctx workflow.Context) {
		for {
			var raw converter.RawValue
			stops.Receive(ctx, &raw)
			s.takeStop(readStop(raw))
		}
	})
	workflow.GoNamed(s.root, "cancellation", func(root workflow.Context) {
		ctx.Done().Receive(root, nil)
		s.closing = true
		s.takeStop(domain.StopRequest{
			Reason: "the workflow was cancelled", Mode: domain.StopNow, Source: "server",
		})
	})
}

// drainStops takes the stops that have arrived and were not yet received: the
// loop must not pass a boundary that they would have closed.
func (s *session) drainStops() {
	stops := workflow.GetSignalChannel(s.root, string(domain.SignalStop))
	for {
		var raw converter.RawValue
		if !stops.ReceiveAsync(&raw) {
			return
		}
		s.takeStop(readStop(raw))
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
	switch {
	case !s.state.HasActiveExecution():
		workflow.GetLogger(s.root).Info("stop dropped: no execution is in progress")
		return
	case !request.ExecutionID.IsZero() && request.ExecutionID != execution.ID():
		workflow.GetLogger(s.root).Info("stop dropped: it names another execution", "execution_id", request.ExecutionID)
		return
	}
	source := request.Source
	if source == "" {
		source = "user"
	}
	s.signal(domain.UserRequested, source, request.Reason)
	s.stop.mode = s.stop.mode.Stronger(request.Mode)
	if s.stop.now() {
		s.cancelWork()
		return
	}
	if within := time.Duration(request.Within); within > 0 {
		s.after(within, func() {
			s.stop.mode = domain.StopNow
			s.cancelWork()
		})
	}
}

// after does something later, unless the execution ends first. Its timer is
// cancelled with the execution, so none is left behind.
func (s *session) after(delay time.Duration, do func()) {
	ctx, cancel := workflow.WithCancel(s.root)
	s.stop.cancelTimers = append(s.stop.cancelTimers, cancel)
	timer := workflow.NewTimer(ctx, delay)
	workflow.GoNamed(s.root, "after", func(ctx workflow.Context) {
		if timer.Get(ctx, nil) == nil {
			do()
		}
	})
}

// watchTime interrupts the execution when its time is over.
func (s *session) watchTime() {
	budget, now := s.budget(), s.now()
	started, _ := s.state.ExecutionStartedAt()
	if limit := budget.MaxSeconds; limit != nil {
		left := time.Duration(*limit*float64(time.Second)) - now.Sub(started)
		s.interruptAfter(left, "max_seconds is reached")
	}
	if limit := budget.Deadline; limit != nil {
		s.interruptAfter(limit.Sub(now), "the deadline has passed")
	}
}

// interruptAfter ends the execution by its time limit. Time that is over
// already is found by the check before the next step.
func (s *session) interruptAfter(left time.Duration, message string) {
	if left <= 0 {
		return
	}
	s.after(left, func() {
		s.signal(domain.TimeLimitReached, "budget", message)
		s.stop.mode = domain.StopNow
		s.cancelWork()
	})
}
