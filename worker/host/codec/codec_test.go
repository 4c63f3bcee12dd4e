package codec_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"everstep/worker/host/codec"
)

func payload(encoding string, data []byte) *commonpb.Payload {
	return &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encoding)}, Data: data}
}

func compress(t testing.TB, data []byte) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return encoder.EncodeAll(data, nil)
}

func random(t testing.TB, n int) []byte {
	t.Helper()
	data := make([]byte, n)
	_, err := rand.Read(data)
	require.NoError(t, err)
	return data
}

func TestEncodeCompressesWhatIsWorthIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in         *commonpb.Payload
		compressed bool
	}{
		"at the threshold":       {payload("json/plain", bytes.Repeat([]byte("a"), codec.Threshold)), true},
		"below the threshold":    {payload("json/plain", bytes.Repeat([]byte("a"), codec.Threshold-1)), false},
		"random bytes":           {payload("binary/plain", random(t, 2*codec.Threshold)), false},
		"empty":                  {&commonpb.Payload{}, false},
		"looks as if compressed": {payload(codec.Encoding, []byte("short")), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := codec.New()
			before := proto.CloneOf(test.in)
			out, err := c.Encode([]*commonpb.Payload{test.in})
			require.NoError(t, err)
			require.True(t, proto.Equal(before, test.in), "the input stays as it was")
			require.Equal(t, test.compressed, !proto.Equal(test.in, out[0]))
			if test.compressed {
				require.Equal(t, codec.Encoding, string(out[0].Metadata[converter.MetadataEncoding]))
				require.Len(t, out[0].Metadata, 1)
			}
			back, err := c.Decode(out)
			require.NoError(t, err)
			require.True(t, proto.Equal(test.in, back[0]))
		})
	}
}

// Whatever comes in comes back, also what looks like an encoded payload.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	c := codec.New()
	rapid.Check(t, func(rt *rapid.T) {
		var in []*commonpb.Payload
		for range rapid.IntRange(0, 4).Draw(rt, "payloads") {
			data := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "data")
			data = bytes.Repeat(data, rapid.SampledFrom([]int{1, 10, 5000}).Draw(rt, "times"))
			p := payload(rapid.SampledFrom([]string{"json/plain", codec.Encoding, ""}).Draw(rt, "encoding"), data)
			if rapid.Bool().Draw(rt, "valid zstd") {
				p.Data = compress(t, data)
			}
			in = append(in, p)
			if rapid.Bool().Draw(rt, "plain") {
				marked, err := codec.Plain(converter.NewRawValue(p))
				require.NoError(rt, err)
				in[len(in)-1] = marked.Payload()
			}
		}
		out, err := c.Encode(in)
		require.NoError(rt, err)
		back, err := c.Decode(out)
		require.NoError(rt, err)
		require.Len(rt, back, len(in))
		for i := range in {
			if string(in[i].Metadata[converter.MetadataEncoding]) != codec.Encoding {
				delete(in[i].Metadata, "everstep-plain")
			}
			require.True(rt, proto.Equal(in[i], back[i]))
		}
	})
}

func TestDecodePassesOnWhatItCannotRead(t *testing.T) {
	t.Parallel()
	whole := compress(t, bytes.Repeat([]byte("abcdefgh"), 20_000))
	for name, in := range map[string]*commonpb.Payload{
		"no metadata":       {Data: []byte("rubbish")},
		"unknown encoding":  payload("json/encrypted", []byte("rubbish")),
		"another's zlib":    payload("binary/zlib", []byte("rubbish")),
		"not zstd":          payload(codec.Encoding, []byte("rubbish")),
		"no data":           payload(codec.Encoding, nil),
		"zstd, cut":         payload(codec.Encoding, whole[:len(whole)/2]),
		"zstd, no payload":  payload(codec.Encoding, whole),
		"zstd, damaged":     payload(codec.Encoding, append([]byte{whole[0] ^ 1}, whole[1:]...)),
		"a bomb":            payload(codec.Encoding, compress(t, make([]byte, codec.MaxDecoded+1))),
		"a bomb of frames":  payload(codec.Encoding, bytes.Repeat(compress(t, make([]byte, codec.MaxDecoded/2+1)), 3)),
		"a header of 8 EiB": payload(codec.Encoding, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := codec.New().Decode([]*commonpb.Payload{in})
			require.NoError(t, err)
			require.Same(t, in, out[0])
		})
	}
}

// Many small payloads cannot grow to more than one large one may.
func TestDecodeBoundsTheWhole(t *testing.T) {
	t.Parallel()
	c := codec.New()
	large := payload("binary/plain", make([]byte, codec.MaxDecoded/2-1000))
	encoded, err := c.Encode([]*commonpb.Payload{large})
	require.NoError(t, err)
	in := []*commonpb.Payload{encoded[0], encoded[0], encoded[0], encoded[0]}
	out, err := c.Decode(in)
	require.NoError(t, err)
	require.Len(t, out[0].Data, len(large.Data))
	require.Len(t, out[1].Data, len(large.Data))
	require.Same(t, in[2], out[2])
	require.Same(t, in[3], out[3])
}

func FuzzDecode(f *testing.F) {
	c := codec.New()
	f.Add([]byte("rubbish"))
	f.Add(compress(f, []byte("\n\x04\n\x02ab")))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := []*commonpb.Payload{payload(codec.Encoding, data)}
		out, err := c.Decode(in)
		require.NoError(t, err)
		require.Len(t, out, 1)
		require.NotNil(t, out[0])
	})
}

func TestPlainIsReadableThroughTheConverter(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", codec.Threshold)
	for name, value := range map[string]any{
		"short": "short", "long": long, "nil": nil,
		"raw": converter.NewRawValue(payload("json/plain", []byte(`"`+long+`"`))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dc := codec.New().DataConverter()
			args, err := codec.PlainAll([]any{value})
			require.NoError(t, err)
			payloads, err := dc.ToPayloads(args...)
			require.NoError(t, err)
			require.Len(t, payloads.Payloads[0].Metadata, 1, "with more, Temporal's CLI shows base64")
			if value != nil {
				require.Equal(t, "json/plain", string(payloads.Payloads[0].Metadata[converter.MetadataEncoding]))
				var text string
				require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(payloads, &text), "without the codec")
				var same string
				require.NoError(t, dc.FromPayloads(payloads, &same))
				require.Equal(t, text, same)
			}
		})
	}
}

func TestPlainRefusesWhatHasNoJSON(t *testing.T) {
	t.Parallel()
	_, err := codec.PlainAll([]any{"fine", func() {}})
	require.ErrorContains(t, err, "codec:")
}

func TestRawSignalsArrive(t *testing.T) {
	t.Parallel()
	dc := codec.New().DataConverter()
	in := payload(codec.Encoding, []byte("rubbish"))
	var raw converter.RawValue
	require.NoError(t, dc.FromPayloads(&commonpb.Payloads{Payloads: []*commonpb.Payload{in}}, &raw))
	require.True(t, proto.Equal(in, raw.Payload()))
}

func TestFailureMessagesPassTheCodec(t *testing.T) {
	t.Parallel()
	failures := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: codec.New().DataConverter(), EncodeCommonAttributes: true,
	})
	long := strings.Repeat("what the user said ", codec.Threshold)
	failure := failures.ErrorToFailure(temporal.NewApplicationError(long, "invalid"))
	require.Equal(t, codec.Encoding, string(failure.EncodedAttributes.Metadata[converter.MetadataEncoding]))
	require.Equal(t, "Encoded failure", failure.Message)
	require.ErrorContains(t, failures.FailureToError(failure), long)
}
