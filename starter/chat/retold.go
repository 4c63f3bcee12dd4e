package chat

import (
	"encoding/json"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"

	"everstep/starter/client"
)

// mostRetold bounds the turns of the past of which sub-agents are told, the newest ones.
const mostRetold = 5

// A pastEvent is one of an execution that is over.
type pastEvent struct {
	execution domain.ExecutionID
	client.Event
}

// retells asks what sub-agents did in the turns that were read back, whose messages tell nothing of it.
func retells(msg recalled) []want {
	var executions []domain.ExecutionID
	spawned := map[string]bool{}
	for _, entry := range msg.entries {
		for _, call := range entry.Message.ToolCalls {
			spawned[call.ID] = call.Name == domain.SpawnSubagent
		}
		result := entry.Message.ToolResult
		if result == nil {
			continue
		}
		var child contract.ChildResult
		of := domain.TagOf(entry.Message).ExecutionID
		if !spawned[result.CallID] && (json.Unmarshal([]byte(result.Content), &child) != nil || !child.Status.Terminal()) {
			continue
		}
		if of != msg.live && !slices.Contains(executions, of) {
			executions = append(executions, of)
		}
	}
	if len(executions) == 0 {
		return nil
	}
	return []want{wantTell{executions[max(len(executions)-mostRetold, 0):]}}
}

// retell reads what sub-agents did in executions that are over. What can no longer be read is not told: the calls are there.
func (p *performer) retell(w wantTell) retold {
	var all retold
	for past, err := range p.cfg.Agents.Executions(p.ctx, p.cfg.ID) {
		if err != nil || !slices.Contains(w.executions, past.ExecutionID) {
			continue
		}
		for event, err := range p.cfg.Agents.Follow(p.ctx, p.cfg.ID, client.FollowOptions{Number: past.Number, Tree: true}) {
			if err != nil {
				break
			}
			if !event.AgentID.IsZero() || !event.ChildID.IsZero() {
				all.events = append(all.events, pastEvent{past.ExecutionID, event})
			}
		}
	}
	return all
}

// retold has sub-agents stand under the calls that were read back and have started them.
func (m *Model) retold(msg retold) {
	for _, e := range msg.events {
		switch sub := m.subagents.all[e.ChildID]; {
		case !e.AgentID.IsZero():
			m.heardBelow(e.Event, true)
		case e.Type == domain.EventSubagentSpawning && sub == nil:
			m.subagents.joinPast(&m.talk, e)
		default:
			m.subagents.over(e.Event)
		}
	}
}

// joinPast is join for a call that was read back.
func (s *subagents) joinPast(t *talk, e pastEvent) {
	step := e.execution.Step(e.Step)
	at := slices.IndexFunc(t.parts, func(p *part) bool { return p.kind == called && p.step == step && p.key.position == e.Position })
	if at >= 0 {
		t.parts[at].sub = s.add(e.Event)
	}
}
