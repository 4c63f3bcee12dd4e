// Package codec compresses the payloads that are worth it, and keeps those
// readable that people read and send with Temporal's own tools.
//
// Its main type is Codec. Its one rule: what it cannot read it passes on as it
// is, so that a signal with rubbish in it still arrives.
//
// Start reading at Codec.Encode.
package codec
