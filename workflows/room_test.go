package workflows_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
)

// nearBounds is a named agent with a long definition, whose worker has storage, and whose only execution is busy for an
// hour before its run ends.
func nearBounds(t *testing.T, prompt string, offered ...domain.ToolSpec) (*world, *testsuite.TestWorkflowEnvironment, contract.SessionInput) {
	t.Helper()
	w := &world{tools: append(reads(), offered...), tool: saw, storage: true, record: stores, model: plays(busy(), says("looking", look()), says("done"))}
	env := w.environment(t)
	outgrows(env, 2)
	return w, env, input(t, "ann", func(in *contract.SessionInput) { in.Definition.SystemPrompt = prompt })
}

func carriedBytes(t *testing.T, next contract.SessionInput) int {
	t.Helper()
	encoded, err := json.Marshal(next)
	require.NoError(t, err)
	return len(encoded)
}

// kindOf is the class by which a client tells how something was refused.
func kindOf(err error) domain.Kind {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return ""
	}
	return domain.Kind(app.Type())
}

// TestMessagesLeaveRoomForTheRest of what a run hands on: those are refused that the next run could not be handed, and the
// execution goes on in it.
func TestMessagesLeaveRoomForTheRest(t *testing.T) {
	t.Parallel()
	_, env, in := nearBounds(t, strings.Repeat("p", 200_000))
	var took []*verdict
	for i := range 10 {
		took = append(took, sends(env, time.Minute, fmt.Sprint("u", i), queued(strings.Repeat("m", 90_000))))
	}
	execute(env, in)
	next := nextRun(t, env)
	require.LessOrEqual(t, carriedBytes(t, next), domain.MaxPayload)
	require.Less(t, len(next.Carry.Mail.Waiting), 10)
	require.NotEmpty(t, next.Carry.Mail.Waiting)
	for i, v := range took {
		if i < len(next.Carry.Mail.Waiting) {
			require.NoError(t, v.rejected)
			continue
		}
		v.refused(t, "send it when some are read")
		require.Equal(t, domain.Denied, kindOf(v.rejected))
	}
}

// TestAnUpdateLeavesRoomForWhatWaits: it is refused where the next run could not be handed it beside the messages.
func TestAnUpdateLeavesRoomForWhatWaits(t *testing.T) {
	t.Parallel()
	_, env, in := nearBounds(t, "")
	for i := range 9 {
		sends(env, time.Minute, fmt.Sprint("u", i), queued(strings.Repeat("m", 100_000)))
	}
	update := contract.UpdateRequest{Definition: domain.Definition{SystemPrompt: strings.Repeat("p", 200_000)}, Fields: []string{"system_prompt"}}
	refused := redefines(env, 2*time.Minute, "long", update)
	update.Definition.SystemPrompt = "short"
	taken := redefines(env, 3*time.Minute, "short", update)
	execute(env, in)
	next := nextRun(t, env)
	require.Equal(t, "short", next.Carry.Config.Next.Definition.SystemPrompt)
	require.NoError(t, taken.rejected)
	refused.refused(t, "more than the session can hand on to its next run")
	require.Equal(t, domain.TooLarge, kindOf(refused.rejected))
}

// TestWhatIsAcceptedIsHandedOn: whatever people send, give and say to a session, and whatever of it is refused, what is
// accepted fits into the input of the next run.
func TestWhatIsAcceptedIsHandedOn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		long := func(label string, sizes ...int) string {
			unit := rapid.SampledFrom([]string{"a", "a", "<", "é"}).Draw(r, label+" of")
			return strings.Repeat(unit, rapid.SampledFrom(sizes).Draw(r, label)/len(unit))
		}
		_, env, in := nearBounds(t, strings.Repeat("p", rapid.SampledFrom([]int{0, 150_000, 200_000, domain.MaxSystemPrompt}).Draw(r, "prompt")))
		at := time.Minute
		for i := range rapid.IntRange(6, 16).Draw(r, "words") {
			at, id := at+time.Duration(i)*time.Second, fmt.Sprint(strings.Repeat("i", rapid.SampledFrom([]int{0, 900}).Draw(r, "id")), i)
			switch rapid.IntRange(0, 6).Draw(r, "word") {
			case 0, 1, 2:
				sends(env, at, id, queued("m"+long("message", 10, 150_000, 250_000)))
			case 3:
				notes := domain.Metadata{fmt.Sprint(i): json.RawMessage(fmt.Sprintf("%q", strings.Repeat("n", rapid.SampledFrom([]int{1, 20_000}).Draw(r, "note"))))}
				request := queued("with notes")
				request.Options = &domain.StartOptions{Metadata: notes}
				sends(env, at, id, request)
			case 4, 5:
				redefines(env, at, id, contract.UpdateRequest{
					Definition: domain.Definition{SystemPrompt: "p" + long("another", 10, 40_000, 90_000, 200_000), Tools: []string{"look"}},
					Fields:     []string{"system_prompt", "tools"}, By: "ann", Reason: long("why", 10, domain.MaxReason),
				})
			case 6:
				updates(env, at, contract.UpdatePause, id, contract.PauseRequest{})
				updates(env, at+time.Millisecond, contract.UpdateResume, id+"r", contract.PauseRequest{})
			}
		}
		execute(env, in)
		next, ok := handedOn(t, env)
		if !ok {
			out := outcome(t, env)
			r.Fatalf("the execution ended as %s, %s, %s", out.Status, out.Kind, out.Code)
		}
		if size := carriedBytes(t, next); size > domain.MaxPayload {
			r.Fatalf("the next run is handed %d bytes", size)
		}
		if next.Carry.Config.Next == nil || len(next.Carry.Mail.Waiting) == 0 {
			return
		}
		// The next execution takes its definition over, and its run has to hand that on too.
		w := &world{tools: append(reads(), domain.ToolSpec{Name: "once"}), tool: saw, storage: true, record: stores, model: plays(says("looking", look()), says("done"))}
		env = w.environment(t)
		outgrows(env, 3)
		execute(env, next)
		if _, ok := handedOn(t, env); !ok {
			r.Fatalf("the next one ended as %s, %s", outcome(t, env).Status, outcome(t, env).Code)
		}
	})
}
