package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An eventBody is a stream of server-sent events of which the SDK can decode each: it takes one that it cannot for the end
// of the connection. What is no message is left out.
type eventBody struct {
	io.Closer

	lines *bufio.Reader
	// id is that of the request that the stream answers; none: it is not known.
	id jsonrpc.ID
	// ready is what was not read yet, failed why nothing follows it.
	ready  bytes.Buffer
	failed error
}

func newEventBody(body io.ReadCloser, id jsonrpc.ID) *eventBody {
	return &eventBody{Closer: body, lines: bufio.NewReaderSize(body, 64<<10), id: id}
}

// Read implements io.Reader.
func (b *eventBody) Read(into []byte) (int, error) {
	for b.ready.Len() == 0 {
		if b.failed != nil {
			return 0, b.failed
		}
		b.next()
	}
	return b.ready.Read(into)
}

// next reads an event.
func (b *eventBody) next() {
	var data []byte
	name, given := "", false
	for {
		line, err := b.lines.ReadBytes('\n')
		field, value, _ := bytes.Cut(bytes.TrimRight(bytes.TrimPrefix(line, byteOrder), "\r\n"), []byte{':'})
		switch value = bytes.TrimSpace(value); string(field) {
		case "data":
			if !given {
				data, given = nil, true // what stood before it was a log
			}
			data = append(append(data, value...), '\n')
		case "event":
			name = string(value)
		case "id", "retry":
			fmt.Fprintf(&b.ready, "%s: %s\n", field, value)
		default:
			if !given && bytes.HasPrefix(field, []byte("{")) { // it is a body in one piece, whatever its type says
				data = append(data, line...)
			}
		}
		if b.failed = err; errors.Is(err, errLongBody) && b.id.IsValid() {
			b.giveUp(data)
			return
		} else if err != nil && !errors.Is(err, io.EOF) {
			return
		}
		if len(bytes.TrimSpace(line)) > 0 && err == nil {
			continue
		}
		if data = bytes.TrimSpace(data); len(data) > 0 {
			b.message(data, name)
		}
		b.ready.WriteByte('\n')
		return
	}
}

// giveUp ends a stream that is too long, in the middle of an event.
func (b *eventBody) giveUp(data []byte) {
	b.failed = io.EOF
	why := &jsonrpc.Error{Code: codeUnfinished, Message: errLongBody.Error()}
	if headed(data) == b.id {
		why = tooLong()
	}
	b.write(&jsonrpc.Response{ID: b.id, Error: why})
}

// message writes what an event says, the messages of a list as an event each, and reports whether an answer to the request is among
// them. One with a name of its own may be none of the protocol's: it answers what its id says, and nothing without one, but for
// an error that is called so.
func (b *eventBody) message(data []byte, name string) (answers bool) {
	all, err := understood(data, b.failed == nil)
	if err != nil {
		if b.failed != nil {
			b.ready.Reset() // its id is that of an event which is still to come
		}
		return false
	}
	for _, one := range all {
		answer, ok := one.(*jsonrpc.Response)
		fails := name == "error" && ok && answer.Error != nil
		ours := name == "" || name == "message" || fails
		if fails && !answer.ID.IsValid() && !bytes.Contains(data, []byte(`"jsonrpc"`)) { // it is a gateway's, which knows no more of the call
			answer.Error = &jsonrpc.Error{Code: codeUnfinished, Message: answer.Error.Error()}
		}
		if ok && (numbered(answer.ID) == b.id || ours && !answer.ID.IsValid()) {
			answer.ID = b.id
		}
		if ok && !answer.ID.IsValid() {
			continue // nobody can tell what it answers
		}
		answers = answers || ok && answer.ID == b.id
		b.write(one)
	}
	return answers
}

// write adds a message to what is ready, as the data of an event, which ends there. An answer that the SDK could not decode again
// becomes the error of its request, since the SDK would end the connection.
func (b *eventBody) write(message jsonrpc.Message) {
	var data []byte
	var err error
	if answer, ok := message.(*jsonrpc.Response); ok {
		data, err = encodedAnswer(answer)
	} else {
		data, err = jsonrpc.EncodeMessage(message)
	}
	if err == nil { // what was decoded can be encoded
		fmt.Fprintf(&b.ready, "data: %s\n\n", data)
	}
}
