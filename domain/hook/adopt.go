package hook

import (
	"bytes"
	"maps"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// Adopt does to a context what a hook that is an activity wants done. It is Run
// for such a hook, whose reply has come.
func Adopt[At any](c Context[At], reply contract.HookReply) (Context[At], error) {
	var err error
	if len(reply.Say) > 0 {
		if c.State, err = c.State.WithMessages(domain.SectionMessages, reply.Say, c.Now); err != nil {
			return c, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(reply.Note)) {
		value := reply.Note[key]
		if string(bytes.TrimSpace(value)) == "null" {
			value = nil
		}
		if c.State, err = c.State.WithMetadata(key, value, c.Now); err != nil {
			return c, err
		}
	}
	if reply.Stop != nil {
		stop := *reply.Stop
		if stop.Reason == "" {
			stop.Reason = domain.StopRequested
		}
		c.stops = []domain.StopSignal{stop}
	}
	c.goOn = reply.Continue
	if reply.Answer != nil {
		if err := CheckAt(Answer{}, Answer{Message: *reply.Answer}); err != nil {
			return c, err
		}
	}
	switch at := any(&c.At).(type) {
	case *Answer:
		if reply.Answer != nil {
			at.Message = *reply.Answer
		}
	case *Call:
		if reply.Call != nil {
			at.Call = *reply.Call
		}
		if reply.Block != "" {
			*at = at.Block(reply.Block)
		}
	case *Result:
		if reply.Content != nil {
			at.Execution.Value, at.Execution.Error = *reply.Content, nil
		}
	}
	return c, nil
}
