package domain

// Guards are the built-in hooks that an agent can set. What is absent has its default; what a worker has resolved sets all.
type Guards struct {
	// FinishReasons end the loop after a step whose inference had one of them.
	FinishReasons []FinishReason `json:"finish_reasons,omitempty"`
	// Repetition watches for equal tool calls without progress.
	Repetition *Repetition `json:"repeated_calls,omitempty"`
	// OutputRetries bounds how often an answer that does not fit is asked for again.
	OutputRetries *int `json:"output_retries,omitempty"`
	// FinalAnswer withholds the tools at the last step, and tells the model to answer.
	FinalAnswer bool `json:"final_answer,omitzero"`
}

// A Repetition bounds how often in a row a step, or a cycle of up to MaxCycle steps, makes the same tool calls and gets
// the same results: see Cycles.
type Repetition struct {
	// Nudge is after how many times the model is told; zero: never.
	Nudge int `json:"nudge_after,omitzero"`
	// Stop is after how many times the execution is stopped; zero: never.
	Stop int `json:"stop_after,omitzero"`
}

const (
	// DefaultOutputRetries is how often an invalid answer is asked for again.
	DefaultOutputRetries = 2
	// DefaultNudge is after how many equal steps, or cycles of them, the model is told.
	DefaultNudge = 5
	// DefaultStop is after how many the execution is stopped.
	DefaultStop = 10
	// MaxOutputRetries bounds what a definition may ask for.
	MaxOutputRetries = 100
)

// WithDefaults returns the guards with all that is absent set.
func (g Guards) WithDefaults() Guards {
	if g.Repetition == nil {
		g.Repetition = &Repetition{Nudge: DefaultNudge, Stop: DefaultStop}
	}
	if g.OutputRetries == nil {
		g.OutputRetries = new(DefaultOutputRetries)
	}
	return g
}

// Check says which guard makes no sense.
func (g Guards) Check() error {
	if err := checkWords(g); err != nil {
		return invalid(in("guards", err))
	}
	if r := g.Repetition; r != nil {
		switch {
		case r.Nudge < 0 || r.Nudge == 1:
			return Errorf(Invalid, "guards.repeated_calls.nudge_after: is %d; give 2 or more, or 0 for never", r.Nudge)
		case r.Stop < 0 || r.Stop == 1:
			return Errorf(Invalid, "guards.repeated_calls.stop_after: is %d; give 2 or more, or 0 for never", r.Stop)
		case r.Stop > 0 && r.Nudge >= r.Stop:
			return Errorf(Invalid, "guards.repeated_calls: nudge_after is %d and stop_after %d; the nudge has to come first", r.Nudge, r.Stop)
		}
	}
	if n := g.OutputRetries; n != nil && (*n < 0 || *n > MaxOutputRetries) {
		return Errorf(Invalid, "guards.output_retries: is %d; give 0 to %d", *n, MaxOutputRetries)
	}
	return nil
}
