package openaichat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// An event is one of a stream of server-sent events.
type event struct {
	name string
	data []byte
}

// events reads server-sent events as their standard has them: lines that end
// in LF, CR or CRLF, of any length; a byte order mark; comments; several lines
// of data. One leniency: a last event that lacks its empty line counts if its
// data is whole.
type events struct {
	reader *bufio.Reader
	line   []byte
	// skip says that a CR ended the line before, whose LF may follow.
	skip bool
}

func newEvents(r io.Reader) *events { return &events{reader: bufio.NewReaderSize(r, 32<<10)} }

// first returns the first byte that is not white space, zero if there is none.
// A byte order mark is passed over.
func (e *events) first() byte {
	if mark, _ := e.reader.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = e.reader.Discard(3)
	}
	for {
		next, err := e.reader.Peek(1)
		if err != nil {
			return 0
		}
		if !bytes.ContainsAny(next, " \t\r\n") {
			return next[0]
		}
		_, _ = e.reader.Discard(1)
	}
}

// next returns the next event that has data; io.EOF where the stream ended.
// The event is good until the next call.
func (e *events) next() (event, error) {
	var out event
	var has bool
	for {
		line, err := e.readLine()
		if err != nil {
			if errors.Is(err, io.EOF) && has && whole(out.data) {
				return out, nil
			}
			return event{}, err
		}
		if len(line) == 0 {
			if has {
				return out, nil
			}
			out = event{}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			out.name = string(value)
		case "data":
			if has {
				out.data = append(out.data, '\n')
			}
			out.data, has = append(out.data, value...), true
		}
	}
}

func whole(data []byte) bool { return bytes.Equal(data, done) || json.Valid(data) }

// readLine returns the next line without its end. A last line without an end
// is returned before the error.
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		if _, err := e.reader.Peek(1); err != nil {
			if err == io.EOF && len(e.line) > 0 {
				return e.line, nil
			}
			return nil, err
		}
		buffered, _ := e.reader.Peek(e.reader.Buffered())
		if e.skip && buffered[0] == '\n' {
			e.skip = false
			_, _ = e.reader.Discard(1)
			continue
		}
		e.skip = false
		end := bytes.IndexAny(buffered, "\r\n")
		if end < 0 {
			e.line = append(e.line, buffered...)
			_, _ = e.reader.Discard(len(buffered))
			continue
		}
		e.line = append(e.line, buffered[:end]...)
		e.skip = buffered[end] == '\r'
		_, _ = e.reader.Discard(end + 1)
		return e.line, nil
	}
}
