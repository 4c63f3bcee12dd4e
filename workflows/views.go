package workflows

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"everstep/domain/contract"
)

// answer registers a query, whose types are those of the contract.
func answer[In, Out any](ctx workflow.Context, query contract.Query[In, Out], handle func(In) (Out, error)) error {
	return workflow.SetQueryHandler(ctx, string(query), handle)
}

// messages answers activities, which check what they have of the transcript by its digests.
func (s *session) messages(request contract.MessagesRequest) (contract.MessagesPage, error) {
	resolved, size := s.config.Resolved, 0
	if resolved != nil && request.Resolved != nil && *request.Resolved != resolved.Digest {
		size = len(must(json.Marshal(resolved)))
	} else {
		resolved = nil // the asker has it
	}
	page := s.conversation.Page(request, size)
	page.Resolved = resolved
	if page.From == page.Base {
		page.Segments = s.run.inheritedSegments
	}
	return page, nil
}
