package agentfile

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/domain"
	"everstep/domain/enum"
)

// A permitted is what a file says of the tools that a word means, of which the patterns are some that a word bounds.
type permitted struct {
	tools []string
	then  domain.Permission
	word  string
}

func (p permitted) covers(name string) bool {
	return slices.ContainsFunc(p.tools, func(tool string) bool { return like(tool, name) })
}

// Keys of which the last word counts, each by itself; always adds what no later word takes back.
const (
	byTools = iota
	byPermission
	lastCounts
)

// always has calls of what a word means wait, or denies them, whatever else the file says. What the word bounds waits.
func (t *foreigner) always(word string, then domain.Permission) {
	if then == domain.Allow {
		t.ignore(allowedAnyway, word)
		return
	}
	base, bounded := bounds(word)
	p := permitted{tools: t.covered(base, t.Dialect, true), then: then}
	if bounded {
		p.then, p.word = domain.AskFirst, strings.TrimSpace(word)
	}
	t.said = append(t.said, []permitted{p})
}

// last is what the last word says of a tool, or of a pattern of names.
func last(said []permitted, name string) domain.Permission {
	for _, p := range slices.Backward(said) {
		if p.covers(name) {
			return p.then
		}
	}
	return domain.Allow
}

// then is the strictest of what the keys say of a tool.
func (t *foreigner) then(name string) domain.Permission {
	then := domain.Allow
	for _, said := range t.said {
		if one := last(said, name); stricter(one, then) {
			then = one
		}
	}
	return then
}

func stricter(one, other domain.Permission) bool {
	order := enum.Known[domain.Permission]()
	return slices.Index(order, one) > slices.Index(order, other)
}

// readsAlone denies what does not only read.
func (t *foreigner) readsAlone() {
	t.tighten(domain.ApprovalRule{Effects: []domain.Effect{domain.Idempotent, domain.Keyed, domain.AtMostOnce}, Then: domain.Deny})
}

// permissionMode makes approvals stricter, and is named where it would loosen them.
func (t *foreigner) permissionMode(mode string) string {
	switch canonical(mode) {
	case "plan":
		t.readsAlone()
	case "default", "manual", "ask":
	case "dontask":
		t.tighten(domain.ApprovalRule{Asked: true, Then: domain.Deny})
	default:
		t.ignore("permissionMode %s (the worker's approvals hold)", mode)
	}
	return ""
}

// permission is opencode's: allow, ask or deny, for all tools or by tool, or by patterns of its arguments. Of those the one
// for all counts, where no other says otherwise; else each call of the tool waits. It loosens nothing but what the file
// itself has said before.
func (t *foreigner) permission(at document.Place) {
	const fix = "give allow, ask or deny"
	switch at.Node.Kind {
	case yaml.ScalarNode:
		at.Node = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "*"}, at.Node}}
	case yaml.MappingNode:
	default:
		at.Problem("is %s; "+fix, document.Describe(at.Node))
		return
	}
	t.pairs(at, func(tool string, at document.Place) string {
		var thens []domain.Permission
		value := at.Node
		whole := value.Kind == yaml.ScalarNode
		read := func(pattern string, at document.Place) string {
			var then domain.Permission
			if then.UnmarshalText([]byte(at.Node.Value)) != nil {
				return fix
			}
			thens, whole = append(thens, then), whole || pattern == "*"
			return ""
		}
		switch listed := domain.Permission(tool); {
		case canonical(tool) == "defaultmode":
			return t.permissionMode(value.Value)
		case isAmong(canonical(tool), "additionaldirectories disablebypasspermissionsmode"): // the first widens, the other bounds what does
			t.ignore(keyOnly, tool)
			return ""
		case value.Kind == yaml.SequenceNode && slices.Contains(enum.Known[domain.Permission](), listed): // as Claude Code's settings have them
			reading(func(word string) { t.always(word, listed) })(at)
			return ""
		case value.Kind == yaml.MappingNode:
			t.pairs(at, read)
		default:
			if wrong := read(tool, at); wrong != "" {
				return wrong
			}
		}
		base, bounded := bounds(tool)
		if bounded {
			for _, then := range thens {
				t.always(tool, then)
			}
			return ""
		}
		thens = slices.Compact(thens)
		denies := whole && len(thens) == 1 && thens[0] == domain.Deny
		p := permitted{t.covered(base, openCode, denies), domain.AskFirst, tool}
		switch {
		case len(thens) == 0:
			return ""
		case len(thens) == 1 && (whole || thens[0] == domain.Allow):
			p.then, p.word = thens[0], ""
		}
		said := &t.said[byPermission]
		loosens := func(tool string) bool {
			return slices.ContainsFunc(*said, func(p permitted) bool { return p.covers(tool) })
		}
		if p.then == domain.Allow && !slices.ContainsFunc(p.tools, loosens) { // of what the file itself has said before
			t.ignore(allowedAnyway, tool)
		}
		*said = append(*said, p)
		return ""
	})
}

// settlePermissions takes tools away, and has rules for others, also for those that an agent above gives.
func (t *foreigner) settlePermissions() {
	t.names = slices.DeleteFunc(t.names, func(name string) bool { return t.then(name) == domain.Deny })
	for _, said := range t.said {
		var patterns []string
		for _, p := range said {
			patterns = append(patterns, p.tools...)
		}
		rest := last(said, "*")
		freer := slices.ContainsFunc(patterns, func(pattern string) bool { return stricter(rest, last(said, pattern)) })
		if freer { // so that the rest has to be named
			patterns = append(patterns, t.names...)
		}
		t.all = t.all && !freer && rest != domain.Deny
		for _, pattern := range patterns {
			rule := domain.ApprovalRule{Tool: pattern, Then: last(said, pattern)}
			switch {
			case rule.Then == domain.Allow, pattern == "*" && freer:
				continue
			case pattern == "*":
				rule.Tool = ""
			}
			t.tighten(rule)
		}
	}
}

func (t *foreigner) tighten(rule domain.ApprovalRule) {
	rule.Tightens = true
	if !slices.ContainsFunc(t.rules, func(r domain.ApprovalRule) bool { return reflect.DeepEqual(r, rule) }) {
		t.rules = append(t.rules, rule)
	}
}
