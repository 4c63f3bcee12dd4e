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
	// visible and traces are estimated tokens: of what every execution sees,
	// and of what only this one does.
	visible, traces int64
}

// corrected notes how much more a provider says that an inference has read than
// was estimated, or less where a compiler shows only a part. Each answer
// corrects it.
func (s *session) corrected(usage domain.Usage) {
	if usage.Estimated {
		return
	}
	s.guarded.Excess = usage.InputTokens - s.rawInput()
	if c := s.resolved.Definition.Compiler; c == "" || c == domain.CurrentTrace || c == domain.AllSections {
		// Only others show less than is counted here.
		s.guarded.Excess = max(s.guarded.Excess, 0)
	}
}

// shrunk lets what a provider counted more than was estimated shrink as the
// conversation did.
func (s *session) shrunk(before int64) {
	if after := s.rawInput(); after < before {
		s.guarded.Excess = s.guarded.Excess * max(after, 0) / before
	}
}

// own turns tokens as a provider counts them into estimated ones.
func (s *session) own(tokens int64) int64 { return max(tokens-s.guarded.Excess, 0) }

// join adds a message to a section of the transcript, tagged. The empty
// section is the default one.
func (s *session) join(section string, m domain.Message, digest domain.Digest, tag domain.Tag) domain.Message {
	m.CreatedAt = s.now()
	tagged := tag.Apply(m)
	s.log = s.log.Append(section, tagged, digest)
	tokens := domain.EstimateTokens(m)
	if tag.Trace {
		s.tally.traces += tokens
	} else {
		s.tally.visible += tokens
	}
	if m.Role == domain.RoleTool {
		s.guarded.Results++
		s.guarded.ResultTokens += tokens
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
	s.join("", m, digest, domain.Tag{ExecutionID: id})
}

// nudgeOn begins an execution that goes on from the one before. A model is
// never asked to answer its own words, so it is told to go on after them.
func (s *session) nudgeOn(id domain.ExecutionID) {
	if last, ok := s.log.At(s.log.Len() - 1); ok && last.Message.Role != domain.RoleAssistant {
		return
	}
	m := domain.UserMessage("Go on where you stopped.")
	m.ID = id.Prompt()
	s.join("", m, domain.DigestOf([]byte(m.ID.String())), domain.Tag{ExecutionID: id, Trace: true})
}

// origins are the executions that the one in progress goes on from.
func (s *session) origins() []domain.ExecutionID {
	chain := s.state.Chain()
	if len(chain) < 2 {
		return nil
	}
	return chain[1:]
}

// estimatedInput is about how many tokens the next inference will read: what
// its texts are estimated at, and what the provider counted more than that for
// the one before.
func (s *session) estimatedInput() int64 {
	return max(s.rawInput()+s.guarded.Excess, s.fixedTokens())
}

// formatTokens is what telling a model of a response format takes beside the
// schema.
const formatTokens = 60

// rawInput estimates what the next inference will read by its texts alone.
func (s *session) rawInput() int64 { return s.tally.visible + s.tally.traces + s.fixedTokens() }

// fixedTokens estimates what every request has beside the conversation.
func (s *session) fixedTokens() int64 {
	format := s.resolved.Definition.Format
	tokens := domain.EstimateText(s.resolved.Definition.SystemPrompt) + domain.EstimateText(string(format.Schema))
	if format.Type == domain.FormatJSON || format.Type == domain.FormatSchema {
		tokens += formatTokens
	}
	for _, tool := range s.resolved.Tools {
		tokens += domain.EstimateText(tool.Name) + domain.EstimateText(tool.Description) + domain.EstimateText(string(tool.Schema))
	}
	return tokens
}
