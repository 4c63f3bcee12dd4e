package client

import (
	"context"
	"slices"

	"everstep/domain"
)

// heardSignals are the signals of an execution as its events tell them: all,
// in order, without their messages.
type heardSignals struct {
	signals []domain.StopSignal
	// inTime is how many of them came before the loop was over.
	inTime int
}

// heard reads the events of an execution that has ended for its signals.
func (c *Client) heard(ctx context.Context, id string, number int) *heardSignals {
	h, over := &heardSignals{}, false
	for event, err := range c.Events(ctx, id, EventsOptions{Number: number}) {
		if err != nil {
			return nil
		}
		switch e := event.(type) {
		case domain.StopSignalReceived:
			h.signals = append(h.signals, domain.StopSignal{Reason: e.Reason, Source: e.Source})
			if !over {
				h.inTime++
			}
		case domain.AgentExecutionStopped:
			over = true
		}
	}
	return h
}

// continuation is what is known of the signals; whole is false where others may
// have come.
func (e *explanation) continuation() (c domain.Continuation, whole bool) {
	switch {
	case e.state != nil:
		return e.state.Continuation(), true
	case len(e.steps) > 0:
		c = e.steps[len(e.steps)-1].Continuation
	case !e.told:
		return domain.Continuation{StopSignals: e.at.Stops}, false
	}
	if e.heard == nil {
		return c, false
	}
	return joined(c, *e.heard), true
}

// joined adds the signals that came after the last step to those that it knew.
func joined(c domain.Continuation, h heardSignals) domain.Continuation {
	c.StopSignals = slices.Clip(c.StopSignals)
	for i := len(c.StopSignals) + len(c.Overridden); i < len(h.signals); i++ {
		if i < h.inTime {
			c.StopSignals = append(c.StopSignals, h.signals[i])
		} else {
			c.Late = append(slices.Clip(c.Late), h.signals[i])
		}
	}
	return c
}
