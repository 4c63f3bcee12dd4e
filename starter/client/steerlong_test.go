package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain/contract"
)

// TestAnUpdateThatTakesLong, as an answer that is checked against a schema, says nothing of workers that are missing.
func TestAnUpdateThatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(idleRun())
		f.polled = time.Now
		begun := time.Time{}
		f.update = func(id string, _ any) (any, error) {
			if begun.IsZero() {
				begun = time.Now()
			}
			if time.Sleep(updateTry); time.Since(begun) < 3*time.Second {
				return nil, sdk.NewWorkflowUpdateServiceTimeoutOrCanceledError(context.DeadlineExceeded)
			}
			return contract.SendReply{ExecutionID: nth(2), Number: 2, Began: true}, nil
		}
		var said []string
		c := New(f, Config{Namespace: "farm", Server: "far:7233", Progress: func(text string) { said = append(said, text) }})
		require.True(t, c.hasWorker(t.Context(), "nora"))
		_, err := c.Send(t.Context(), "nora", SendOptions{Prompt: "more"})
		require.NoError(t, err)
		require.Empty(t, said)
	})
}
