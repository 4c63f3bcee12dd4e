package codec

import "go.temporal.io/sdk/converter"

// DataConverter returns Temporal's default converter behind the codec.
func (c *Codec) DataConverter() converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)
}
