package wire

import (
	"bytes"
	"io"
)

// A Form is what a body turns out to be, whatever its content type says.
type Form string

const (
	// FormStream is a stream of events, or what can only be one.
	FormStream Form = "stream"
	// FormJSON is one JSON value: an answer in one piece, or an error.
	FormJSON Form = "json"
	// FormPage is a page for people to read.
	FormPage Form = "page"
	// FormEmpty is nothing but white space, or a body that cannot be read.
	FormEmpty Form = "empty"
)

// Form looks at the beginning of the body. White space there is passed over.
func (s *Stream) Form() Form {
	s.pass()
	for {
		next, err := s.reader.Peek(1)
		switch {
		case err != nil:
			return FormEmpty
		case bytes.ContainsAny(next, " \t\r\n"):
			_, _ = s.reader.Discard(1)
			continue
		}
		switch next[0] {
		case '{', '[':
			return FormJSON
		case '<':
			return FormPage
		}
		return FormStream
	}
}

// Rest reads what is left of the body, up to a number of bytes.
func (s *Stream) Rest(limit int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(s.reader, limit))
}
