package agentfile

import (
	"cmp"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/domain"
)

// approvals are a word for all calls, or a list of rules.
func approvals(into **domain.Approvals) document.Value {
	all := (*into).Word()
	rules := []domain.ApprovalRule{}
	if *into != nil {
		rules = (*into).Rules
	}
	word := document.Word(&all, domain.ApprovalWords())
	list := document.ListOf(&rules, approvalRule)
	either := document.Either(word, list)
	either.Shown = cmp.Or(word.Shown, list.Shown)
	either.Read = func(at document.Place) {
		if at.Node.Kind == yaml.ScalarNode {
			if word.Read(at); all != "" {
				*into = domain.ApprovalsOf(all)
			}
			return
		}
		list.Read(at)
		*into = &domain.Approvals{Rules: rules}
	}
	return either
}

func approvalRule(rule *domain.ApprovalRule) document.Value {
	keys := document.Keys{
		{Name: "tool", Doc: "The tool's name, where * is any text and ? one character; every tool unless given.", Value: document.Text(&rule.Tool)},
		{Name: "arguments", Doc: "Patterns by path, such as order.id or items.*.price: a text with * and ?, a number, true, false, or bounds of a number, {at_least: 1, at_most: 50}. All of them have to match.",
			Value: decoded(&rule.Arguments)},
		{Name: "effects", Doc: "The effects that the tool may have; any unless given.",
			Value: document.ListOf(&rule.Effects, wordOf)},
		{Name: "hints", Doc: "What the tool's MCP server says of it, or leaves open; one has to hold. Such a rule asks or denies, and later rules do not make that freer.",
			Value: document.ListOf(&rule.Hints, wordOf)},
		{Name: "trusted", Doc: "Patterns as of arguments for trusted values, such as customer.group: their names, and paths into them.",
			Value: decoded(&rule.Trusted)},
		{Name: "then", Doc: "allow: the call runs. ask: it waits for a person. deny: it does not run.", Needed: "say allow, ask or deny",
			Value: wordOf(&rule.Then)},
		{Name: "expires_after", Doc: "For how long a person is asked; for good unless given.",
			Value: duration(&rule.ExpiresAfter)},
		{Name: "at_expiry", Doc: "What comes then: the call is denied, and with stop the execution stops, too.",
			Value: wordOf(&rule.AtExpiry).Implied(domain.ExpiryDenies)},
		{Name: "tightens", Doc: "The rule, which asks or denies, makes nothing freer: later rules count where they are stricter, and where all rules tighten the worker's, too.",
			Value: truth(&rule.Tightens).Implied(false)},
		{Name: "asked", Doc: "The rule tightens: the calls that all others together would ask a person about, wherever they stand, are denied.",
			Value: truth(&rule.Asked).Implied(false)},
	}
	return document.Mapping(keys)
}
