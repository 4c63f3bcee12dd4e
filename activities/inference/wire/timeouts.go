package wire

import (
	"cmp"
	"time"

	"everstep/domain"
)

// Timeouts bound the parts of an attempt. The whole of it is bounded by its
// context. A zero one is its default.
type Timeouts struct {
	// Connect bounds the wait for a connection that is ready, its handshake
	// included. The default is ten seconds.
	Connect time.Duration
	// FirstByte bounds the wait from then to the first byte of the answer's
	// body, the sending of the request included. The default is five minutes,
	// for models that reason before they speak.
	FirstByte time.Duration
	// Idle bounds the wait between two pieces of the answer, of which a comment
	// is one. The default is two minutes.
	Idle time.Duration
}

const (
	defaultConnect   = 10 * time.Second
	defaultFirstByte = 5 * time.Minute
	defaultIdle      = 2 * time.Minute
	// trailerTimeout bounds the wait for what may follow a whole answer: its
	// usage and the end of the stream.
	trailerTimeout = 5 * time.Second
)

// with returns the time-outs with those that an agent sets in their place.
func (t Timeouts) with(own domain.Timeouts) Timeouts {
	return Timeouts{
		Connect: cmp.Or(own.Connect, t.Connect), FirstByte: cmp.Or(own.FirstByte, t.FirstByte), Idle: cmp.Or(own.Idle, t.Idle),
	}
}

func (t Timeouts) withDefaults() Timeouts {
	if t.Connect <= 0 {
		t.Connect = defaultConnect
	}
	if t.FirstByte <= 0 {
		t.FirstByte = defaultFirstByte
	}
	if t.Idle <= 0 {
		t.Idle = defaultIdle
	}
	return t
}
