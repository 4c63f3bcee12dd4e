package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/conversation"
)

// rewindTo asks a session to go on from a step of one of its executions, as a client that has read its past does.
func rewindTo(t *testing.T, env *testsuite.TestWorkflowEnvironment, number, step int, changes ...func(*contract.RewindRequest)) contract.RewindRequest {
	t.Helper()
	view := status(t, env)
	request, err := rewindOf(view.AgentID, view.Number, executionIn(t, env, number), stepsIn(t, env, number)[:step], entriesIn(t, env))
	require.NoError(t, err)
	for _, change := range changes {
		change(&request)
	}
	return request
}

// rewindOf is the request to go on from the last of some steps of an execution, or, without any, from before it.
func rewindOf(agent domain.AgentID, newest int, e account.Execution, steps []domain.StepExecution, entries []domain.Entry) (contract.RewindRequest, error) {
	edits := e.EditsBefore
	belongs := func(m domain.Entry) bool { return domain.TagOf(m.Message).ExecutionID != e.ExecutionID }
	if len(steps) > 0 {
		last := steps[len(steps)-1].Step
		edits = last.Input.Edits
		belongs = func(m domain.Entry) bool {
			return m.Index < last.Input.Messages || domain.TagOf(m.Message).StepID == last.ID
		}
	}
	log, inferences, err := domain.Log{}, 0, error(nil)
	for _, m := range entries {
		if !belongs(m) {
			break
		}
		if log, err = log.Join(m); err != nil {
			return contract.RewindRequest{}, err
		}
		if m.Message.Role == domain.RoleAssistant && !edits.TookBack(m.Index) {
			inferences++
		}
	}
	r := contract.RewindRequest{
		Origin: domain.Origin{ExecutionID: e.ExecutionID, Step: len(steps), AgentID: agent, Origin: e.Origin}, Number: e.Number,
		Newest: newest, Log: log.Ref(), Edits: edits, Inferences: inferences,
	}
	r.ShownTokens = conversation.At(log, edits, "", r.Origin.Chain(), inferences).Carry(0, nil).ShownTokens
	return r, nil
}

// rewinds asks for it at a time.
func rewinds(t *testing.T, env *testsuite.TestWorkflowEnvironment, at time.Duration, id string, number, step int, changes ...func(*contract.RewindRequest)) *verdict {
	t.Helper()
	v := &verdict{}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(string(contract.UpdateRewind), id, v, rewindTo(t, env, number, step, changes...))
	}, at)
	return v
}

func thenSaying(prompt string) func(*contract.RewindRequest) {
	return func(r *contract.RewindRequest) { r.Prompt = prompt }
}

// seen are the texts that the model was shown with a request.
func seen(t *testing.T, env *testsuite.TestWorkflowEnvironment, r contract.ModelRequest) (texts []string) {
	t.Helper()
	entries := entriesIn(t, env)[:r.Log.Length]
	for _, m := range domain.CompileEdited(domain.CurrentTrace, nil, entries, append([]domain.ExecutionID{r.ExecutionID}, r.Origins...), r.Edits) {
		if m.ToolResult != nil {
			texts = append(texts, "result")
			continue
		}
		texts = append(texts, m.Text())
	}
	return texts
}

// TestARewoundSession goes on from a step of its past: its model sees what it saw then, traces too, and nothing of what
// came since, all of which stays readable.
func TestARewoundSession(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), tool: saw, model: plays(says("looking", look()), says("one"), says("two"), says("otherwise"), says("on"))}
	env := w.environment(t)
	prompts(env, time.Hour, "more")
	updates(env, 90*time.Minute, contract.UpdateSuspend, "s1", contract.SuspendRequest{}) // nothing begins by a rewind
	rewound := rewinds(t, env, 2*time.Hour, "u2", 1, 1)
	again := updates(env, 2*time.Hour+time.Minute, contract.UpdateRewind, "u2", contract.RewindRequest{})
	var stands account.Status
	env.RegisterDelayedCallback(func() { stands = status(t, env) }, 2*time.Hour+2*time.Minute)
	updates(env, 2*time.Hour+2*time.Minute, contract.UpdateUnsuspend, "s2", contract.UnsuspendRequest{})
	gone := updates(env, 2*time.Hour+3*time.Minute, contract.UpdateExtend, "u3", contract.ExtendRequest{})
	prompts(env, 3*time.Hour, "go on otherwise")
	prompts(env, 4*time.Hour, "and then")
	closes(env, 5*time.Hour)
	execute(env, input(t, "ann"))
	out := outcome(t, env)
	require.Equal(t, 4, out.Number)
	reply, ok := rewound.value.(contract.RewindReply)
	require.True(t, ok, "%v", rewound.rejected)
	require.Equal(t, []any{3, 3, false}, []any{reply.Number, reply.TakenBack, reply.Began})
	require.Equal(t, reply, again.value, "it is remembered")
	gone.refused(t, "rewound")
	first := executionIn(t, env, 1).ExecutionID
	require.Equal(t, &domain.Origin{ExecutionID: first, Step: 1, AgentID: stands.AgentID}, stands.Position.From)
	require.Equal(t, 2, stands.Number)

	require.Equal(t, []string{"hello", "looking", "result", "go on otherwise"}, seen(t, env, w.asked[3]))
	require.Equal(t, 1, w.asked[3].Inference, "the conversation is where it was")
	require.Equal(t, []domain.ExecutionID{first}, w.asked[3].Origins)
	third := executionIn(t, env, 3)
	require.Equal(t, &domain.Origin{ExecutionID: first, Step: 1, AgentID: stands.AgentID}, third.Origin)
	require.Equal(t, reply.ExecutionID, third.ExecutionID)
	require.Equal(t, []string{"hello", "go on otherwise", "otherwise", "and then"}, seen(t, env, w.asked[4]), "the next one has no origin, and sees no traces")
	require.Nil(t, executionIn(t, env, 0).Origin)

	require.Equal(t, []domain.Span{{From: 3, To: 6, By: 3, AfterStep: 1}}, readAccount(t, env, account.HeadOf).Head.Position.Edits.TakenBack)
	require.Equal(t, []string{"user: hello", "assistant: looking", "tool: look", "assistant: one", "user: more", "assistant: two", "user: go on otherwise", "assistant: otherwise", "user: and then", "assistant: on"}, spoken(t, env))
	view := status(t, env)
	require.Nil(t, view.Position.From)
}

// TestWhatNoSessionIsRewoundTo is refused, and changes nothing.
func TestWhatNoSessionIsRewoundTo(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), tool: saw, model: plays(busy(), says("looking", look()), says("one"), says("two"))}
	env := w.environment(t)
	early := updates(env, time.Minute, contract.UpdateRewind, "u0", contract.RewindRequest{})
	refused := map[string]*verdict{}
	for i, c := range []struct {
		says   string
		change func(*contract.RewindRequest)
	}{
		{"is not execution 2", func(r *contract.RewindRequest) { r.Number = 2 }},
		{"is not execution 1", func(r *contract.RewindRequest) { r.Origin.ExecutionID = r.Origin.AgentID.Execution("another", 1) }},
		{"no step of this agent", func(r *contract.RewindRequest) { r.Origin.AgentID = domain.AgentID{} }},
		{"rewind again", func(r *contract.RewindRequest) { r.Newest = 7 }},
		{"log.length", func(r *contract.RewindRequest) { r.Log.Length = 99 }},
		{"log.digest", func(r *contract.RewindRequest) { r.Log.Digest = domain.DigestOf([]byte("x")) }},
		{"result of a call", func(r *contract.RewindRequest) {
			entries := query(t, env, contract.QueryMessages, contract.MessagesRequest{From: 2}).Entries
			require.NotNil(t, entries[0].Message.ToolResult)
			r.Log = domain.LogRef{Length: 2, Digest: query(t, env, contract.QueryMessages, contract.MessagesRequest{From: 2}).Before}
		}},
		{"edits.hidden", func(r *contract.RewindRequest) { r.Edits.Hidden = 99 }},
		{"may not be negative", func(r *contract.RewindRequest) { r.Visible = -1 }},
	} {
		refused[c.says] = rewinds(t, env, 2*time.Hour+time.Duration(i)*time.Minute, c.says, 1, 1, c.change)
	}
	updates(env, 3*time.Hour, contract.UpdateSuspend, "u1", contract.SuspendRequest{})
	refused["suspended"] = rewinds(t, env, 4*time.Hour, "u2", 1, 1, func(r *contract.RewindRequest) { r.Prompt = "on" })
	back := rewinds(t, env, 4*time.Hour+time.Minute, "u4", 1, 1) // without a prompt nothing begins, and it can be undone
	undone := rewinds(t, env, 4*time.Hour+2*time.Minute, "u5", 1, 2)
	updates(env, 5*time.Hour, contract.UpdateUnsuspend, "u3", contract.UnsuspendRequest{})
	prompts(env, 6*time.Hour, "on")
	closes(env, 7*time.Hour)
	execute(env, input(t, "ann"))
	endsWith(t, env, 2)
	early.refused(t, "in progress")
	for says, v := range refused {
		v.refused(t, says)
	}
	require.Equal(t, []error{nil, nil}, []error{back.rejected, undone.rejected})
	require.Equal(t, domain.Edits{}, w.asked[2].Edits)
	require.Empty(t, w.asked[2].Origins)
}

// TestExtendGoesOnFromWhereTheSessionStands: where that is the end of the newest execution, as if there had been no rewind, and
// else it is refused.
func TestExtendGoesOnFromWhereTheSessionStands(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		to      []int // the executions to whose ends the session is rewound; 0: it is cleared
		refused string
	}{
		"rewound and back": {[]int{1, 2}, ""},
		"cleared":          {[]int{1, 0}, "the conversation was cleared"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: reads(), tool: saw, model: plays(says("one"), says("looking", look()), says("two"))}
			env := w.environment(t)
			sends(env, time.Hour, "u1", contract.SendRequest{Prompt: "more", Budget: stepsOf(1)})
			for i, to := range test.to {
				at, id := time.Duration(i+2)*time.Hour, fmt.Sprintf("m%d", i)
				if to == 0 {
					updates(env, at, contract.UpdateClear, id, contract.ClearRequest{})
				} else {
					rewinds(t, env, at, id, to, 1)
				}
			}
			extended := extends(env, 5*time.Hour, "u2", contract.ExtendRequest{Budget: stepsOf(2)})
			closes(env, 6*time.Hour)
			execute(env, input(t, "ann"))
			outcome(t, env)
			if test.refused != "" {
				extended.refused(t, test.refused)
				return
			}
			require.NoError(t, extended.rejected)
			require.Equal(t, []string{"hello", "one", "more", "looking", "result"}, seen(t, env, w.asked[2]))
		})
	}
}
