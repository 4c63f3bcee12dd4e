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
	return s.log, *s.resolved, true
}

// tally counts what the transcript alone cannot tell once parts of it have
// left memory.
type tally struct {
	// inferences are the completed ones of the conversation.
	inferences int
	// toolCalls are those of this execution that count against the budget.
	toolCalls int64
	// visible and traces are estimated tokens: of what every execution sees,
	// and of what only this one does.
	visible, traces int64
	// read is the input of this execution's newest inference as its provider
	// counted it; zero where none did.
	read int64
}

// counted notes what a provider says that an inference has read.
func (t *tally) counted(usage domain.Usage) {
	if !usage.Estimated {
		t.read = usage.InputTokens
	}
}

// join adds a message to the transcript, tagged.
func (s *session) join(m domain.Message, digest domain.Digest, tag domain.Tag) domain.Message {
	m.CreatedAt = s.now()
	tagged := tag.Apply(m)
	s.log = s.log.Append("", tagged, digest)
	tokens := domain.EstimateTokens(m)
	if tag.Trace {
		s.tally.traces += tokens
	} else {
		s.tally.visible += tokens
	}
	return tagged
}

// joinPrompt adds the message that begins the execution.
func (s *session) joinPrompt(id domain.ExecutionID, prompt string) {
	m := domain.UserMessage(prompt)
	m.ID = id.Prompt()
	// The digest is of what the history holds: the id follows from it, the
	// text is the client's own.
	digest := domain.DigestOf([]byte(m.ID.String()), []byte(prompt))
	s.join(m, digest, domain.Tag{ExecutionID: id})
}

// estimatedInput is about how many tokens the next inference will read: no
// fewer than the provider counted for the one before, since a conversation only
// grows within an execution.
func (s *session) estimatedInput() int64 {
	tokens := s.tally.visible + s.tally.traces + domain.EstimateText(s.resolved.Definition.SystemPrompt) +
		domain.EstimateText(string(s.resolved.Definition.Format.Schema))
	for _, tool := range s.resolved.Tools {
		tokens += domain.EstimateText(tool.Name) + domain.EstimateText(tool.Description) + domain.EstimateText(string(tool.Schema))
	}
	return max(tokens, s.tally.read)
}
