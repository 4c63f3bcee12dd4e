package workflows

import (
	"encoding/json"
	"slices"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// subagents is the version from which agents start sub-agents, and those keep to what the agents above them allow. An
// older worker offered none of the first, and knew nothing of the others. It must never change.
const subagents = "subagents"

// agentTools is the version from which sub-agents may be tools of their own: an older worker starts all of them with
// SpawnSubagent. It must never change.
const agentTools = "agent-tools"

// starting is a definition as far as it starts others.
func (s session) starting(d domain.Definition) domain.Definition {
	if d.HasAgentTools() && workflow.GetVersion(s.root, agentTools, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return d.AllSpawned()
	}
	return d
}

// handoffs is the version from which an agent hands its conversation over: an older worker offers it no such tool. It must
// never change.
const handoffs = "handoffs"

// handing are the tools with which an agent of a definition hands its conversation over.
func (s session) handing(d domain.Definition) []domain.ToolSpec {
	tools := d.HandoffTools()
	if len(tools) > 0 && workflow.GetVersion(s.root, handoffs, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return nil
	}
	return tools
}

// offered is what a worker has listed for a definition, with what starts sub-agents and hands the conversation over, and
// without what the agents above this one deny it.
func (s session) offered(d domain.Definition, catalog contract.Catalog) contract.Catalog {
	above, hands := s.in.Bounds(), s.handing(d)
	d = s.starting(d)
	if len(d.Subagents)+len(hands) == 0 && len(above.Policies) == 0 ||
		workflow.GetVersion(s.root, subagents, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
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
