package client

import (
	"fmt"
	"slices"
	"time"

	"everstep/domain"
)

// identity adds the model and what the execution goes on from.
func (e *explanation) identity(v *ExplainView) {
	model, origin := e.then.Model, e.at.Origin
	if e.status != nil {
		model, origin = e.status.Model, e.status.Origin
	}
	if model != "" {
		v.Model = &model
	}
	if !origin.IsZero() {
		v.Origin = &origin
	}
}

// doing says what goes on in a running execution.
func (e *explanation) doing() *ExplainDoing {
	view := e.status
	if view == nil {
		view = new(e.runningView(e.pending))
	}
	d := &ExplainDoing{Text: view.Doing, Since: timeOf(view.Since), Paused: view.Paused, Signals: []ExplainSignal{}}
	c, _ := e.continuation()
	for _, signal := range c.StopSignals {
		d.Signals = append(d.Signals, explainSignal(signal, SignalPending))
	}
	for _, signal := range c.Overridden {
		d.Signals = append(d.Signals, explainSignal(signal, SignalOverridden))
	}
	return d
}

// context is how full the window is; nil where nobody can tell.
func (e *explanation) context() *ExplainContext {
	tokens, window := e.at.Fill, e.then.Window
	if e.status != nil && e.status.Context > 0 {
		tokens, window = e.status.Context, max(e.status.Window, window)
	}
	if tokens == 0 {
		return nil
	}
	c := &ExplainContext{Tokens: tokens}
	if window > 0 {
		c.Window, c.Share = &window, new(float64(tokens)/float64(window))
	}
	return c
}

// ending says why the execution ended.
func (e *explanation) ending(limits []ExplainLimit) *ExplainEnding {
	c, whole := e.continuation()
	end := &ExplainEnding{StopReason: e.outcome.StopReason, Others: []ExplainSignal{}}
	counting := counts(c.StopSignals, end.StopReason)
	if counting < 0 && end.StopReason != domain.Completed && end.StopReason != "" {
		c.StopSignals = append(slices.Clip(c.StopSignals), domain.StopSignal{Reason: end.StopReason, Message: e.limitSaid(limits)})
		counting = len(c.StopSignals) - 1
	}
	for i, signal := range c.StopSignals {
		s := explainSignal(signal, SignalOutranked)
		if i == counting {
			s.Fate = SignalCounted
			end.Signal = &s
			continue
		}
		end.Others = append(end.Others, s)
	}
	for _, signal := range c.Overridden {
		end.Others = append(end.Others, explainSignal(signal, SignalOverridden))
	}
	for _, signal := range c.Late {
		end.Others = append(end.Others, explainSignal(signal, SignalLate))
	}
	if !whole && e.told {
		e.miss("signals that came after the last step")
	}
	if e.outcome.Status == domain.StatusFailed {
		end.Error = e.error()
	}
	end.Summary = e.summary(end)
	return end
}

// counts is the index of the signal that counted, -1 where it is not among them.
func counts(signals []domain.StopSignal, reason domain.StopReason) int {
	for i, s := range signals {
		if s.Reason == reason {
			return i
		}
	}
	return -1
}

func explainSignal(s domain.StopSignal, fate SignalFate) ExplainSignal {
	return ExplainSignal{Reason: s.Reason, Source: s.Source, Message: s.Message, Fate: fate}
}

// limitSaid is what a limit's signal says, as far as the budget tells it.
func (e *explanation) limitSaid(limits []ExplainLimit) string {
	for _, l := range limits {
		if l.Reached && l.Total != nil && l.Used != nil && l.Prior != nil {
			return fmt.Sprintf("%s is %s and %s are used", l.Limit, amount(l.Unit, *l.Total), amount(l.Unit, *l.Used+*l.Prior))
		}
	}
	return ""
}

// error is why the execution failed.
func (e *explanation) error() *domain.Error {
	if e.failure != nil {
		return e.failure
	}
	if e.status != nil && e.status.Error != nil {
		return e.status.Error
	}
	told := failureOf(*e.outcome)
	if e.byServerHere() {
		return told
	}
	recorded := e.recorded()
	if n := len(recorded); n > 0 && len(recorded[n-1].Errors) > 0 {
		last := recorded[n-1].Errors[len(recorded[n-1].Errors)-1]
		if e.outcome.Code == "" || e.outcome.Code == last.Code {
			return &last
		}
	}
	return told
}

// summary says in one sentence why the execution ended.
func (e *explanation) summary(end *ExplainEnding) string {
	said := ""
	source := ""
	if end.Signal != nil {
		source = end.Signal.Source
		if end.Signal.Message != "" {
			said = ": " + end.Signal.Message
		}
	}
	if end.StopReason.OfLimit() {
		return "it reached its limit of " + limitWord(end.StopReason) + said
	}
	switch end.StopReason {
	case domain.ErrorForbade:
		if end.Error != nil {
			return "it failed: " + end.Error.Message
		}
		return "it failed" + said
	case domain.StopRequested:
		return orSomebody(source, "a hook or a tool") + " asked it to stop" + said
	case domain.RetryLimitReached:
		return "its answers did not pass their check too often" + said
	case domain.FinishReasonReceived:
		return "the model ended with a finish reason at which a guard stops" + said
	case domain.UserRequested:
		if source == "server" {
			return "the workflow was cancelled with the server's own tools" + said
		}
		return orSomebody(source, "a user") + " asked it to stop" + said
	case domain.Completed:
		return "the agent was done: the model gave its answer and asked for nothing more"
	case domain.Unknown:
		return "something asked it to stop and did not say why" + said
	default:
	}
	return "nobody can tell why it ended"
}

func orSomebody(source, somebody string) string {
	switch source {
	case "":
		return somebody
	case "user":
		return "a user"
	}
	return source
}

// limitWord is what the limit of a reason counts, in a word.
func limitWord(reason domain.StopReason) string {
	for _, rule := range domain.LimitRules() {
		if rule.Reason == reason {
			return rule.Counts()
		}
	}
	return string(reason)
}

// amount is a number of a limit in words.
func amount(unit domain.Unit, n int64) string {
	if unit == domain.UnitMilliseconds {
		return (time.Duration(n) * time.Millisecond).String()
	}
	return domain.Count(unit, n).String()
}
