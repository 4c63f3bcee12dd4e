package workflows

import (
	"encoding/json"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// offered is what a worker has listed for a definition, with what starts sub-agents and hands the conversation over, and
// without what the agents above this one deny it.
func (s session) offered(d domain.Definition, catalog contract.Catalog) contract.Catalog {
	above, hands := s.in.Bounds(), d.HandoffTools()
	if len(d.Subagents)+len(hands) == 0 && len(above.Policies) == 0 {
		return catalog
	}
	tools := slices.DeleteFunc(slices.Clone(catalog.Tools), func(tool domain.ToolSpec) bool {
		return d.Starts(tool.Name) || !above.Permits(tool) || slices.ContainsFunc(hands, func(own domain.ToolSpec) bool { return own.Name == tool.Name })
	})
	if depth, most := s.in.Parent.Below(d.SubagentPolicy); len(d.Subagents) > 0 && depth <= most {
		tools = append(tools, slices.DeleteFunc(d.SpawnTools(), func(tool domain.ToolSpec) bool { return !above.Permits(tool) })...)
	}
	tools = append(tools, slices.DeleteFunc(hands, func(tool domain.ToolSpec) bool { return !above.Permits(tool) })...)
	listed, _ := json.Marshal(tools) // as they were decoded
	catalog.Listed = catalog.Digest
	catalog.Tools, catalog.Digest = tools, domain.DigestOf([]byte(catalog.Digest.String()), listed)
	return catalog
}
