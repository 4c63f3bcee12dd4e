package client

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// TestTreeEvents: what each agent has noted comes once and in order, that of a sub-agent between the events about it, with
// its path; and what cannot be read is told while the others go on.
func TestTreeEvents(t *testing.T) {
	t.Parallel()
	f, ids := grove(t)
	f.by["agent/nora"].newest().ends(outcomeOf(1, 2))
	end := outcomeWith(spawned(nora.id, nth(1), 1, 3, 1), "run-"+ids[3][:4], 1, 7)
	f.by["agent/"+ids[3]].newest().ends(end)
	id := func(of string) domain.AgentID { return must(agentOf(of)).id }
	noted := map[string][]domain.Event{
		"nora": {
			domain.AgentExecutionStarted{Number: 1},
			domain.SubagentSpawning{Subagent: "branch", ChildID: id(ids[0])}, domain.SubagentSpawning{Subagent: "lost", ChildID: id(ids[1])},
			domain.SubagentSpawning{Subagent: "leaf", ChildID: id(ids[3])},
			domain.SubagentCompleted{Subagent: "lost", ChildID: id(ids[1])}, domain.SubagentCompleted{Subagent: "branch", ChildID: id(ids[0])},
			domain.SubagentCompleted{Subagent: "leaf", ChildID: id(ids[3])}, domain.AgentExecutionCompleted{},
		},
		ids[0]: {domain.AgentExecutionStarted{}, domain.SubagentSpawning{Subagent: "twig", ChildID: id(ids[4])}, domain.SubagentCompleted{Subagent: "twig", ChildID: id(ids[4])}, domain.AgentExecutionCompleted{}},
		ids[3]: {domain.AgentExecutionStarted{}, domain.AgentExecutionCompleted{}},
		ids[4]: {domain.AgentExecutionStarted{}, domain.AgentExecutionCompleted{}},
	}
	for workflow, s := range f.by {
		of := strings.TrimPrefix(workflow, "agent/")
		s.query = func(_ context.Context, _, _ string, in any) (any, error) {
			execution := id(of).Execution(s.runs[0].id, 1)
			one := account.Execution{Outcome: contract.Outcome{Number: 1, ExecutionID: execution, Status: domain.StatusCompleted}, Ended: &contract.End{}}
			page := account.Page{Held: account.Held{Executions: []account.HeldExecution{{Number: 1, ID: execution, Step: 1, Event: 1}}}}
			page.Head = &account.Head{Newest: &one}
			request := in.(account.Request)
			if request.Wants(account.Executions) {
				page.Executions = []account.Execution{one}
			}
			for i, e := range noted[of] {
				if n := i + 1; request.Wants(account.Events) && n >= request.From.Item {
					page.Events = append(page.Events, domain.RecordedEvent{Event: numbered(t, e, int64(n))})
				}
			}
			return page, nil
		}
	}
	got := map[string][]int64{}
	var order, gone []string
	for e, err := range New(f, Config{Loopback: true}).TreeEvents(t.Context(), "nora", 0) {
		if err != nil {
			requireClass(t, err, Gone)
			gone = append(gone, err.Error())
			continue
		}
		path := strings.Join(e.Path, "/")
		got[path] = append(got[path], e.Head().Sequence)
		var child domain.AgentID
		switch of := e.Event.(type) {
		case domain.SubagentSpawning:
			child = of.ChildID
		case domain.SubagentCompleted:
			child = of.ChildID
		}
		order = append(order, path+" "+string(domain.EventTypeOf(e.Event))+" "+child.String())
	}
	require.Equal(t, map[string][]int64{"": {1, 2, 3, 4, 5, 6, 7, 8}, "branch": {1, 2, 3, 4}, "leaf": {1, 2}, "branch/twig": {1, 2}}, got)
	require.Len(t, gone, 1)
	require.Contains(t, gone[0], "sub-agent lost ("+ids[1]+")")
	for path, whose := range map[string]string{"branch": ids[0], "leaf": ids[3], "branch/twig": ids[4]} {
		from, to := -1, -1
		for i, line := range order {
			if strings.HasSuffix(line, "SubagentSpawning "+whose) {
				from = i
			}
			if strings.HasSuffix(line, "SubagentCompleted "+whose) {
				to = i
			}
		}
		for i, line := range order {
			if strings.HasPrefix(line, path+" ") {
				require.True(t, from < i && i < to, "%s: %v", path, order)
			}
		}
	}
	require.Equal(t, order[len(order)-1], " AgentExecutionCompleted "+domain.AgentID{}.String())
}

// numbered is an event with its place among those of its agent.
func numbered(t *testing.T, e domain.Event, n int64) domain.Event {
	t.Helper()
	head := domain.EventHeader{Sequence: n}
	switch of := e.(type) {
	case domain.AgentExecutionStarted:
		of.EventHeader = head
		return of
	case domain.SubagentSpawning:
		of.EventHeader = head
		return of
	case domain.SubagentCompleted:
		of.EventHeader, of.Status = head, domain.StatusCompleted
		return of
	case domain.AgentExecutionCompleted:
		of.EventHeader, of.Status, of.StopReason = head, domain.StatusCompleted, domain.Completed
		return of
	}
	require.Fail(t, "another event")
	return nil
}

// TestTreeEventAsJSON: an event of the agent itself is as it always was, one of a sub-agent has two fields more.
func TestTreeEventAsJSON(t *testing.T) {
	t.Parallel()
	e := domain.AgentStepStarted{EventHeader: domain.EventHeader{Sequence: 3, Step: 1}}
	plain, err := json.Marshal(domain.RecordedEvent{Event: e})
	require.NoError(t, err)
	got, err := json.Marshal(TreeEvent{Event: e})
	require.NoError(t, err)
	require.Equal(t, string(plain), string(got))
	got, err = json.Marshal(TreeEvent{e, []string{"branch", "twig"}})
	require.NoError(t, err)
	require.Equal(t, strings.TrimSuffix(string(plain), "}")+`,"depth":2,"path":["branch","twig"]}`, string(got))
}
