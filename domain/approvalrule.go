package domain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"everstep/domain/enum"
)

// Approvals say which tool calls run by themselves, which wait for a person, and which never run. The first
// rule that matches decides. Where none does, a call that only reads runs, and any other waits. A rule with hints
// decides nothing but that it is at least as strict, so no server's word lets a call run.
type Approvals struct {
	Rules []ApprovalRule `json:"rules,omitempty"`
}

// An ApprovalRule decides about the calls that it matches: all of its conditions hold. Without any it matches
// every call.
type ApprovalRule struct {
	// Tool is the tool's name, where * stands for any text and ? for one character.
	Tool string `json:"tool,omitzero"`
	// Arguments are patterns by path, such as order.id or items.*.price, where * is every item. A text is
	// compared with * and ? as in Tool, an object such as {"at_most": 50} bounds a number, and any other value
	// has to be equal. A rule that allows needs all the values at a path to match, and each item to have it; any
	// other needs one, also within a list or an object there, or a number as a text. Arguments that two programs could
	// read differently, or of more than 2,000 values, match no rule that allows by arguments, and all others, as do
	// texts above 64 KiB.
	Arguments map[string]json.RawMessage `json:"arguments,omitempty"`
	// Effects are those of the tool, one of which has to be its own.
	Effects []Effect `json:"effects,omitempty"`
	// Hints are those of which one has to hold for the tool, as its server says or leaves open.
	Hints []Hint `json:"hints,omitempty"`
	// Trusted are patterns as of Arguments, by the path of a trusted value, whose first step is its name.
	Trusted map[string]json.RawMessage `json:"trusted,omitempty"`
	Then    Permission                 `json:"then"`
	// ExpiresAfter is for how long people are asked; zero: for good. AtExpiry says what comes then.
	ExpiresAfter time.Duration `json:"expires_after,omitzero"`
	AtExpiry     Expiry        `json:"at_expiry,omitzero"`
	// Tightens means that what comes behind the rule counts, too, where it is stricter: later rules, and those of the
	// worker where all of a definition's rules tighten.
	Tightens bool `json:"tightens,omitzero"`
	// Asked means that the rule is for what all others together would ask about, wherever they stand, and denies that: nobody is
	// asked. It tightens.
	Asked bool `json:"asked,omitzero"`
}

// A Permission says whether a tool call may run.
type Permission string

const (
	// Allow: it runs.
	Allow Permission = "allow"
	// AskFirst: it waits until a person has approved it.
	AskFirst Permission = "ask"
	// Deny: it does not run, and the model is told.
	Deny Permission = "deny"
)

// UnmarshalText accepts the known permissions only, the strictest last.
func (p *Permission) UnmarshalText(text []byte) error {
	return enum.Decode(p, text, "permission", Allow, AskFirst, Deny)
}

// An Expiry says what comes of a call about which nobody has decided in time.
type Expiry string

const (
	// ExpiryDenies denies the call. The default.
	ExpiryDenies Expiry = "deny"
	// ExpiryStops denies it and stops the execution after its step.
	ExpiryStops Expiry = "stop"
)

// UnmarshalText accepts the known ones, and reads the empty text as ExpiryDenies.
func (e *Expiry) UnmarshalText(text []byte) error {
	return enum.DecodeOr(e, text, "at_expiry", ExpiryDenies, ExpiryDenies, ExpiryStops)
}

// ApprovalWords are those that stand for approvals of all calls. writes asks for each call that does not only read.
func ApprovalWords() []string { return []string{"allow", "writes", "ask", "deny"} }

// ApprovalsOf are the approvals that a word stands for.
func ApprovalsOf(word string) *Approvals {
	if word == "writes" {
		return &Approvals{}
	}
	return &Approvals{Rules: []ApprovalRule{{Then: Permission(word)}}}
}

// DefaultApprovals hold where neither definition nor worker say more: each call waits that does not only read.
func DefaultApprovals() *Approvals { return ApprovalsOf("writes") }

// Word is the one that stands for the approvals, empty where none does.
func (a *Approvals) Word() string {
	for _, word := range ApprovalWords() {
		if a != nil && len(a.Rules) == len(ApprovalsOf(word).Rules) && (len(a.Rules) == 0 || reflect.DeepEqual(a, ApprovalsOf(word))) {
			return word
		}
	}
	return ""
}

// Over are the rules with the worker's behind them, where they leave the rest to those: there are none, or all tighten.
func (a *Approvals) Over(worker *Approvals) *Approvals {
	switch {
	case a == nil:
		return worker
	case a.LeaveTheRest():
		return &Approvals{Rules: slices.Concat(a.Rules, worker.Rules)}
	}
	return a
}

// LeaveTheRest reports whether the worker's approvals count, too.
func (a *Approvals) LeaveTheRest() bool {
	return a == nil || len(a.Rules) > 0 && !slices.ContainsFunc(a.Rules, func(r ApprovalRule) bool { return !r.tightens() })
}

func (r ApprovalRule) tightens() bool { return r.Tightens || r.Asked }

// A Ruling is what approvals say about one call, and which rule said so in words.
type Ruling struct {
	Then         Permission
	Rule         string
	ExpiresAfter time.Duration
	AtExpiry     Expiry
	// IfAsked is the rule that denies the call if all approvals together ask; empty: none does.
	IfAsked string
}

// Final is the ruling once all approvals that bound an agent have been heard.
func (r Ruling) Final() Ruling {
	if r.Then == AskFirst && r.IfAsked != "" {
		return Ruling{Then: Deny, Rule: r.IfAsked}
	}
	return r
}

// RuleOn says whether a call may run, before other approvals are heard.
func (a *Approvals) RuleOn(tool ToolSpec, arguments string, trusted Trusted) Ruling {
	var read argumentTree // only where a rule looks at it: arguments may be long, and a workflow decides within a second
	if slices.ContainsFunc(a.Rules, func(r ApprovalRule) bool { return len(r.Arguments) > 0 }) {
		read = readArguments(arguments)
	}
	given := argumentTree{}
	if len(trusted) > 0 {
		encoded, _ := json.Marshal(trusted) // what cannot be encoded is ambiguous
		given = readArguments(string(encoded))
	}
	var hinted Ruling
	if i := slices.IndexFunc(a.Rules, func(r ApprovalRule) bool { return r.Asked && r.matches(tool, read, given) }); i >= 0 {
		hinted.IfAsked = a.name(i)
	}
	for i, rule := range a.Rules {
		if rule.Asked || !rule.matches(tool, read, given) {
			continue
		}
		ruling := Ruling{Then: rule.Then, Rule: a.name(i), ExpiresAfter: rule.ExpiresAfter, AtExpiry: rule.AtExpiry}
		if len(rule.Hints) == 0 && !rule.Tightens {
			return hinted.OrStricter(ruling)
		}
		hinted = hinted.OrStricter(ruling)
	}
	if tool.Effect == ReadOnly {
		return hinted.OrStricter(Ruling{Then: Allow, Rule: "no rule, and it only reads"})
	}
	return hinted.OrStricter(Ruling{Then: AskFirst, Rule: "no rule, and its effect is " + string(tool.Effect)})
}

func (a *Approvals) name(rule int) string {
	return fmt.Sprintf("rule %d (%s)", rule+1, a.Rules[rule])
}

// OrStricter is the other ruling where that is stricter: of two that ask, the one that expires first. Any is stricter than
// the zero one.
func (r Ruling) OrStricter(other Ruling) Ruling {
	permissions := enum.Known[Permission]()
	r.IfAsked = cmp.Or(r.IfAsked, other.IfAsked)
	other.IfAsked = r.IfAsked
	sooner := other.Then == r.Then && other.ExpiresAfter > 0 && (r.ExpiresAfter == 0 || other.ExpiresAfter < r.ExpiresAfter)
	if sooner || slices.Index(permissions, other.Then) > slices.Index(permissions, r.Then) {
		return other
	}
	return r
}

func (r ApprovalRule) matches(tool ToolSpec, read, trusted argumentTree) bool {
	if r.Tool != "" && !matchText(r.Tool, tool.Name) || len(r.Effects) > 0 && !slices.Contains(r.Effects, tool.Effect) {
		return false
	}
	if len(r.Hints) > 0 && !slices.ContainsFunc(r.Hints, tool.Warns) {
		return false
	}
	return r.allMatch(read, r.Arguments) && r.allMatch(trusted, r.Trusted)
}

func (r ApprovalRule) allMatch(values argumentTree, patterns map[string]json.RawMessage) bool {
	for _, path := range sortedKeys(patterns) {
		if !values.match(path, patterns[path], r.Then == Allow) {
			return false
		}
	}
	return true
}

// String names the rule by its conditions.
func (r ApprovalRule) String() string {
	var parts []string
	if r.Tool != "" {
		parts = append(parts, r.Tool)
	}
	for _, path := range sortedKeys(r.Arguments) {
		parts = append(parts, path+" "+Shorten(string(r.Arguments[path]), 48))
	}
	for _, effect := range r.Effects {
		parts = append(parts, string(effect))
	}
	for _, hint := range r.Hints {
		parts = append(parts, string(hint))
	}
	for _, path := range sortedKeys(r.Trusted) {
		parts = append(parts, "trusted "+path+" "+Shorten(string(r.Trusted[path]), 48))
	}
	if len(parts) == 0 {
		parts = []string{"every call"}
	}
	if r.Asked {
		parts = append(parts, "that would be asked about")
	}
	return Shorten(strings.Join(parts, ", "), 160) + ": " + string(r.Then)
}

const (
	maxRules    = 200
	maxPatterns = 20
	maxPattern  = 256
)

// Check says which rule makes no sense.
func (a *Approvals) Check() error {
	if a == nil {
		return nil
	}
	tighten := 0 // the worker's may stand behind these
	for tighten < len(a.Rules) && a.Rules[tighten].tightens() {
		tighten++
	}
	if len(a.Rules)-tighten > maxRules || tighten > maxRules {
		return TooLargef("approvals: has %d rules; at most %d are allowed", len(a.Rules), maxRules)
	}
	for i, rule := range a.Rules {
		if err := rule.check(); err != nil {
			return invalid(inItem("approvals", i, err))
		}
	}
	return nil
}

func (r ApprovalRule) check() error {
	if err := checkWords(r); err != nil {
		return err
	}
	switch {
	case slices.Contains(r.Effects, ""):
		return in("effects", Invalidf("one is empty; give one of %v", enum.Known[Effect]()))
	case r.Asked && r.Then != Deny:
		return in("asked", Invalidf("a rule for what would be asked about denies it; write then: deny, or take asked away"))
	case r.Tightens && r.Then == Allow:
		return in("tightens", Invalidf("a rule that allows makes nothing stricter; take tightens away, or write then: ask or deny"))
	case len(r.Hints) > 0 && r.Then == Allow:
		return in("hints", Invalidf("no server's word lets a call run; take hints away, or write then: ask or deny"))
	case len(r.Tool) > maxPattern || !utf8.ValidString(r.Tool):
		return in("tool", Invalidf("is no name of a tool; give one, with * for any text"))
	case r.ExpiresAfter < 0:
		return in("expires_after", Invalidf("is %s; it may not be negative", r.ExpiresAfter))
	case r.Then != AskFirst && (r.ExpiresAfter > 0 || r.AtExpiry != ""):
		return in("expires_after", Invalidf("only a rule that asks expires; take it and at_expiry away, or write then: ask"))
	case r.AtExpiry != "" && r.ExpiresAfter == 0:
		return in("at_expiry", Invalidf("needs expires_after, such as 24h"))
	}
	return cmp.Or(checkPatterns("arguments", r.Arguments), checkPatterns("trusted", r.Trusted))
}

func checkPatterns(field string, patterns map[string]json.RawMessage) error {
	if len(patterns) > maxPatterns {
		return in(field, TooLargef("has %d patterns; at most %d are allowed", len(patterns), maxPatterns))
	}
	for _, path := range sortedKeys(patterns) {
		if path == "" || slices.Contains(strings.Split(path, "."), "") {
			return in(field, Invalidf("%q is no path; write it like order.id", path))
		}
		if err := checkPattern(patterns[path]); err != nil {
			return in(field+"."+path, err)
		}
	}
	return nil
}

func checkPattern(pattern json.RawMessage) error {
	if len(pattern) > maxPattern {
		return TooLargef("has %d bytes; at most %d are allowed", len(pattern), maxPattern)
	}
	if !json.Valid(pattern) {
		return Invalidf("is not valid JSON; give a text, a number, true, false, null or bounds")
	}
	if !bytes.HasPrefix(bytes.TrimSpace(pattern), []byte{'{'}) {
		return nil
	}
	if least, most, ok := boundsOf(pattern); !ok || least == nil && most == nil {
		return Invalidf("is an object; the only ones are bounds of a number: at_least, at_most")
	}
	return nil
}

// A Hint is what an MCP server may say of a tool of its own, in the words of its protocol (destructiveHint,
// openWorldHint). Nobody knows whether it is true, so rules that look at it only make calls wait or deny them.
type Hint string

const (
	// Destructive tools may change or remove what is there, not only add to it.
	Destructive Hint = "destructive"
	// OpenWorld tools reach beyond a closed set: the web, say, or people.
	OpenWorld Hint = "open_world"
)

// UnmarshalText accepts the known hints only.
func (h *Hint) UnmarshalText(text []byte) error {
	return enum.Decode(h, text, "hint", Destructive, OpenWorld)
}

// Warns reports whether a hint holds for the tool: it is a server's, which has not said that it does not. A tool of the
// worker's own has none.
func (t ToolSpec) Warns(h Hint) bool { return !t.Pin.IsZero() && !slices.Contains(t.Disclaims, h) }
