package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// An Event is one of a stream of server-sent events.
type Event struct {
	// Name is the event's, empty where it has none.
	Name string
	// Data is the event's, its lines joined by LF, good until the next event is read.
	Data []byte
}

// errorEvent is the name of an event that says what went wrong.
const errorEvent = "error"

// A Stream reads server-sent events as their standard has them: lines that end
// in LF, CR or CRLF, of any length; a byte order mark; comments; several lines
// of data. Two leniencies: an event that lacks its empty line, at the end or before
// another, counts if its data is whole, or is an error; and so does a line that is an
// object of JSON, as some servers send all of them. One event has at most 16 MiB.
type Stream struct {
	reader *bufio.Reader
	line   []byte
	// skip says that a CR ended the line before, whose LF may follow.
	skip bool
	// again says that the line was not read, and name is that of the event it is of.
	again bool
	name  string
}

// NewStream returns a stream of the events in r, of which it reads the first bytes. Its buffer is small, as many are open at once.
func NewStream(r io.Reader) *Stream {
	s := &Stream{reader: bufio.NewReaderSize(r, 4<<10)}
	if mark, _ := s.reader.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = s.reader.Discard(3)
	}
	return s
}

// Next returns the next event that has data; io.EOF where the stream ended.
func (s *Stream) Next() (Event, error) {
	out := Event{Name: s.name}
	s.name = ""
	// behind is a name that came behind the data: its own, or where more data follows that of the next event.
	for lines, behind := 0, ""; ; {
		line, err := s.readLine()
		ends := errors.Is(err, io.EOF) && (string(out.Data) == endMark || json.Valid(out.Data) || out.Name == errorEvent)
		switch {
		case out.Data != nil && (ends || err == nil && len(line) == 0):
			out.Name = cmp.Or(out.Name, behind)
			return out, nil
		case err != nil:
			return Event{}, err
		case len(line) == 0:
			out = Event{}
			continue
		case out.Data == nil && line[0] == '{' && json.Valid(line):
			return Event{Name: out.Name, Data: line}, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		begins := string(name) == "event" && out.Name+behind != "" || string(name) == "data" && (string(value) == endMark || bytes.HasPrefix(value, []byte("{")))
		if begins && lines == 1 && json.Valid(out.Data) {
			if s.again = true; string(name) == "event" {
				out.Name = cmp.Or(out.Name, behind)
			} else {
				s.name = behind
			}
			return out, nil
		}
		switch string(name) {
		case "event":
			if out.Data != nil && out.Name == "" {
				behind = string(value)
			} else {
				out.Name = string(value)
			}
		case "data":
			if len(out.Data)+len(value) > maxEvent {
				return Event{}, errLongEvent
			}
			if out.Data != nil {
				out.Data = append(out.Data, '\n')
			}
			out.Data = append(slices.Grow(out.Data, 1), value...) // an empty one is not nil
			lines++
		}
	}
}

// readLine returns the next line without its end. The last may have none.
func (s *Stream) readLine() ([]byte, error) {
	if s.again {
		s.again = false
		return s.line, nil
	}
	for s.line = s.line[:0]; ; {
		next, err := s.reader.Peek(1)
		switch {
		case err == io.EOF && len(s.line) > 0:
			return s.line, nil
		case err != nil:
			return nil, err
		case s.skip && next[0] == '\n':
			s.skip = false
			_, _ = s.reader.Discard(1)
			continue
		}
		buffered, _ := s.reader.Peek(s.reader.Buffered())
		end := bytes.IndexAny(buffered, "\r\n")
		if s.skip = end >= 0 && buffered[end] == '\r'; end >= 0 {
			s.line = append(s.line, buffered[:end]...)
			_, _ = s.reader.Discard(end + 1)
			return s.line, nil
		}
		if s.line = append(s.line, buffered...); len(s.line) > maxEvent {
			return nil, errLongEvent
		}
		_, _ = s.reader.Discard(len(buffered))
	}
}

// First is the first byte of the body that is no white space, which is passed over.
// It tells what a body is, whatever its content type says. Zero: there is none.
func (s *Stream) First() byte {
	for {
		next, err := s.reader.Peek(1)
		if err != nil {
			return 0
		}
		if !bytes.ContainsAny(next, " \t\r\n") {
			return next[0]
		}
		_, _ = s.reader.Discard(1)
	}
}

// InLines reports whether a body that begins with JSON is several values, one in each line.
func (s *Stream) InLines() bool {
	_, err := s.readLine() // it comes again where the rest is read
	s.again = true
	return err == nil && json.Valid(s.line) && s.First() != 0
}

// Rest reads what is left of the body, up to a number of bytes.
func (s *Stream) Rest(limit int64) ([]byte, error) {
	var rest io.Reader = s.reader
	if s.again {
		rest = io.MultiReader(bytes.NewReader(s.line), rest)
	}
	return io.ReadAll(io.LimitReader(rest, limit))
}
