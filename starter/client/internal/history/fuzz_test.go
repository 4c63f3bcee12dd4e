package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"everstep/domain/contract"
	"everstep/domain/progress"
	"everstep/starter/client/internal/history"
	"everstep/worker/host/codec"
)

// keptHistories are those that the workflow has to replay for ever, by name.
func keptHistories(t testing.TB) map[string]*historypb.History {
	t.Helper()
	files, err := filepath.Glob("../../../../testsuite/testdata/histories/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	kept := map[string]*historypb.History{}
	for _, path := range files {
		file, err := os.Open(path)
		require.NoError(t, err)
		read, err := client.HistoryFromJSON(file, client.HistoryJSONOptions{})
		require.NoError(t, err)
		require.NoError(t, file.Close())
		if of := read.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName(); of != string(contract.Execute) {
			continue // it is a run of a schedule, and no agent's
		}
		kept[strings.TrimSuffix(filepath.Base(path), ".json")] = read
	}
	return kept
}

// told reads events forwards into the agent whose history was kept, and returns
// it with all facts.
func told(kept *historypb.History, events []*historypb.HistoryEvent) (progress.Agent, []progress.Recorded) {
	first := kept.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	var in contract.SessionInput
	if err := codec.New().DataConverter().FromPayloads(first.GetInput(), &in); err != nil {
		panic(err)
	}
	agent := progress.NewAgent(in.AgentID, first.GetFirstExecutionRunId())
	facts := slices.Collect(history.Decode(codec.New().DataConverter(), "run", events))
	for _, recorded := range facts {
		agent = agent.With(recorded.Fact, recorded.At)
	}
	return agent, facts
}

func stepsOf(agent progress.Agent) int {
	steps, _ := agent.Execution.Steps(len(agent.Open) > 0)
	return len(steps)
}

func unread(agent progress.Agent) string {
	var all []string
	for _, u := range agent.Unread {
		all = append(all, u.String())
	}
	return strings.Join(all, "\n")
}

func cloned(h *historypb.History) *historypb.History {
	return proto.Clone(h).(*historypb.History)
}

// Nothing of what is kept is unreadable, and nothing of it is left out.
func TestKeptHistoriesAreReadWhole(t *testing.T) {
	t.Parallel()
	for name, h := range keptHistories(t) {
		agent, facts := told(h, h.GetEvents())
		require.Empty(t, agent.Unread, name)
		require.IsType(t, progress.RunBegan{}, facts[0].Fact)
		if name != "foreign" {
			require.NotZero(t, agent.Execution.Number, name)
		}
	}
}

// Each says what it could not read, and the rest is told.
func TestBadHistories(t *testing.T) {
	t.Parallel()
	kept := keptHistories(t)
	intact := kept["parallel-tools"]
	whole, _ := told(intact, intact.GetEvents())
	require.Equal(t, 2, stepsOf(whole))
	for name, c := range map[string]struct {
		spoil func(h *historypb.History)
		says  string
		steps int
	}{
		"an event of a newer version": {
			func(h *historypb.History) { h.Events[1].EventType = 9999 }, "event 2 cannot be read: its type, 9999, is newer than this program", 2,
		},
		"one that may be ignored": {
			func(h *historypb.History) { h.Events[1].EventType, h.Events[1].WorkerMayIgnore = 9999, true }, "", 2,
		},
		"a gap": {
			func(h *historypb.History) { h.Events = slices.Delete(h.Events, 2, 4) }, "what stood between events 2 and 5 cannot be read: the history has a gap there", 2,
		},
		"no beginning": {
			func(h *historypb.History) { h.Events = h.Events[1:] }, "what stood before event 2 cannot be read: the history has a gap there", 2,
		},
		"no event at all": {func(h *historypb.History) { h.Events = nil }, "", 0},
		"an event without a body": {
			func(h *historypb.History) {
				for _, e := range h.Events {
					e.Attributes = nil
				}
			}, "what the run began with cannot be read: it is empty", 0,
		},
		"another workflow": {
			func(h *historypb.History) {
				h.Events[0].GetWorkflowExecutionStartedEventAttributes().WorkflowType.Name = "billing.Run"
			}, `the workflow cannot be read: it is a "billing.Run" and no agent's`, 2,
		},
		"an input of another kind": {
			func(h *historypb.History) {
				h.Events[0].GetWorkflowExecutionStartedEventAttributes().Input = payload(`"hello"`)
			}, "what the run began with cannot be read: ", 2,
		},
		"a request that cannot be read": {
			func(h *historypb.History) {
				of(h, contract.CallModel).Input = payload(`{"step":"first"}`)
			}, "a request of agent.CallModel cannot be read: ", 2,
		},
		"a call that no answer has": {
			func(h *historypb.History) {
				of(h, contract.CallModel).Input, of(h, contract.CallModel).ActivityType = payload(`{"position":-1}`), &commonpb.ActivityType{Name: string(contract.CallTool)}
			},
			"a request of agent.CallTool cannot be read: no answer has a call -1", 2,
		},
		"a reply that cannot be read": {
			func(h *historypb.History) {
				for _, e := range h.Events {
					if a := e.GetActivityTaskCompletedEventAttributes(); a != nil {
						a.Result = payload(`[1]`)
					}
				}
			}, "the reply of agent.CallModel cannot be read: ", 2,
		},
		"work that nobody asked for": {
			func(h *historypb.History) {
				for _, e := range h.Events {
					if a := e.GetActivityTaskCompletedEventAttributes(); a != nil {
						a.ScheduledEventId = 999
					}
				}
			}, "what work came to cannot be read: event 999, which asked for it, is missing", 2,
		},
		"an outcome that cannot be read": {
			func(h *historypb.History) {
				for _, e := range h.Events {
					if a := e.GetWorkflowPropertiesModifiedEventAttributes(); a != nil {
						a.UpsertedMemo.Fields[contract.MemoOutcome] = payload(`{}`).GetPayloads()[0]
					}
				}
			}, "how an execution ended cannot be read: it has no execution's number", 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := cloned(intact)
			c.spoil(h)
			agent, _ := told(intact, h.GetEvents())
			if c.says == "" {
				require.Empty(t, unread(agent))
			} else {
				require.Contains(t, unread(agent), c.says)
			}
			require.Equal(t, c.steps, stepsOf(agent), unread(agent))
		})
	}
}

func payload(text string) *commonpb.Payloads {
	return &commonpb.Payloads{Payloads: []*commonpb.Payload{{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: []byte(text),
	}}}
}

// of is the first request for an activity.
func of[In, Out any](h *historypb.History, activity contract.Activity[In, Out]) *historypb.ActivityTaskScheduledEventAttributes {
	for _, e := range h.GetEvents() {
		if a := e.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().GetName() == string(activity) {
			return a
		}
	}
	return nil
}

// A history that was cut tells what stands in it: the longer it is the more, and
// what it tells of steps that are over stays.
func TestCutHistories(t *testing.T) {
	t.Parallel()
	for name, h := range keptHistories(t) {
		before := 0
		for n := range h.GetEvents() {
			agent, _ := told(h, h.GetEvents()[:n+1])
			require.Empty(t, agent.Unread, "%s cut after %d", name, n+1)
			done := len(agent.Execution.Done)
			if agent.Execution.Number == 1 {
				require.GreaterOrEqual(t, done, before, "%s cut after %d", name, n+1)
				before = done
			}
		}
	}
}

// FuzzHistory spoils kept histories in any way: bits, events left out, events of
// other types. Reading never panics, and what is told can be told.
func FuzzHistory(f *testing.F) {
	var names []string
	kept := keptHistories(f)
	for name := range kept {
		names = append(names, name)
	}
	slices.Sort(names)
	for i := range names {
		f.Add(i, 0, -1, 0, []byte{})
		f.Add(i, 3, 2, 0, []byte{})
		f.Add(i, 0, -1, int(enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED), []byte{})
		f.Add(i, 0, -1, 0, []byte{200, 1, 90, 40})
	}
	f.Fuzz(func(t *testing.T, which, from, kind, other int, flips []byte) {
		intact := kept[names[mod(which, len(names))]]
		h := cloned(intact)
		if n := mod(from, len(h.Events)); kind >= 0 {
			h.Events = slices.Delete(h.Events, n, min(n+1+mod(kind, 5), len(h.Events)))
		}
		if other != 0 && len(h.Events) > 0 {
			h.Events[mod(which+from, len(h.Events))].EventType = enumspb.EventType(int32(other))
		}
		if len(flips) > 0 {
			raw, err := proto.Marshal(h)
			require.NoError(t, err)
			for i, b := range flips {
				raw[mod(int(b)*(i+7)*len(raw)/64, len(raw))] ^= 1 << (b % 8)
			}
			spoiled := &historypb.History{}
			if proto.Unmarshal(raw, spoiled) != nil {
				return
			}
			h = spoiled
		}
		agent, _ := told(intact, h.GetEvents())
		steps, _ := agent.Execution.Steps(len(agent.Open) > 0)
		_ = agent.Execution.Compare(agent.Hooks, nil)
		for _, s := range steps {
			require.Positive(t, s.Number)
			_ = s.Type()
		}
		_ = unread(agent)
		for range history.DecodeBackwards(codec.New().DataConverter(), "run", reversed(h.GetEvents())) {
		}
	})
}

func mod(n, of int) int {
	if of == 0 {
		return 0
	}
	return ((n % of) + of) % of
}

func reversed(events []*historypb.HistoryEvent) []*historypb.HistoryEvent {
	events = slices.Clone(events)
	slices.Reverse(events)
	return events
}

// TestBackwardsTellsTheSame: what is told of work, of executions and of runs is
// the same from either end.
func TestBackwardsTellsTheSame(t *testing.T) {
	t.Parallel()
	ends := func(fact progress.Fact) bool {
		switch fact.(type) {
		case progress.Attempted, progress.CancelAsked, progress.Extended, progress.SessionExtended, progress.Sent, progress.Aside, progress.Decided, progress.Revoked, progress.Redefined, progress.Settled, progress.Unsent, progress.Replied:
			return false
		}
		return true
	}
	for name, h := range keptHistories(t) {
		_, forwards := told(h, h.GetEvents())
		backwards := slices.Collect(history.DecodeBackwards(codec.New().DataConverter(), "run", reversed(h.GetEvents())))
		count := func(all []progress.Recorded) map[string]int {
			n := map[string]int{}
			for _, r := range all {
				if ends(r.Fact) {
					n[fmt.Sprintf("%T", r.Fact)]++
				}
			}
			return n
		}
		require.Equal(t, count(forwards), count(backwards), name)
	}
}
