package workflows

import (
	"bytes"
	"encoding/json"
	"slices"

	"everstep/domain"
	"everstep/domain/hook"
)

// hookRequest is what a hook that is an activity gets to know.
func (s *session) hookRequest(spec domain.HookSpec, at any) domain.HookRequest {
	execution, _ := s.state.Execution()
	request := domain.HookRequest{
		Hook: spec, AgentID: s.in.AgentID, ExecutionID: execution.ID(), Number: s.state.ExecutionCount(),
		Metadata: s.state.Metadata(), Steps: s.state.StepCount(), Usage: s.state.Usage(),
	}
	if s.step != nil {
		request.Step = s.step.number
	}
	if signal, ok := s.state.StopSignal(); ok {
		request.Signal = &signal
	}
	switch at := at.(type) {
	case hook.Answer:
		request.Answer, request.Response = &at.Message, &at.Response
	case hook.Call:
		request.Call, request.ToolExecutionID = &at.Call, s.step.id.Tool(at.Position)
	case hook.Result:
		request.Result = &at.Execution
	case hook.Failure:
		request.Error = &at.Error
	}
	return request
}

// adopt does what a hook that is an activity wants done.
func adopt[At any](s *session, spec domain.HookSpec, at At, reply domain.HookReply) (At, error) {
	given := s.whole()
	made := given
	var err error
	if len(reply.Say) > 0 {
		if made, err = made.WithMessages(domain.SectionMessages, reply.Say, s.now()); err != nil {
			return at, err
		}
	}
	for _, key := range sortedKeys(reply.Note) {
		value := reply.Note[key]
		if string(bytes.TrimSpace(value)) == "null" {
			value = nil
		}
		if made, err = made.WithMetadata(key, value, s.now()); err != nil {
			return at, err
		}
	}
	var stops []domain.StopSignal
	if reply.Stop != nil {
		stop := *reply.Stop
		if stop.Reason == "" {
			stop.Reason = domain.StopRequested
		}
		stops = append(stops, stop)
	}
	if reply.Answer != nil {
		if err := hook.CheckAt(hook.Answer{}, hook.Answer{Message: *reply.Answer}); err != nil {
			return at, err
		}
	}
	if err := s.take(spec, given, made, stops, reply.Continue); err != nil {
		return at, err
	}
	switch at := any(&at).(type) {
	case *hook.Answer:
		if reply.Answer != nil {
			at.Message = *reply.Answer
		}
	case *hook.Call:
		if reply.Call != nil {
			at.Call = *reply.Call
		}
		if reply.Block != "" {
			*at = at.Block(reply.Block)
		}
	case *hook.Result:
		if reply.Content != nil {
			at.Execution.Value, at.Execution.Error = *reply.Content, nil
		}
	}
	return at, nil
}

// sortedKeys makes an order of what has none.
func sortedKeys(m domain.Metadata) []string {
	keys := make([]string, 0, len(m))
	// They are sorted right after.
	//workflowcheck:ignore
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// fingerprint is the digest of a message that a hook has made. The message
// follows from what history holds, so its encoding may change with a version:
// a transcript that is read back with another digest is fetched anew.
func fingerprint(m domain.Message, beside domain.Digest) domain.Digest {
	encoded, err := json.Marshal(m)
	if err != nil {
		encoded = []byte(m.Text())
	}
	return domain.DigestOf([]byte(beside.String()), encoded)
}
