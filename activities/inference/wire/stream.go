package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// An Event is one of a stream of server-sent events.
type Event struct {
	// Name is the event's, empty where it has none.
	Name string
	// ID is the last id that the stream has named.
	ID string
	// Data is the event's, its lines joined by LF. It is good until the next
	// event is read.
	Data []byte
}

// A Stream reads server-sent events as their standard has them: lines that end
// in LF, CR or CRLF, of any length; a byte order mark; comments; several lines
// of data. One leniency: a last event that lacks its empty line counts if its
// data is whole. One event has at most 16 MiB; how many there are the body
// bounds.
type Stream struct {
	reader *bufio.Reader
	line   []byte
	id     string
	marked bool
	// skip says that a CR ended the line before, whose LF may follow.
	skip bool
}

// NewStream returns a stream of the events in r. Its buffer is small: servers
// send small pieces, and many streams are open at once.
func NewStream(r io.Reader) *Stream { return &Stream{reader: bufio.NewReaderSize(r, 4<<10)} }

// pass passes over a byte order mark at the beginning.
func (s *Stream) pass() {
	if s.marked {
		return
	}
	s.marked = true
	if mark, _ := s.reader.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = s.reader.Discard(3)
	}
}

// Next returns the next event that has data; io.EOF where the stream ended.
func (s *Stream) Next() (Event, error) {
	s.pass()
	var out Event
	var has bool
	for {
		line, err := s.readLine()
		out.ID = s.id
		if err != nil {
			if errors.Is(err, io.EOF) && has && whole(out.Data) {
				return out, nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if has {
				return out, nil
			}
			out = Event{}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			out.Name = string(value)
		case "id":
			if !bytes.Contains(value, []byte{0}) {
				s.id = string(value)
			}
		case "data":
			if len(out.Data)+len(value) > maxEvent {
				return Event{}, errEvent()
			}
			if has {
				out.Data = append(out.Data, '\n')
			}
			out.Data, has = append(out.Data, value...), true
		}
	}
}

// whole reports whether data can be all that an event was to have.
func whole(data []byte) bool { return string(data) == "[DONE]" || json.Valid(data) }

// readLine returns the next line without its end. A last line without an end
// is returned before the error.
func (s *Stream) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		if _, err := s.reader.Peek(1); err != nil {
			if err == io.EOF && len(s.line) > 0 {
				return s.line, nil
			}
			return nil, err
		}
		buffered, _ := s.reader.Peek(s.reader.Buffered())
		if s.skip && buffered[0] == '\n' {
			s.skip = false
			_, _ = s.reader.Discard(1)
			continue
		}
		s.skip = false
		end := bytes.IndexAny(buffered, "\r\n")
		if end < 0 {
			if len(s.line)+len(buffered) > maxEvent {
				return nil, errEvent()
			}
			s.line = append(s.line, buffered...)
			_, _ = s.reader.Discard(len(buffered))
			continue
		}
		s.line = append(s.line, buffered[:end]...)
		s.skip = buffered[end] == '\r'
		_, _ = s.reader.Discard(end + 1)
		return s.line, nil
	}
}

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
