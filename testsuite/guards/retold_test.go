package guards_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
	agents "everstep/starter/client"
	"everstep/worker/host/codec"
)

// TestKeptRunsAreRetold replays every kept history that continues as new, and holds what is told of the run
// by its history alone against what the workflow answers.
func TestKeptRunsAreRetold(t *testing.T) {
	t.Parallel()
	var told []string
	for _, path := range keptFiles(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		began, facts, next := keptRun(t, name)
		r := progress.Retell(began)
		for _, recorded := range facts {
			r.Take(recorded.Fact, recorded.At)
		}
		run, ok := r.Told(next)
		if !ok {
			continue
		}
		told = append(told, name)
		asked := replayedQueries(t, readHistory(t, path))
		page, err := asked.steps(contract.StepsRequest{LargePage: contract.LargePage{Large: true}})
		require.NoError(t, err)
		kept, err := page.Kept()
		require.NoError(t, err)
		require.Equal(t, page.ExecutionID, run.ExecutionID)
		require.Equal(t, kept, run.Steps)
		messages, err := asked.messages(contract.MessagesRequest{LargePage: contract.LargePage{Large: true}})
		require.NoError(t, err)
		require.Equal(t, wire(t, messages.Entries), wire(t, run.Entries))
	}
	require.Equal(t, []string{"continue-as-new-first"}, told)
}

// TestOddRunsAreNotRetold: of a run in which anything else happened than history tells whole, nothing is told.
func TestOddRunsAreNotRetold(t *testing.T) {
	t.Parallel()
	began, facts, next := keptRun(t, "continue-as-new-first")
	tells := func(facts []progress.Recorded, next progress.RunBegan) bool {
		r := progress.Retell(began)
		for _, recorded := range facts {
			r.Take(recorded.Fact, recorded.At)
		}
		_, ok := r.Told(next)
		return ok
	}
	require.True(t, tells(facts, next))
	for _, odd := range []progress.Fact{
		progress.Aside{}, progress.StopAsked{}, progress.StopForced{}, progress.Paused{On: true}, progress.Sent{}, progress.Extended{},
		progress.Lost{}, progress.CancelAsked{}, progress.Unreadable{}, progress.Ended{}, progress.ResetHere{},
		progress.Asked{Work: progress.Work{Activity: string(contract.CallHook)}},
	} {
		at := len(facts) / 2
		require.False(t, tells(slices.Insert(slices.Clone(facts), at, progress.Recorded{Fact: odd, At: facts[at].At}), next), "%T", odd)
	}
	for i, recorded := range facts {
		switch f := recorded.Fact.(type) {
		case progress.ModelReplied:
			f.Reply.Digest = domain.DigestOf([]byte("another"))
			recorded.Fact = f
		case progress.ToolReplied:
			f.Reply.Digest = domain.DigestOf([]byte("another"))
			recorded.Fact = f
		default:
			continue
		}
		require.False(t, tells(slices.Concat(facts[:i], []progress.Recorded{recorded}, facts[i+1:]), next), "another answer")
		require.False(t, tells(slices.Concat(facts[:i], facts[i+1:]), next), "no answer")
	}
	require.False(t, tells(facts, progress.RunBegan{}), "nobody goes on")
	require.False(t, tells(facts, began), "another run goes on")
}

// keptRun is what a kept history that continues as new tells, and with what the next run begins.
func keptRun(t *testing.T, name string) (began progress.RunBegan, facts []progress.Recorded, next progress.RunBegan) {
	t.Helper()
	history := readHistory(t, filepath.Join(filepath.Dir(keptFiles(t)[0]), name+".json"))
	converter := codec.New().DataConverter()
	for recorded := range agents.FactsOf(history, converter) {
		if f, ok := recorded.Fact.(progress.RunBegan); ok {
			began = f
		}
		facts = append(facts, recorded)
	}
	events := history.GetEvents()
	handed := events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetInput()
	if handed != nil {
		require.NoError(t, converter.FromPayloads(handed, &next.Input))
	}
	return began, facts, next
}

func wire(t *testing.T, entries []domain.Entry) string {
	t.Helper()
	encoded, err := json.MarshalIndent(entries, "", " ")
	require.NoError(t, err)
	return string(encoded)
}
