package whole_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/converter"

	"everstep/activities/record"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// A chatterbox is an agent that says distinctive words wherever an agent's words can be: in its prompts, answers, calls and
// results, those too that are compressed, cut and kept whole, over several runs and sessions, and with a sub-agent.
type chatterbox struct {
	*stack
	name             string
	storage, records string
	// secret is in all that the agent and its sub-agents say and hear.
	secret string
}

// babble is a result too long to be shown whole, of which no part is like another.
func babble(secret string) tool.Tool {
	return tool.New("babble", "Says much.", domain.Idempotent, func(context.Context, struct{}) (string, error) {
		var text strings.Builder
		for n := range 8000 {
			fmt.Fprintf(&text, "%s %s\n", secret, hex.EncodeToString(bytes.Repeat([]byte{byte(n), byte(n >> 8), byte(n * 7)}, 3)))
		}
		return text.String(), nil
	})
}

// newChatterbox has it say all that, and closes it.
func newChatterbox(t *testing.T, server, secret string) *chatterbox {
	t.Helper()
	dir := t.TempDir()
	c := &chatterbox{storage: filepath.Join(dir, "storage"), records: filepath.Join(dir, "records"), secret: secret}
	c.stack = startOn(t, server, continuing, host.Config{
		Tools: []tool.Tool{echo(), babble(secret)}, Storage: c.storage, Records: c.records, BuiltinTools: []string{"read_artifact"},
	})
	c.name = c.named("chatterbox")
	c.says(t)
	return c
}

func (c *chatterbox) says(t *testing.T) {
	t.Helper()
	var turns strings.Builder
	turns.WriteString("turns:\n")
	fmt.Fprintf(&turns, "  - tool_calls: [{name: spawn_subagent, arguments: {subagent: below, prompt: 'find %s'}}, {name: babble, arguments: {}}]\n", c.secret)
	for n := range 20 {
		fmt.Fprintf(&turns, "  - {text: '%s %d', tool_calls: [{name: echo, arguments: {text: '%s %d', times: 40}}]}\n", c.secret, n, c.secret, n)
	}
	fmt.Fprintf(&turns, "  - {text: 'all of %s'}\n  - {text: 'more of %s'}\n", c.secret, c.secret)
	d := scripted(writeScript(t, turns.String()), "echo", "babble", "read_artifact")
	d.SystemPrompt = "You know of " + c.secret
	d.Subagents = map[string]domain.Subagent{"below": {Agent: "below", InheritsTools: true}}
	below := scripted(writeScript(t, fmt.Sprintf("turns:\n  - {tool_calls: [{name: babble, arguments: {}}]}\n  - {text: 'found %s'}\n", c.secret)))
	d.Agents = map[string]domain.Definition{"below": {Model: below.Model}}
	x := c.starts(t, client.Start{ID: c.name, Prompt: "What of " + c.secret + "?", Definition: d})
	result := c.result(t, c.name, x.Number)
	require.Equal(t, "all of "+c.secret, result.Answer, "%v", result.Error)
	c.sent(t, c.name, client.SendOptions{Prompt: "And " + c.secret + "?"})
	c.result(t, c.name, 2)
	c.closes(t, c.name)
}

// reach is what of the worker's can be deleted.
func (c *chatterbox) reach(t *testing.T) client.DeleteOptions {
	t.Helper()
	storage, err := host.FindStorage(t.Context(), c.storage)
	require.NoError(t, err)
	t.Cleanup(func() { _ = storage.Close() })
	return client.DeleteOptions{Storage: storage, Records: storeAt(t, c.records)}
}

// pieces are parts of the payloads that are compressed, as the server keeps them: in its files no such payload stands in
// one piece.
func (c *chatterbox) pieces(t *testing.T) (all [][]byte) {
	t.Helper()
	ctx := within(t)
	run, err := c.temporal.DescribeWorkflowExecution(ctx, domain.WorkflowID(c.name), "")
	require.NoError(t, err)
	for id := run.GetWorkflowExecutionInfo().GetFirstRunId(); id != ""; {
		history := c.historyNow(t, domain.WorkflowID(c.name), id)
		id = history.Events[len(history.Events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		require.NoError(t, proxy.VisitPayloads(ctx, history, proxy.VisitPayloadsOptions{
			Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
				for _, p := range payloads {
					if encoding := string(p.GetMetadata()[converter.MetadataEncoding]); !strings.HasPrefix(encoding, "json/") && len(p.GetData()) > 4000 {
						for at := 1000; at+40 < len(p.GetData()); at += 1000 {
							all = append(all, p.GetData()[at:at+40])
						}
					}
				}
				return payloads, nil
			},
		}))
	}
	return all
}

// kept is all that is kept of it, by where.
func (c *chatterbox) kept(t *testing.T, server string) *trove {
	t.Helper()
	v := new(trove)
	v.addState(t, server)
	for place, folder := range map[string]string{"storage": c.storage, "records": c.records} {
		if _, err := os.Stat(folder); err == nil {
			v.addFiles(t, place, folder)
		}
	}
	return v
}

// holds names the places where a text is, and how often.
func (v *trove) holds(text []byte) map[string]int {
	found := map[string]int{}
	for place, data := range v.finds {
		if n := bytes.Count(data, text); n > 0 {
			found[place] = n
		}
	}
	return found
}

// TestDeleteLeavesNothing: in the server's database, the storage and the records, as they lie on the disk, there is no
// word of the agent any more, nor of its sub-agent.
func TestDeleteLeavesNothing(t *testing.T) {
	t.Parallel()
	const server = "deleting"
	c := newChatterbox(t, server, "quagga"+strings.ReplaceAll(newCanary().head, "-", ""))
	c.says(t) // a second session of the same name
	recordedIn(t, storeAt(t, c.records), c.name, 4)
	before, pieces := c.kept(t, server), c.pieces(t)
	for _, place := range []string{"state", "storage", "storage, decoded", "records, decoded"} {
		require.Positive(t, before.holds([]byte(c.secret))[place], "%s has none of it before", place)
	}
	require.NotEmpty(t, pieces, "something is compressed")
	there := 0
	for _, piece := range pieces {
		there += before.holds(piece)["state"]
	}
	require.Positive(t, there)

	done, err := c.agents.Delete(within(t), c.name, c.reach(t))
	require.NoError(t, err)
	require.Equal(t, 2, done.Deleted.Subagents)
	require.Equal(t, 6, done.Deleted.Records, "two of each sub-agent's session, and four")
	require.Greater(t, done.Deleted.Runs, 6)
	require.Positive(t, done.Deleted.Segments)
	require.Equal(t, 4, done.Deleted.Artifacts)
	require.Empty(t, done.Remains)

	require.Empty(t, collect(t, c.agents.List(within(t), client.ListOptions{ListFilter: client.ListFilter{Agent: c.name}, All: true})))
	_, err = c.agents.Status(within(t), c.name)
	require.ErrorIs(t, err, &client.Error{Class: client.NotFound})
	_, err = c.agents.Send(within(t), c.name, client.SendOptions{Prompt: "are you there?"})
	require.ErrorIs(t, err, &client.Error{Class: client.NotFound})
	_, err = c.agents.Delete(within(t), c.name, c.reach(t))
	require.ErrorIs(t, err, &client.Error{Class: client.NotFound})

	c.worker.Stop()
	servers.restart(t, server)
	after := c.kept(t, server)
	require.Empty(t, after.holds([]byte(c.secret)))
	for _, piece := range pieces {
		require.Empty(t, after.holds(piece))
	}
}

// cutOff is a reach that is lost after so many things were done.
type cutOff struct {
	client.Storage
	client.RecordStore
	left int
}

var errCutOff = errors.New("the program was killed")

func (c *cutOff) Name() string { return "cut off" }

func (c *cutOff) DeleteSegments(ctx context.Context, workflowID string) ([]string, error) {
	if c.left--; c.left < 0 {
		return nil, errCutOff
	}
	return c.Storage.DeleteSegments(ctx, workflowID)
}

func (c *cutOff) DeleteArtifacts(ctx context.Context, workflowID string) (int, error) {
	if c.left--; c.left < 0 {
		return 0, errCutOff
	}
	return c.Storage.DeleteArtifacts(ctx, workflowID)
}

func (c *cutOff) Delete(ctx context.Context, agent domain.AgentID) (int, error) {
	if c.left--; c.left < 0 {
		return 0, errCutOff
	}
	return c.RecordStore.Delete(ctx, agent)
}

// TestDeleteThatIsCutOff, wherever, is completed by another: what names the rest goes last. A name that is used again has
// nothing of what was.
func TestDeleteThatIsCutOff(t *testing.T) {
	t.Parallel()
	c := newChatterbox(t, "continuing", "quagga"+newCanary().head)
	recordedIn(t, storeAt(t, c.records), c.name, 2)
	o, whole := c.reach(t), client.Deleted{}
	for n := 0; ; n++ {
		require.Less(t, n, 20)
		cut := &cutOff{o.Storage, o.Records, n}
		done, err := c.agents.Delete(within(t), c.name, client.DeleteOptions{Storage: cut, Records: cut})
		whole.Runs, whole.Segments, whole.Artifacts, whole.Records = whole.Runs+done.Deleted.Runs, whole.Segments+done.Deleted.Segments, whole.Artifacts+done.Deleted.Artifacts, whole.Records+done.Deleted.Records
		if err == nil {
			break
		}
		require.ErrorContains(t, err, errCutOff.Error())
		_, err = c.agents.Status(within(t), c.name)
		require.NoError(t, err, "what names the rest is still there")
	}
	require.Equal(t, []int{2, 3}, []int{whole.Artifacts, whole.Records})
	require.Positive(t, whole.Segments)
	for _, folder := range []string{c.storage, c.records} {
		v := new(trove)
		v.addFiles(t, "files", folder)
		require.Empty(t, v.holds([]byte(c.secret)), folder)
		require.Empty(t, v.holds([]byte(c.name)), folder)
	}

	x := c.starts(t, client.Start{ID: c.name, Prompt: "hello", Definition: scripted(writeScript(t, "turns: [{text: 'good day'}]"))})
	require.Equal(t, 1, x.Number)
	c.result(t, c.name, 1)
	require.Len(t, c.lines(t, c.name), 2)
	recordedIn(t, storeAt(t, c.records), c.name, 1)
}

// TestDeletionRightAfterAnEnd waits for the agent to be recorded, and takes no longer than the server does.
func TestDeletionRightAfterAnEnd(t *testing.T) {
	long(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "records")
	s := start(t, host.Config{Records: dir, Storage: noStorage})
	for range 3 {
		x := s.starts(t, client.Start{Prompt: "go", Definition: scripted(writeScript(t, "turns: [{text: done}]"))})
		for event, err := range s.agents.Follow(within(t), x.ID, client.FollowOptions{}) {
			require.NoError(t, err)
			if event.Ended != nil {
				break
			}
		}
		began := time.Now()
		done, err := s.agents.Delete(within(t), x.ID, client.DeleteOptions{Records: storeAt(t, dir)})
		require.NoError(t, err)
		require.Equal(t, []int{1, 1}, []int{done.Deleted.Runs, done.Deleted.Records}, "the record was not written after it was deleted")
		require.Empty(t, done.Remains)
		require.Less(t, time.Since(began), patience)
		refs, err := storeAt(t, dir).List(t.Context(), x.AgentID)
		require.NoError(t, err)
		require.Empty(t, refs)
	}
}

// TestWhatDeleteLeaves with others, and where it does not reach, is said; whoever is asked before may say no.
func TestWhatDeleteLeaves(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}, Records: filepath.Join(t.TempDir(), "records")})
	slow := s.begin(t, slowLeaf)
	_, err := s.agents.Delete(within(t), slow.ID, client.DeleteOptions{Close: true, Partly: true})
	require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	require.ErrorContains(t, err, "execution 1 is in progress")
	s.stops(t, slow.ID, client.StopOptions{Mode: contract.StopNow})
	name := s.answers(t, client.Start{ID: s.named("refused"), Definition: scripted(longScript(t, 1, 1), "echo")}).ID
	fork := s.forks(t, client.Point{ID: name}, client.ForkOptions{Prompt: "otherwise", Model: parted(t)})
	s.ended(t, fork)
	_, err = s.agents.Delete(within(t), name, client.DeleteOptions{Close: true})
	require.ErrorContains(t, err, "EVERSTEP_STORAGE")
	_, err = s.agents.Delete(within(t), name, client.DeleteOptions{Close: true, Partly: true, Records: unreachable{}})
	require.ErrorContains(t, err, "the line is cut")
	no := errors.New("better not")
	_, err = s.agents.Delete(within(t), name, client.DeleteOptions{Close: true, Partly: true, Confirm: func(found client.Belongings) error {
		require.Equal(t, []int{1, 0}, []int{found.Runs, found.Subagents})
		require.Equal(t, []string{fork.ID}, found.Forks)
		return no
	}})
	require.ErrorIs(t, err, no)
	require.NotEmpty(t, s.lines(t, name))
	_, err = s.agents.Delete(within(t), name, client.DeleteOptions{Partly: true})
	require.ErrorContains(t, err, "open session", "what was in the way was found before it was closed")
	done, err := s.agents.Delete(within(t), name, client.DeleteOptions{Close: true, Partly: true, Confirm: func(client.Belongings) error {
		_, err := s.agents.Close(within(t), name) // as somebody else may, meanwhile
		return err
	}})
	require.NoError(t, err)
	require.Equal(t, client.Deleted{Runs: 1}, done.Deleted)
	remains := map[client.RemainingKind]int{}
	for _, r := range done.Remains {
		remains[r.Kind]++
	}
	require.Equal(t, map[client.RemainingKind]int{client.RemainsInFork: 1, client.RemainsInStorage: 1, client.RemainsInRecords: 1}, remains)
}

// unreachable are records that no call reaches.
type unreachable struct{ client.RecordStore }

func (unreachable) List(context.Context, domain.AgentID) ([]record.Ref, error) {
	return nil, domain.Errorf(domain.Unavailable, "the line is cut")
}

// TestAForkOutlivesItsOrigin, also where its messages were too long to be carried and are segments of its own: its model
// still sees them, and what cannot be shown any more is said to be gone.
func TestAForkOutlivesItsOrigin(t *testing.T) {
	t.Parallel()
	storage := t.TempDir()
	s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}, Storage: storage})
	x := s.starts(t, client.Start{ID: s.named("origin"), Prompt: "go", Definition: scripted(longScript(t, 30, 3000), "echo")})
	s.ended(t, x)
	fork := s.forks(t, client.Point{ID: x.ID}, client.ForkOptions{ID: x.ID + "-fork", Prompt: "again", Model: parted(t)})
	s.result(t, fork.ID, 1)
	reach, err := host.FindStorage(t.Context(), storage)
	require.NoError(t, err)
	defer reach.Close()
	done, err := s.agents.Delete(within(t), x.ID, client.DeleteOptions{Close: true, Storage: reach, Records: storeAt(t, host.RecordsPlace(storage, ""))})
	require.NoError(t, err)
	require.Len(t, done.Remains, 1)
	require.Equal(t, fork.ID, done.Remains[0].ID)
	require.Contains(t, done.Remains[0].Text, "can no longer show it")
	require.Positive(t, done.Deleted.Segments)

	s.sent(t, fork.ID, client.SendOptions{Prompt: "and now?"})
	result := s.result(t, fork.ID, 2)
	require.Equal(t, "parted", result.Answer, "%v", result.Error)
	for _, step := range s.steps(t, fork.ID, 2) {
		require.Greater(t, step.Step.Input.Messages, 30, "its model sees what came before it was forked")
	}
	var gone error
	for _, err := range s.agents.Messages(within(t), fork.ID) {
		if err != nil {
			gone = err
			break
		}
	}
	require.ErrorIs(t, gone, &client.Error{Class: client.Gone})
}
