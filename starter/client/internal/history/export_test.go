package history

import (
	"iter"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
)

// DecodeBackwards makes facts of a run's events, the newest first.
func DecodeBackwards(c converter.DataConverter, run string, events []*historypb.HistoryEvent) iter.Seq[Recorded] {
	return newDecoder(c, run, true).decode(events)
}
