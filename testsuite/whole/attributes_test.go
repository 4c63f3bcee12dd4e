package whole_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"

	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// TestAttributesThatWereRemoved from the namespace under an open session hold up nothing: not its next
// execution, not a run that continues as new, not another worker that replays it.
func TestAttributesThatWereRemoved(t *testing.T) {
	t.Parallel()
	s := connect(t, "attributes-"+uuid.NewString(), continuing) // of its own each time: attributes are the namespace's
	s.irreplayable = "what stands under an attribute that was removed has another name"
	config := host.Config{Storage: t.TempDir()}
	first := s.work(t, config)
	const turns = 200
	var script strings.Builder
	script.WriteString("turns:\n")
	for i := range turns {
		fmt.Fprintf(&script, "  - {text: 'answer %d'}\n", i+1)
	}
	name := s.named("session")
	begun := s.starts(t, client.Start{ID: name, Prompt: "go", Definition: scripted(writeScript(t, script.String()))})
	s.ended(t, begun)
	_, err := s.temporal.OperatorService().RemoveSearchAttributes(within(t), &operatorservice.RemoveSearchAttributesRequest{
		Namespace: "default", SearchAttributes: []string{contract.AttributeAgentName, contract.AttributeAgentStatus, contract.AttributeStopReason},
	})
	require.NoError(t, err)
	number := 1
	more := func() (refused bool) {
		number++
		sent := s.sent(t, name, client.SendOptions{Prompt: "more"})
		result := s.completed(t, name, number)
		require.Equal(t, fmt.Sprint("answer ", number), result.Answer)
		for _, run := range []string{sent.RunID, ""} { // the turn may end in another run than it began in
			for _, event := range s.historyNow(t, begun.WorkflowID, run).Events {
				refused = refused || event.GetWorkflowTaskFailedEventAttributes().GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES
			}
		}
		return refused
	}
	for !more() { // the server notices the removal within a minute or so, and a turn takes far less
		require.Less(t, number, turns/2)
		time.Sleep(time.Second)
	}
	for runs := s.asked(t, name).History.Runs; s.asked(t, name).History.Runs < runs+2; {
		more()
	}
	first.Stop()
	second := s.work(t, config)
	t.Cleanup(second.Stop)
	more()
	s.asked(t, name)
	s.ended(t, s.begin(t, "turns: [{text: 'a client that knows the old ones'}]"))
}
