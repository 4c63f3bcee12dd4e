package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"everstep/domain"
	"everstep/starter/client"
)

// Tree is the table of a tree's agents, each above those that it has started, and below it what is not told of them.
func Tree(out *Output, root client.Tree, now time.Time) string {
	t := Table{Head: []string{"AGENT", "STATUS", "STEPS", "TOKENS", "COST", "TOOK", "IN ALL", "", "STEP"}}
	var steps, agents int
	missing := ""
	for one := range root.All() {
		agents++
		steps += value(one.Steps)
		below := []string{"", ""}
		if len(one.Children) > 0 {
			below = useCells(one.Total)
		}
		own := useCells(one.Own)
		t.Rows = append(t.Rows, []string{
			strings.Repeat("  ", one.Depth) + treeName(one), treeStatus(one), countOf(one.Steps), own[0], own[1], took(value(one.StartedAt), value(one.EndedAt), one.Status.Terminal(), now), below[0], below[1],
			where(one.Step > 0, fmt.Sprint(one.Step)),
		})
		if why := Joined("; ", value(one.Error).Message, one.Gone); why != "" {
			missing += out.Theme.Warn(OneLine(treeName(one)+": "+why)) + "\n"
		}
	}
	all := useCells(root.Total)
	t.Rows = append(t.Rows, []string{Counted(agents, "agent"), "", grouped(steps), all[0], all[1], "", "", "", ""})
	return t.Render(out) + missing + treeGrants(out, root)
}

// treeGrants tells who was granted how much of the budget of the agent that started it, when, and what was refused; empty
// where nothing was.
func treeGrants(out *Output, root client.Tree) string {
	text := ""
	for one := range root.All() {
		lines, indent := grantLines(one.Grants), strings.Repeat("  ", max(one.Depth-1, 0))
		if len(lines) > 0 {
			text += indent + treeName(one) + "\n"
		}
		for _, line := range lines {
			text += out.Fold(indent + "  " + line + "\n")
		}
	}
	return Within("\n"+out.Theme.Faint("GRANTS")+"\n", text)
}

// grantLines are the grants of an agent, a line each; none where it had nothing of a budget.
func grantLines(grants []client.TreeGrant) (lines []string) {
	var before domain.ExecutionBudget
	for i, g := range grants {
		began := Budget(g.Grant, domain.ExecutionBudget{})
		switch {
		case i == 0 && began == "":
		case i == 0:
			lines = append(lines, moment(g.At)+" began with "+began)
		default:
			line := moment(g.At) + " was refused more"
			if !g.Refused {
				line = moment(g.At) + " got " + grantedMore(before, g.Grant)
			}
			if asked := g.Asked; asked != nil {
				rule := asked.Limit.Rule()
				line += ", having asked for at least " + limitText(rule, domain.Count(rule.Unit, asked.Need))
			}
			lines = append(lines, line)
		}
		before = g.Grant
	}
	return lines
}

// grantedMore says how much more of each limit a grant has than the one before.
func grantedMore(before, now domain.ExecutionBudget) string {
	var parts []string
	for _, rule := range domain.LimitRules() {
		total, limited := rule.Total(now)
		was, had := rule.Total(before)
		if limited && had && !rule.Unit.OfTime() && total.Int() > was.Int() {
			parts = append(parts, limitText(rule, domain.Count(rule.Unit, total.Int()-was.Int()))+" more, "+limitNumber(total)+" in all")
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "more")
}

// treeName is what an agent is called in its tree, and how its id begins.
func treeName(t *client.Tree) string {
	return Joined(" ", OneLine(t.Subagent), shortAgent(t.ID))
}

func treeStatus(t *client.Tree) string {
	return string(t.Status) + Within(" (", endedBy(t.Code, t.StopReason, t.SessionLimit), ")") + where(t.Gone != "", ", gone")
}

func useCells(u client.TreeUse) []string {
	return []string{where(u.Usage.Estimated, "~") + grouped(u.Usage.TotalTokens()), costOfUse(u.CostNanoUSD, u.Usage)}
}

// A TreeLine is a step of an agent of a tree, or the agent itself, as text; as JSON a step with whose it is.
type TreeLine struct {
	at              client.TreeStep
	AgentID         domain.AgentID         `json:"agent_id"`
	ParentAgentID   domain.AgentID         `json:"parent_agent_id,omitzero"`
	Subagent        string                 `json:"subagent,omitzero"`
	Depth           int                    `json:"depth"`
	ToolExecutionID domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	StepLine
}

// TreeStep is what TreeSteps yields.
func TreeStep(at client.TreeStep) TreeLine {
	a := at.Agent
	l := TreeLine{at: at, AgentID: a.AgentID, ParentAgentID: a.ParentAgentID, Subagent: a.Subagent, Depth: a.Depth, ToolExecutionID: a.ToolExecutionID}
	if at.Step != nil {
		l.StepLine = Step(*at.Step, a.Priced)
	}
	return l
}

// Text is the line, deeper for what is deeper in the tree.
func (l TreeLine) Text(t Theme) string {
	indent, agent := strings.Repeat("    ", l.Depth), l.at.Agent
	if l.at.Step != nil {
		return indent + l.StepLine.Text(t)
	}
	text := indent + t.name(treeName(agent)) + " " + t.Faint(Joined(" · ", treeStatus(agent),
		where(agent.Step > 0, fmt.Sprintf("started in step %d, call %d", agent.Step, agent.Position+1))))
	for _, line := range grantLines(agent.Grants) {
		text += "\n" + indent + "  " + t.Faint(line)
	}
	return text
}
