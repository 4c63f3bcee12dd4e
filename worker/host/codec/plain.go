package codec

import (
	"fmt"
	"maps"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// plainMark is the metadata key of payloads that Encode leaves alone. It is
// recorded in histories and must never change.
const plainMark = "everstep-plain"

// IsPlain reports whether a payload is to stay readable.
func IsPlain(p *commonpb.Payload) bool {
	_, marked := p.GetMetadata()[plainMark]
	return marked
}

// Plain encodes a value so that Temporal's own tools can read it: as the
// default converter does, and left alone by Encode whatever its size. A value
// that is raw already keeps its data. It is for what travels in queries,
// signals and updates.
func Plain(value any) (converter.RawValue, error) {
	p, err := converter.GetDefaultDataConverter().ToPayload(value)
	if err != nil {
		return converter.RawValue{}, fmt.Errorf("codec: %w", err)
	}
	if p == nil || len(p.GetData()) < Threshold && !isOurs(p) {
		// Encode leaves it alone without a mark.
		return converter.NewRawValue(p), nil
	}
	marked := proto.CloneOf(p)
	marked.Metadata = maps.Clone(p.GetMetadata())
	marked.Metadata[plainMark] = []byte("true")
	return converter.NewRawValue(marked), nil
}

// PlainAll is Plain for each of the values.
func PlainAll(values []any) ([]any, error) {
	plain := make([]any, len(values))
	for i, value := range values {
		raw, err := Plain(value)
		if err != nil {
			return nil, err
		}
		plain[i] = raw
	}
	return plain, nil
}
