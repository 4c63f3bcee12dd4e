package whole_test

import (
	"bytes"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/activities/record"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/testsuite/stores"
	"everstep/worker/host"
)

// talked is a closed session of two executions, whose worker records.
func (s *stack) talked(t *testing.T, name string) {
	t.Helper()
	s.starts(t, client.Start{ID: name, Prompt: "Where is quagga1?", Definition: scripted(writeScript(t, "turns: [{text: In zorilla2.}, {text: Gone.}]"))})
	s.result(t, name, 1)
	s.sent(t, name, client.SendOptions{Prompt: "more"})
	s.result(t, name, 2)
	s.closes(t, name)
}

// forgets has the server delete all runs of an agent, as its retention does, and waits until they are gone.
func (s *stack) forgets(t *testing.T, name string) {
	t.Helper()
	_, err := s.temporal.WorkflowService().DeleteWorkflowExecution(within(t), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: domain.WorkflowID(name)},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := s.agents.Status(within(t), name)
		return errors.Is(err, &client.Error{Class: client.NotFound})
	}, patience, 50*time.Millisecond)
}

// reads is all that is told of an agent, as text: what is gone is told too.
func reads(t *testing.T, c *client.Client, name string) string {
	t.Helper()
	var told strings.Builder
	note := func(value any, err error) {
		if err != nil {
			value = err.Error()
		}
		told.WriteString(encoded(t, value) + "\n")
	}
	for n := 1; n <= 2; n++ {
		for step, err := range c.Steps(within(t), name, n) {
			note(step, err)
		}
		r, err := c.Result(within(t), name, n)
		note([]any{r.Answer, r.Outcome, r.ID}, err)
		v, err := c.Explain(within(t), name, n)
		ending := ""
		if v.Ending != nil {
			ending = v.Ending.Summary
		}
		note([]any{v.Status, len(v.Steps), v.Totals, ending, v.ExecutionID}, err)
	}
	for m, err := range c.Messages(within(t), name) {
		note(m, err)
	}
	for past, err := range c.Executions(within(t), name) {
		past.StartedAt, past.EndedAt, past.RunID = past.StartedAt.Truncate(time.Second), past.EndedAt.Truncate(time.Second), ""
		note([]any{past.Number, past.ExecutionID, past.Status, past.Steps, past.TotalTokens, past.CostNanoUSD}, err)
	}
	return told.String()
}

// TestRecordsOutlastTheServer: what the server has deleted is read from the records as it was, and after an export and an
// import from another store; without records it is said to be gone.
func TestRecordsOutlastTheServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "records")
	s := start(t, host.Config{Records: dir})
	name := s.named("outlasts")
	s.talked(t, name)
	recordedIn(t, storeAt(t, dir), name, 2)
	before := reads(t, s.agents, name)
	require.Contains(t, before, "zorilla2")
	require.Equal(t, before, reads(t, s.over(storeAt(t, dir)), name), "as long as the server has it, it tells")
	exported := s.exports(t, name, 0)
	second := s.exports(t, name, 2)
	require.Len(t, second.Records, 1)

	s.forgets(t, name)
	require.NotContains(t, reads(t, s.agents, name), "zorilla2")
	require.Equal(t, before, reads(t, s.over(storeAt(t, dir)), name))

	kept, err := s.over(storeAt(t, dir)).Export(within(t), name, 0)
	require.NoError(t, err)
	require.Equal(t, encoded(t, exported.Records), encoded(t, kept.Records), "the server told what was recorded")
	var file bytes.Buffer
	require.NoError(t, record.Compressed(&file, kept.Records...))
	other := storeAt(t, filepath.Join(t.TempDir(), "other"))
	done, err := record.Import(t.Context(), other, record.All(bytes.NewReader(file.Bytes())), time.Now())
	require.NoError(t, err)
	require.Len(t, done.New, 2)
	require.Equal(t, before, reads(t, s.over(other), name))
	result, err := s.over(other).Result(within(t), name, 1)
	require.NoError(t, err)
	require.Equal(t, contract.FromRecords, result.Source)

	_, err = s.over(other).Send(within(t), name, client.SendOptions{Prompt: "more"})
	require.ErrorIs(t, err, &client.Error{Class: client.NotFound}, "no workflow of it is here")
	_, err = s.agents.Result(within(t), name, 1)
	require.ErrorIs(t, err, &client.Error{Class: client.NotFound})
}

// TestForkOfAnImportedAgent: it has its messages byte for byte, and its model answers to them; nothing is asked again. What
// the file does not tell, tools among it, is not made up.
func TestForkOfAnImportedAgent(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Records: filepath.Join(t.TempDir(), "records"), Tools: []tool.Tool{echo()}})
	name := s.named("imported")
	s.talked(t, name)
	said := s.messages(t, name)
	store, exported := s.moved(t, name)
	var notes []string
	c := client.New(s.temporal, client.Config{TaskQueue: s.queue, Loopback: true, Records: store, Progress: func(text string) { notes = append(notes, text) }})

	model := scripted(writeScript(t, "turns: [{text: one}, {text: two}, {text: The third.}]")).Model
	x, err := c.Fork(within(t), client.Point{ID: name}, client.ForkOptions{ID: name + "-on", Prompt: "and on", Model: &model})
	require.NoError(t, err)
	require.Contains(t, strings.Join(notes, "\n"), "records do not tell which tools an agent may use")
	require.Equal(t, "The third.", s.result(t, x.ID, 1).Answer)
	forked := s.messages(t, x.ID)
	require.Len(t, forked, len(said)+2)
	for i := range said {
		require.JSONEq(t, encoded(t, said[i].Message), encoded(t, forked[i].Message), "its digest is not the file's")
	}
	require.Equal(t, exported[1].ExecutionID, s.explains(t, x.ID, 1).BranchedFrom.ExecutionID)

	definition := scripted(writeScript(t, "turns: [{tool_calls: [{name: echo, arguments: {text: hi}}]}, {text: Echoed.}]"), "echo")
	x, err = c.Fork(within(t), client.Point{ID: name, Execution: "1", Step: new(0)}, client.ForkOptions{ID: name + "-anew", Prompt: "anew", Definition: &definition})
	require.NoError(t, err)
	require.Equal(t, "Echoed.", s.result(t, x.ID, 1).Answer, "it has the tools that it was given")
	require.Equal(t, "anew", s.messages(t, x.ID)[0].Message.Text())

	// A part of an agent does not do.
	_, err = s.over(importedInto(t, exported[1])).Fork(within(t), client.Point{ID: name}, client.ForkOptions{Prompt: "and on"})
	require.ErrorIs(t, err, &client.Error{Class: client.Gone})
	require.ErrorContains(t, err, "export the whole agent")
}

// TestForgedImportsAreNotForked: a file can say anything; what would break the fork's workflow is refused.
func TestForgedImportsAreNotForked(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	name := s.named("forged")
	r := stores.Sample(t, name, 1)[0]
	r.Steps[0].Step.Input.Messages = 2
	r.Messages[0].Message = domain.Message{Role: domain.RoleTool, ToolResult: &domain.ToolResult{CallID: "x"}}
	_, err := s.over(importedInto(t, r)).Fork(within(t), client.Point{ID: name}, client.ForkOptions{Prompt: "on"})
	require.ErrorIs(t, err, &client.Error{Class: client.Invalid})
	require.ErrorContains(t, err, "messages[0]")
}

// requireExports: without records an export has the same, from the server.
func (s *stack) requireExports(t *testing.T, name string, want ...record.Record) {
	t.Helper()
	x := s.exports(t, name, 0)
	require.Empty(t, x.Gone)
	require.Len(t, x.Records, len(want))
	for i := range want {
		want[i].Moved, x.Records[i].Moved = nil, nil
		require.JSONEq(t, encoded(t, want[i]), encoded(t, x.Records[i]))
	}
}

func inFile(t *testing.T, all ...record.Record) iter.Seq2[record.Record, error] {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, record.Compressed(&file, all...))
	return record.All(bytes.NewReader(file.Bytes()))
}

// TestAForkOfARecordIsBoundAsItsOrigin by the agents above a sub-agent, over a fork of the fork and an import, whatever the
// definition that it is given says.
func TestAForkOfARecordIsBoundAsItsOrigin(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Records: filepath.Join(t.TempDir(), "records"), Tools: []tool.Tool{echo()}})
	free := scripted(writeScript(t, quickLeaf), "echo")
	free.Approvals = domain.ApprovalsOf("allow")
	id := s.boundKid(t)
	for range 2 {
		store, _ := s.moved(t, id)
		fork, err := s.over(store).Fork(within(t), client.Point{ID: id, Step: new(0)}, client.ForkOptions{Prompt: "go", Definition: &free})
		require.NoError(t, err)
		id = s.ended(t, fork).ID
		require.Equal(t, []domain.Code{domain.CodeUnknownTool}, s.refusedWith(t, id), "what denied it the tool is no part of its own definition")
	}
}

// moved imports what an agent has exported into another store, once the server has nothing of it any more.
func (s *stack) moved(t *testing.T, id string) (*record.Store, []record.Record) {
	t.Helper()
	all := s.exports(t, id, 0).Records
	s.forgets(t, id)
	return importedInto(t, all...), all
}

// importedInto is a store with records that came out of a file.
func importedInto(t *testing.T, all ...record.Record) *record.Store {
	t.Helper()
	store := storeAt(t, filepath.Join(t.TempDir(), "other"))
	_, err := record.Import(t.Context(), store, inFile(t, all...), time.Now())
	require.NoError(t, err)
	return store
}
