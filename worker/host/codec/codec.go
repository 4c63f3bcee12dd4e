// Package codec compresses the payloads that are worth it, and keeps those
// readable that people read and send with Temporal's own tools.
//
// Its main type is Codec. Its one rule: what it cannot read it passes on as it
// is, so that a signal with rubbish in it still arrives.
//
// Start reading at Codec.Encode.
package codec

import (
	"fmt"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

const (
	// Encoding marks what this codec compressed: a whole payload, in zstd. It
	// is recorded in every history.
	Encoding = "binary/zstd"
	// Threshold is from how many bytes of data on a payload is compressed.
	Threshold = 64 << 10
	// MaxDecoded bounds, in bytes, what the payloads of one message may grow
	// to; those beyond are passed on as they are.
	MaxDecoded = 64 << 20
)

// A Codec compresses payloads from Threshold on, unless that makes them larger
// or Plain marked them. It may be used from several goroutines.
type Codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

var _ converter.PayloadCodec = (*Codec)(nil)

// New returns a codec. It holds a few buffers, so a process needs one.
func New() *Codec {
	// They fail of options that are wrong, and of nothing else.
	encoder, _ := zstd.NewWriter(nil)
	decoder, _ := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxDecoded), zstd.WithDecoderConcurrency(0))
	return &Codec{encoder: encoder, decoder: decoder}
}

// Encode compresses what is worth it, and takes the mark off what Plain marked:
// with it, Temporal's own tools would show base64. A small payload that looks as if it came
// from here is wrapped too, so that Decode always returns what Encode was given.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	encoded := slices.Clone(payloads)
	for i, p := range payloads {
		alike := isOurs(p)
		if isPlain(p) {
			if !alike { // else Decode needs the mark
				metadata := maps.Clone(p.GetMetadata())
				delete(metadata, plainMark)
				encoded[i] = with(metadata, p)
			}
			continue
		}
		if len(p.GetData()) < Threshold && !alike {
			continue
		}
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("codec: encode payload %d: %w", i, err)
		}
		data := c.encoder.EncodeAll(raw, nil)
		if len(data) < len(raw) || alike {
			encoded[i] = &commonpb.Payload{
				Metadata: map[string][]byte{converter.MetadataEncoding: []byte(Encoding)},
				Data:     data,
			}
		}
	}
	return encoded, nil
}

// Decode returns what Encode was given. It never fails: payloads of others,
// damaged ones and those that exceed MaxDecoded are returned as they are.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	decoded := slices.Clone(payloads)
	left := MaxDecoded
	for i, p := range payloads {
		if !isOurs(p) || isPlain(p) || left <= 0 {
			continue
		}
		raw, err := c.decoder.DecodeAll(p.GetData(), nil)
		left -= len(raw)
		if err != nil || left < 0 || len(raw) == 0 {
			continue
		}
		inner := new(commonpb.Payload)
		if proto.Unmarshal(raw, inner) == nil {
			decoded[i] = inner
		}
	}
	return decoded, nil
}

func isOurs(p *commonpb.Payload) bool {
	return string(p.GetMetadata()[converter.MetadataEncoding]) == Encoding
}

// DataConverter returns Temporal's default converter behind the codec.
func (c *Codec) DataConverter() converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)
}

// plainMark is the metadata key of payloads that Encode leaves alone. It lives
// between Plain and Encode and does not travel, unless the payload looks as if
// this codec had made it.
const plainMark = "everstep-plain"

func isPlain(p *commonpb.Payload) bool {
	_, marked := p.GetMetadata()[plainMark]
	return marked
}

func with(metadata map[string][]byte, p *commonpb.Payload) *commonpb.Payload {
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
	metadata := map[string][]byte{plainMark: []byte("true")}
	maps.Copy(metadata, p.GetMetadata())
	return converter.NewRawValue(with(metadata, p)), nil
}

// PlainAll is Plain for each of the values.
func PlainAll(values []any) ([]any, error) {
	plain := make([]any, len(values))
	for i, value := range values {
		var err error
		if plain[i], err = Plain(value); err != nil {
			return nil, err
		}
	}
	return plain, nil
}
