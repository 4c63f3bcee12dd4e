package domain

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// MaxCycle is the longest cycle of steps that a Cycles knows again.
const MaxCycle = 8

// Cycles are the newest steps of an execution, as far as it takes to see that they repeat: a few digests and counts,
// however many steps there were. It is a value: With returns another one.
type Cycles struct {
	// Newest are the digests of the newest steps' calls, at most MaxCycle, the newest last.
	Newest []Digest `json:"newest,omitempty"`
	// Same counts for each length of a cycle, at the index length-1, the steps in a row that each had the calls and
	// results of the step so many before.
	Same []int `json:"same,omitempty"`
}

// With returns the cycles after one more step, by its CallsDigest. A step without calls begins anew: what it said is
// something else than what was repeated.
func (c Cycles) With(calls Digest) Cycles {
	if calls.IsZero() {
		return Cycles{}
	}
	next := Cycles{Same: make([]int, min(len(c.Newest), MaxCycle))}
	for i := range next.Same {
		if c.Newest[len(c.Newest)-1-i] != calls {
			continue
		}
		if next.Same[i] = 1; i < len(c.Same) {
			next.Same[i] += c.Same[i]
		}
	}
	next.Newest = append(slices.Clone(c.Newest[max(0, len(c.Newest)-MaxCycle+1):]), calls)
	return next
}

// Repeated says of how many steps the cycle is that was made most often in a row up to now, and how often: A, B, A, B is
// a cycle of two steps that was made twice. whole says that the newest step has just completed it. A step that differs
// from those before is a cycle of one step, made once.
func (c Cycles) Repeated() (length, times int, whole bool) {
	length, times, whole = 1, min(len(c.Newest), 1), true
	for i, same := range c.Same {
		if n := same/(i+1) + 1; n > times {
			length, times, whole = i+1, n, same%(i+1) == 0
		}
	}
	return length, times, whole
}

// CallsDigest names the step's tool calls with their results, in whatever order they were made. It is zero where there
// are none.
func (s AgentStep) CallsDigest() Digest {
	if len(s.ToolExecutions) == 0 {
		return Digest{}
	}
	calls := make([]string, len(s.ToolExecutions))
	for i, t := range s.ToolExecutions {
		calls[i] = t.Digest().String()
	}
	slices.Sort(calls)
	return DigestOfTexts(calls...)
}

// Digest names the call with its result: calls of one tool with equal arguments and equal results have the same. JSON is
// equal whatever the order of its keys, its white space, and how a number or text is written.
func (t ToolExecution) Digest() Digest {
	result := t.ResultDigest
	if t.Error != nil || result.IsZero() {
		result = DigestOfTexts(CanonicalJSON(t.Value))
	}
	parts := []string{t.Call.Name, CanonicalJSON(cmp.Or(t.Call.Arguments, "{}")), string(t.Outcome()), result.String()}
	if t.Error != nil {
		parts = append(parts, string(t.Error.Code), CanonicalJSON(t.Error.Message))
	}
	return DigestOfTexts(parts...)
}

// CanonicalJSON is one text for all JSON texts of a value. A text that is not JSON is returned as it is.
func CanonicalJSON(text string) string {
	if trimmed := strings.TrimSpace(text); trimmed == "" || !strings.ContainsAny(trimmed[:1], `{["`) && !json.Valid([]byte(trimmed)) {
		return text // most results are plain text
	}
	if value, ok := decoded(text); ok {
		return sameJSON(value)
	}
	return text
}
