package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// transcriptKey finds the session in the context of its activities.
type transcriptKey struct{}

// Transcript returns what an activity scheduled with ctx refers to: the
// transcript and the definition in force. It is for the worker's interceptor,
// which feeds a cache with it; nothing flows back.
func Transcript(ctx workflow.Context) (domain.Log, domain.Resolved, bool) {
	s, ok := ctx.Value(transcriptKey{}).(*session)
	if !ok || s.resolved == nil {
		return domain.Log{}, domain.Resolved{}, false
	}
	return s.conversation.Log(), *s.resolved, true
}
