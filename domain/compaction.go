package domain

// Compaction says when a conversation is made shorter for the model. The
// transcript keeps all of it. In a definition what is absent has its default.
type Compaction struct {
	// Off never compacts: a conversation that outgrows the window fails.
	Off bool `json:"off,omitzero"`
	// TriggerPercent of the window is from where on it compacts; zero is
	// DefaultTriggerPercent.
	TriggerPercent int `json:"trigger_percent,omitzero"`
	// TargetPercent of the window is what it compacts to; zero is
	// DefaultTargetPercent.
	TargetPercent int `json:"target_percent,omitzero"`
}

const (
	// DefaultTriggerPercent leaves a fifth of the window for what estimates miss.
	DefaultTriggerPercent = 80
	// DefaultTargetPercent makes compactions rare, so that what is sent keeps a
	// stable beginning in between.
	DefaultTargetPercent = 40
)

// WithDefaults returns the compaction with all that is absent set.
func (c Compaction) WithDefaults() Compaction {
	if c.TriggerPercent == 0 {
		c.TriggerPercent = DefaultTriggerPercent
	}
	if c.TargetPercent == 0 {
		c.TargetPercent = min(DefaultTargetPercent, c.TriggerPercent/2)
	}
	return c
}

// Check says what makes no sense.
func (c Compaction) Check() error {
	d := c.WithDefaults()
	switch {
	case d.TriggerPercent < 10 || d.TriggerPercent > 95:
		return Errorf(Invalid, "compaction.trigger_percent: is %d; give 10 to 95", d.TriggerPercent)
	case d.TargetPercent < 1 || d.TargetPercent >= d.TriggerPercent:
		return Errorf(Invalid, "compaction.target_percent: is %d; give 1 or more, below trigger_percent, which is %d", d.TargetPercent, d.TriggerPercent)
	}
	return nil
}

// A SummaryRequest makes an inference one that sums up a part of the
// conversation, in place of one that goes on with it.
type SummaryRequest struct {
	// To is the index before which all is summed up, an earlier summary included.
	To int `json:"to"`
	// MaxTokens bounds the summary, and Window what may be read for it.
	MaxTokens int64 `json:"max_tokens,omitzero"`
	Window    int64 `json:"window,omitzero"`
}
