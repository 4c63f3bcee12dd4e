package codec

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

const (
	// Encoding marks what this codec compressed: a whole payload, in zstd. It
	// is recorded in every history and must never change.
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
func New() (*Codec, error) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxDecoded), zstd.WithDecoderConcurrency(0))
	if err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	return &Codec{encoder: encoder, decoder: decoder}, nil
}

// Encode compresses what is worth it, and takes the mark off what Plain marked:
// with it, Temporal's own tools would show base64. A small payload that looks as if it came
// from here is wrapped too, so that Decode always returns what Encode was given.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	encoded := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		encoded[i] = p
		alike := isOurs(p)
		if isPlain(p) {
			encoded[i] = unmarked(p)
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
	decoded := make([]*commonpb.Payload, len(payloads))
	left := MaxDecoded
	for i, p := range payloads {
		decoded[i] = p
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
