// Package openaichat speaks OpenAI's chat completions API, streaming, to any
// server that has it; what differs between vendors is a Dialect.
//
// Its one rule: an answer counts only if it is whole. The official SDK's types
// write the request; the response is read here, since the SDK takes a stream that
// was cut, an error inside a 200 and two calls that share an index for success. Of
// 186 recorded answers its stream takes 24 in one piece for empty ones, loses the
// end of 4 and fails on 2 (TestSDKStreams in testsuite/providers), for more processor
// time (starter/help/figures.md).
package openaichat
