package codec

import (
	"fmt"
	"maps"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// plainMark is the metadata key of payloads that Encode leaves alone. It lives
// between Plain and Encode and does not travel, unless the payload looks as if
// this codec had made it.
const plainMark = "everstep-plain"

func isPlain(p *commonpb.Payload) bool {
	_, marked := p.GetMetadata()[plainMark]
	return marked
}

// unmarked returns a copy without the mark, where Decode will not need it.
func unmarked(p *commonpb.Payload) *commonpb.Payload {
	if isOurs(p) {
		return p
	}
	metadata := maps.Clone(p.GetMetadata())
	delete(metadata, plainMark)
	return &commonpb.Payload{Metadata: metadata, Data: p.GetData(), ExternalPayloads: p.GetExternalPayloads()}
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
	metadata := maps.Clone(p.GetMetadata())
	if metadata == nil {
		metadata = make(map[string][]byte, 1)
	}
	metadata[plainMark] = []byte("true")
	return converter.NewRawValue(&commonpb.Payload{Metadata: metadata, Data: p.GetData(), ExternalPayloads: p.GetExternalPayloads()}), nil
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
