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
	var definition *contract.Resolved
	var encoded []byte
	if r := s.config.Resolved; r != nil && request.Resolved != nil && *request.Resolved != r.Digest {
		definition = r
		encoded, _ = json.Marshal(r)
	}
	page := s.conversation.Page(request, len(encoded))
	page.Resolved = definition
	if page.From == page.Base {
		page.Segments = s.run.inheritedSegments
	}
	return page, nil
}
