package agentfile

import (
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/domain"
	"everstep/domain/enum"
)

// A permitted is what a file says of the tools that a word means.
type permitted struct {
	tools []string
	then  domain.Permission
}

func (p permitted) covers(name string) bool {
	return slices.ContainsFunc(p.tools, func(tool string) bool { return like(tool, name) })
}

// permissionMode makes approvals stricter, and is named where it would loosen them.
func (t *foreigner) permissionMode(mode string) string {
	switch canonical(mode) {
	case "plan":
		t.tighten(domain.ApprovalRule{Effects: []domain.Effect{domain.Idempotent, domain.Keyed, domain.AtMostOnce}, Then: domain.Deny})
	case "default", "manual", "ask":
	case "dontask":
		t.ignored = append(t.ignored, "permissionMode "+mode+" (what would be refused unasked waits for a person; approvals of a file of ours deny it)")
	default:
		t.ignored = append(t.ignored, "permissionMode "+document.Shorten(mode)+" (the worker's approvals hold)")
	}
	return ""
}

// permission is opencode's: allow, ask or deny, for all tools or by tool, or by patterns of its arguments. Of those the one
// for all counts, where no other says otherwise; else each call of the tool waits.
func (t *foreigner) permission(r *document.Reader, field string, node *yaml.Node) {
	const fix = "give allow, ask or deny"
	all := &yaml.Node{Kind: yaml.ScalarNode, Value: "*"}
	if node.Kind == yaml.ScalarNode {
		node = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{all, node}}
	}
	if node.Kind != yaml.MappingNode {
		r.Problem(node, field, "is %s; "+fix, document.Describe(node))
		return
	}
	t.pairs(r, field, node, func(tool string, value *yaml.Node) string {
		patterns := []*yaml.Node{all, value}
		if value.Kind == yaml.MappingNode {
			patterns = value.Content
		}
		var then domain.Permission
		one, whole := true, false
		for i := 0; i+1 < len(patterns); i += 2 {
			before := then
			if then.UnmarshalText([]byte(patterns[i+1].Value)) != nil {
				return fix
			}
			one, whole = one && (before == "" || before == then), whole || patterns[i].Value == all.Value
		}
		switch {
		case then == "":
			return fix
		case one && (whole || then == domain.Allow):
			t.permit(tool, then)
		default:
			t.permit(tool, domain.AskFirst)
			t.tools.bounded = append(t.tools.bounded, tool)
		}
		return ""
	})
}

// permit notes what the file says of tools. It loosens nothing but what the file itself has said before.
func (t *foreigner) permit(word string, then domain.Permission) {
	one := permitted{[]string{"*"}, then}
	if word != "*" {
		one.tools = t.tools.covered(word, openCode)
	}
	if then == domain.Allow && !slices.ContainsFunc(t.permissions, func(p permitted) bool { return slices.ContainsFunc(one.tools, p.covers) }) {
		t.ignored = append(t.ignored, "permission "+document.Shorten(word)+": allow (the worker's approvals hold)")
	}
	t.permissions = append(t.permissions, one)
}

// settlePermissions takes tools away, and has rules for others, also for those that an agent above gives.
func (t *foreigner) settlePermissions() {
	order := enum.Known[domain.Permission]()
	said := func(name string) domain.Permission {
		for _, p := range slices.Backward(t.permissions) {
			if p.covers(name) {
				return p.then
			}
		}
		return domain.Allow
	}
	t.tools.names = slices.DeleteFunc(t.tools.names, func(name string) bool { return said(name) == domain.Deny })
	var patterns []string
	for _, p := range t.permissions {
		patterns = append(patterns, p.tools...)
	}
	rest := slices.Index(order, said("*"))
	each := slices.ContainsFunc(t.permissions, func(p permitted) bool { return slices.Index(order, p.then) < rest })
	if each { // some are freer than the rest, so that the rest has to be named
		t.tools.all = false
		patterns = append(patterns, t.tools.names...)
	}
	for _, pattern := range patterns {
		rule := domain.ApprovalRule{Tool: pattern, Then: said(pattern)}
		switch {
		case rule.Then == domain.Allow, pattern == "*" && each:
			continue
		case pattern == "*":
			rule.Tool = ""
		}
		t.tighten(rule)
	}
}

func (t *foreigner) tighten(rule domain.ApprovalRule) {
	rule.Tightens = true
	if !slices.ContainsFunc(t.rules, func(r domain.ApprovalRule) bool { return reflect.DeepEqual(r, rule) }) {
		t.rules = append(t.rules, rule)
	}
}
