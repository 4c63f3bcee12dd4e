package domain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Guards are what an agent can set of the built-in rules of stopping. What is absent has its default; what a worker has
// resolved sets all. Each field has a row in the table of guards.
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

// maxMisguided is how many steps in a row may ask for tools in vain.
const maxMisguided = 3

// Guarded is what the guards remember of an execution between its steps.
type Guarded struct {
	// Cycles tell whether the newest steps repeat others.
	Cycles Cycles `json:"cycles,omitzero"`
	// Fallback counts the fallbacks that took over from Primary, with which the execution began.
	Fallback int        `json:"fallback,omitzero"`
	Primary  *LLMConfig `json:"primary,omitempty"`
	// Misguided counts the steps in a row whose calls all were of unknown tools or could not be read.
	Misguided int `json:"misguided,omitzero"`
	// Invalid counts the answers that did not fit the response format.
	Invalid int `json:"invalid,omitzero"`
}

// A GuardedStep is a complete step as guards judge it.
type GuardedStep struct {
	AgentStep
	// Unread says that the provider could not read a tool call of the answer, Misfit that the answer does not fit the
	// response format.
	Unread, Misfit bool
}

// A GuardRule is all that tells one guard from the others: whatever deals with guards walks GuardRules. Most of them are
// rules of stopping.
type GuardRule struct {
	// Key is the guard's in an agent's file, and Help what it does, in words. Empty: nothing of it can be set.
	Key, Help string
	// Value is where Guards keep what is set: a *[]FinishReason, a **Repetition, a *bool, or a **int from zero to Most, which
	// is Default where it is absent.
	Value         func(*Guards) any
	Default, Most int
	// Source and Reason are those of the guard's signals. They are recorded.
	Source string
	Reason StopReason
	// judge says why to stop after a step, or what to tell the model; empty: nothing. It notes what the next steps are judged
	// by. Nil: the guard judges no steps.
	judge func(Guards, *Guarded, GuardedStep) (stop StopSignal, nudge string)
}

// GuardRules is the table of guards, in the order in which they judge a step.
func GuardRules() []GuardRule { return slices.Clone(guardRules[:]) }

// guardRules is a constant that the language has no word for.
var guardRules = [...]GuardRule{
	{
		Key: "finish_reasons", Help: "Stops after a step whose inference ended with one of these.",
		Value:  func(g *Guards) any { return &g.FinishReasons },
		Source: "finish_reasons", Reason: FinishReasonReceived,
		judge: func(g Guards, _ *Guarded, s GuardedStep) (stop StopSignal, nudge string) {
			if r := s.Response; r != nil && slices.Contains(g.FinishReasons, r.Finish) {
				stop = stopping(map[string]any{"finish_reason": r.Finish}, "the model ended with %q, which guards.finish_reasons lists", r.Finish)
			}
			return stop, nudge
		},
	},
	{
		// A model that asks, time and again, for what it was told is in vain.
		Source: "misguided_calls", Reason: StopRequested,
		judge: func(_ Guards, seen *Guarded, s GuardedStep) (stop StopSignal, nudge string) {
			taken := slices.ContainsFunc(s.ToolExecutions, func(e ToolExecution) bool {
				return e.Error == nil || e.Error.Kind != Invalid || e.Error.Code != CodeUnknownTool && e.Error.Code != CodeMalformed
			})
			if !s.Unread && (len(s.ToolExecutions) == 0 || taken) {
				seen.Misguided = 0
			} else if seen.Misguided++; seen.Misguided >= maxMisguided {
				stop = stopping(map[string]any{"limit": "misguided_calls", "used": seen.Misguided, "total": maxMisguided, "calls": s.noted()},
					"in %d steps in a row the model asked only for unknown tools or with arguments that no tool takes (%s)",
					seen.Misguided, cmp.Or(CallNames(s.calls()), "which the provider could not read"))
			}
			return stop, nudge
		},
	},
	{
		Key:   "repeated_calls",
		Help:  "How many steps in a row may make the same tool calls with the same results, or how often a cycle of up to 8 steps: then the model is told, then the execution stops. off never minds.",
		Value: func(g *Guards) any { return &g.Repetition }, Source: "repeated_calls", Reason: StopRequested,
		judge: func(g Guards, seen *Guarded, s GuardedStep) (stop StopSignal, nudge string) {
			// A step whose calls the provider could not read is left out: those before and behind it may be the same.
			if g.Repetition == nil || s.Unread && len(s.ToolExecutions) == 0 {
				return stop, nudge
			}
			seen.Cycles = seen.Cycles.With(s.CallsDigest())
			length, times, whole := seen.Cycles.Repeated()
			switch limits := g.Repetition; {
			case times < 2 || !whole:
			case limits.Stop > 0 && times >= limits.Stop:
				stop = stopping(map[string]any{"limit": "repeated_calls.stop_after", "used": times, "total": limits.Stop, "cycle_steps": length, "calls": s.noted()},
					"%s made the same tool calls (%s) and got the same results; guards.repeated_calls.stop_after is %d",
					repeatedSteps(length, times), CallNames(s.calls()), limits.Stop)
			case times == limits.Nudge:
				nudge = fmt.Sprintf("The last %s made the same tool calls with the same arguments and got the same results. "+
					"Repeating them will not help: try something else, or answer with what you have.", repeatedSteps(length, times))
			}
			return stop, nudge
		},
	},
	{
		Key: "output_retries", Help: "How often the model is asked again for an answer that does not fit response_format.",
		Value: func(g *Guards) any { return &g.OutputRetries }, Default: DefaultOutputRetries, Most: MaxOutputRetries,
		Source: SourceOutput, Reason: RetryLimitReached,
		judge: func(g Guards, seen *Guarded, s GuardedStep) (stop StopSignal, nudge string) {
			if retries := g.Retries(); s.Misfit && seen.Invalid > retries {
				stop = stopping(map[string]any{"limit": "output_retries", "used": seen.Invalid, "total": retries, "problems": s.problems()},
					"%d answers in this execution did not fit the response format, and output_retries is %d; "+
						"make the schema or the instruction clearer, or raise guards.output_retries", seen.Invalid, retries)
			}
			return stop, nudge
		},
	},
	{
		Key: "final_answer", Help: "At the last step that max_steps allows, tools are withheld and the model is told to answer.",
		Value: func(g *Guards) any { return &g.FinalAnswer },
	},
}

// Judge is why the guards would stop after a step, each for itself, what they tell the model, and what they remember then.
func (g Guards) Judge(seen Guarded, step GuardedStep) (after Guarded, stops []StopSignal, nudges []string) {
	for _, rule := range guardRules[:] {
		if rule.judge == nil {
			continue
		}
		stop, nudge := rule.judge(g, &seen, step)
		if stop.Message != "" {
			stop.Reason, stop.Source = rule.Reason, rule.Source
			stops = append(stops, stop)
		}
		if nudge != "" {
			nudges = append(nudges, nudge)
		}
	}
	return seen, stops, nudges
}

// stopping is a signal to stop, with data beside its sentence.
func stopping(data map[string]any, format string, args ...any) StopSignal {
	signal := StopSignal{Message: fmt.Sprintf(format, args...)}
	encoded, _ := json.Marshal(data) // of numbers and texts, it cannot fail
	_ = json.Unmarshal(encoded, &signal.Context)
	return signal
}

// WithDefaults returns the guards with all that is absent set.
func (g Guards) WithDefaults() Guards {
	if g.Repetition == nil {
		g.Repetition = &Repetition{Nudge: DefaultNudge, Stop: DefaultStop}
	}
	for _, rule := range guardRules[:] {
		if n, ok := rule.number(&g); ok && *n == nil {
			*n = new(rule.Default)
		}
	}
	return g
}

// Retries is how many answers of an execution may not fit the response format.
func (g Guards) Retries() int { return *cmp.Or(g.OutputRetries, new(DefaultOutputRetries)) }

// number is where guards keep what is set of one that is a whole number.
func (r GuardRule) number(g *Guards) (n **int, ok bool) {
	if r.Value != nil {
		n, ok = r.Value(g).(**int)
	}
	return n, ok
}

// Check says which guard makes no sense.
func (g Guards) Check() error {
	if err := checkWords(g); err != nil {
		return invalid(in("guards", err))
	}
	if r := g.Repetition; r != nil {
		switch {
		case r.Nudge < 0 || r.Nudge == 1:
			return Invalidf("guards.repeated_calls.nudge_after: is %d; give 2 or more, or 0 for never", r.Nudge)
		case r.Stop < 0 || r.Stop == 1:
			return Invalidf("guards.repeated_calls.stop_after: is %d; give 2 or more, or 0 for never", r.Stop)
		case r.Stop > 0 && r.Nudge >= r.Stop:
			return Invalidf("guards.repeated_calls: nudge_after is %d and stop_after %d; the nudge has to come first", r.Nudge, r.Stop)
		}
	}
	for _, rule := range guardRules[:] {
		if n, ok := rule.number(&g); ok && *n != nil && (**n < 0 || **n > rule.Most) {
			return Invalidf("guards.%s: is %d; give 0 to %d", rule.Key, **n, rule.Most)
		}
	}
	return nil
}

// repeatedSteps says how many steps in a row were the same, or in which cycle they came again.
func repeatedSteps(length, times int) string {
	if length == 1 {
		return fmt.Sprintf("%d steps in a row", times)
	}
	return fmt.Sprintf("%d steps in a row, a cycle of %d made %d times,", length*times, length, times)
}

func (s GuardedStep) calls() []ToolCall {
	calls := make([]ToolCall, len(s.ToolExecutions))
	for i, e := range s.ToolExecutions {
		calls[i] = e.Call
	}
	return calls
}

// noted are the step's first calls, as a signal's data hold them.
func (s GuardedStep) noted() []ToolCall {
	const most, longest = 5, 500
	calls := s.calls()
	calls = calls[:min(len(calls), most)]
	for i, c := range calls {
		calls[i].Name, calls[i].Arguments = Shorten(c.Name, longest), Shorten(c.Arguments, longest)
	}
	return calls
}

// problems are what is wrong with the step's answer, each with its place in the schema.
func (s GuardedStep) problems() []string {
	for _, err := range s.Errors {
		if err.Code == CodeInvalidOutput {
			_, list, _ := strings.Cut(err.Message, ": ")
			return strings.Split(strings.TrimSpace(list), "\n")
		}
	}
	return nil
}
