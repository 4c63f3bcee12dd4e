package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"everstep/domain"
)

// The SDK takes an answer that it cannot decode for the end of the connection, and leaves a call waiting whose answer
// it does not recognize. So the transports give it what it can decode: what is wrong with an answer becomes the error
// of that request alone.

// codeUnread is the code of the error in the place of an answer that cannot be read.
const codeUnread = -32098

func unread(format string, values ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: codeUnread, Message: fmt.Sprintf(format, values...)}
}

// codeUnfinished is that of the error of a request whose answer was given up: nobody knows whether it would have come.
const codeUnfinished = -32097

func tooDeep() *jsonrpc.Error { return unread("it is nested more than %d deep", maxNesting) }

// encodedAnswer is an answer as JSON that the SDK can decode: in place of one that is nested too deep, an error with its id.
func encodedAnswer(answer *jsonrpc.Response) ([]byte, error) {
	data, err := jsonrpc.EncodeMessage(answer)
	if err != nil {
		return nil, err
	}
	if _, err := jsonrpc.DecodeMessage(data); err != nil {
		return jsonrpc.EncodeMessage(&jsonrpc.Response{ID: answer.ID, Error: tooDeep()})
	}
	return data, nil
}

// byteOrder is the mark with which some programs begin a text.
var byteOrder = []byte("\ufeff")

// maxUnread bounds what is shown of an answer that cannot be read.
const maxUnread = 200

// understood reads the messages of a line or a body. Beside those of the protocol it takes answers that lack its
// version, or whose error has another form, and several messages, in a list or one behind the other. An answer whose id is
// none is of no id. whole says that no more comes of it.
func understood(data []byte, whole bool) ([]jsonrpc.Message, error) {
	var all []jsonrpc.Message
	var one json.RawMessage
	in := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, byteOrder)))
	err := in.Decode(&one)
	// Who waits for an answer that is no JSON waits for nothing else. One that is cut off may come again.
	_, wrong := errors.AsType[*json.SyntaxError](err)
	if wrong = wrong || whole && errors.Is(err, io.ErrUnexpectedEOF); wrong && headed(data).IsValid() {
		return []jsonrpc.Message{&jsonrpc.Response{ID: headed(data), Error: unread("it is no JSON")}}, nil
	}
	for before := -1; err == nil && len(all) > before; err = in.Decode(&one) { // what stands behind something else may be anybody's, in a log
		before = len(all)
		several := []json.RawMessage{one}
		_ = json.Unmarshal(one, &several) // it may be no list
		for _, text := range several {
			if message, err := understoodOne(text); err == nil {
				all = append(all, message)
			}
		}
		one = nil
	}
	if len(all) == 0 {
		return nil, errors.New("it is no message of the protocol")
	}
	return all, nil
}

func understoodOne(data []byte) (jsonrpc.Message, error) {
	message, err := jsonrpc.DecodeMessage(data)
	request, asks := message.(*jsonrpc.Request)
	if err == nil && (!asks || request.Method != "") {
		return message, nil
	}
	var loose struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &loose) != nil || !absent(loose.Method) || len(loose.Result)+len(loose.Error) == 0 {
		return message, err
	}
	answer := &jsonrpc.Response{Result: loose.Result}
	var id any
	_ = json.Unmarshal(loose.ID, &id) // it may be missing
	answer.ID, _ = jsonrpc.MakeID(id) // or be none
	if !absent(loose.Error) {
		answer.Error = errorIn(loose.Error)
	}
	return answer, nil
}

func absent(text json.RawMessage) bool { return len(text) == 0 || string(text) == "null" }

// errorIn is an error of another form than the protocol's.
func errorIn(text json.RawMessage) *jsonrpc.Error {
	said := &jsonrpc.Error{Code: jsonrpc.CodeInternalError}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(text, &fields) // it may be a text
	_ = json.Unmarshal(fields["code"], &said.Code)
	if json.Unmarshal(text, &said.Message) != nil && json.Unmarshal(fields["message"], &said.Message) != nil {
		said.Message = domain.Shorten(string(text), maxUnread)
	}
	return said
}

// numbered is an id that a server has made a text of, as it was.
func numbered(id jsonrpc.ID) jsonrpc.ID {
	text, _ := id.Raw().(string)
	if n, err := strconv.ParseInt(text, 10, 53); err == nil {
		id, _ = jsonrpc.MakeID(float64(n))
	}
	return id
}

// heading finds an id at the beginning of a message, before anything that is nested in it, and concluding what only answers have.
var (
	heading    = regexp.MustCompile(`^\s*\{[^{}\[\]]*"id"\s*:\s*"?([0-9]+)"?\s*[,}]`)
	concluding = regexp.MustCompile(`"(?:result|error)"\s*:`)
)

// asking finds at the beginning of a message that it is no answer.
var asking = regexp.MustCompile(`^\s*\{[^{}\[\]]*"method"\s*:`)

// headed is the id of the answer that begins so. Not valid: nobody can tell, or it is none.
func headed(head []byte) (id jsonrpc.ID) {
	if found := heading.FindSubmatch(head); found != nil && concluding.Match(head) && !asking.Match(head) {
		id, _ = jsonrpc.MakeID(string(found[1])) // a text is one
	}
	return numbered(id)
}

func tooLong() *jsonrpc.Error { return unread("it has more than %d bytes", maxLine) }
