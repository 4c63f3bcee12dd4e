package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"everstep/activities/inference"
	"everstep/domain"
)

// A Decoder knows one API's answers. Its errors are Attempt.Malformed's and Inner's.
type Decoder interface {
	// Event takes the next event of a stream that holds anything but [DONE], and calls Attempt.Done where none follows on
	// which anything depends. The data is good until Event returns.
	Event(e Event) error
	// Whole takes a body in one piece, which is valid JSON. End is called behind it.
	Whole(data []byte) error
	// Finish is the API's own word for why the model stopped, empty until its mark of the
	// end was seen: then the answer is whole, unless more of it follows. Events with usage may.
	// A decoder with a method Trailer reads what may follow the end of the stream, and no more of the answer.
	Finish() string
	// End closes the answer where the stream says that it is done. Attempt has one that does nothing.
	End() error
	// Answer is the answer, once it is whole.
	Answer() inference.Answer
}

// Decode reads the data of an event, or a body in one piece, into a value, or says
// what it is not. What holds an error, or is an event of that name, is Inner's.
func (a *Attempt) Decode(e Event, into interface{ Failed() bool }, what string) error {
	err := json.Unmarshal(e.Data, into)
	switch {
	case e.Name == errorEvent || into.Failed():
		return a.Inner(e.Data)
	case err != nil:
		return a.Malformed(what, e.Data)
	}
	return nil
}

// read gives a response of status 200 to the decoder. It returns nil only for an answer that
// is complete.
func (a *Attempt) read(response *http.Response, d Decoder) error {
	stream := NewStream(response.Body)
	var err error
	switch first := stream.First(); {
	case (first == '{' || first == '[') && !stream.InLines():
		err = a.readWhole(stream, d)
	case first == '<', first == 0:
		var head []byte
		if head, err = stream.Rest(maxExcerpt); err == nil && len(head) == 0 {
			err = a.Malformed("the response is empty", nil)
		} else if err == nil {
			kind := cmp.Or(response.Header.Get("Content-Type"), "of no stated type")
			err = a.Malformed("the response is a page ("+kind+") and not an answer; check the base URL", head)
		}
	default:
		err = a.readStream(stream, d)
	}
	a.Flush()
	// Two answers came by turns where their ids come back as often as others begin. An id at each piece, for some of them,
	// or anew from time to time, is how servers number pieces.
	if err == nil && a.returns > 0 && a.returns >= len(a.ids)-1 {
		return a.Mixed("it goes on under another id", nil)
	}
	if err == nil && roomless.MatchString(d.Finish()) {
		// What came of it is no answer, and the same conversation would end the same.
		return a.Fail(domain.TooLarge, domain.CodeContextOverflow, nil, "the answer was cut off where the conversation exceeds the context of model %s", a.call.Config.Model)
	}
	return err
}

func (a *Attempt) readWhole(stream *Stream, d Decoder) error {
	data, err := stream.Rest(maxEvent + 1)
	if err != nil {
		return err
	}
	switch {
	case len(data) > maxEvent:
		return &tooLong{"the answer", maxEvent}
	case !json.Valid(data):
		return a.Malformed("the answer is not valid JSON, or was cut", data)
	}
	if err = d.Whole(data); err == nil {
		err = d.End()
	}
	if err == nil && d.Finish() == "" {
		err = a.Malformed("the answer is not whole", data)
	}
	return err
}

// readStream reads up to the end of the stream. What comes after the API's mark of the end is passed over but for its
// usage: bounded in time, since some servers keep the connection open.
func (a *Attempt) readStream(stream *Stream, d Decoder) error {
	// again says that more came after the answer was whole once: then only the end of the
	// stream, or its mark, is the end.
	var heard, complete, again bool
	for {
		e, err := stream.Next()
		switch {
		case err != nil && (a.done || complete && !again), errors.Is(err, io.EOF) && complete:
			return nil
		case err == nil && a.done:
			if trailed, ok := d.(interface{ Trailer(data []byte) }); ok {
				trailed.Trailer(e.Data)
			}
			continue
		case errors.Is(err, io.EOF) && !heard:
			return a.Malformed("the answer has no events", stream.line)
		case errors.Is(err, io.EOF):
			// It ended without the API's mark of its end. Where proxies leave that out, the configuration says so.
			if a.client.config.FinishOptional {
				if err := d.End(); err != nil || d.Finish() != "" {
					return err
				}
			}
			return a.Malformed(fmt.Sprintf("the stream ended after %d bytes, before the answer was whole", a.body.read), nil)
		case err != nil:
			return err
		}
		heard, a.pause = true, 0
		before := a.Held()
		err = a.take(e, d)
		a.Flush()
		grown := a.Held() != before
		switch {
		case err != nil:
			return err
		case a.Held() > maxHeld:
			return &tooLong{"the answer", maxHeld}
		case grown && a.pause == 0:
			a.Heard()
		}
		again = again || grown && complete
		whole := complete
		complete = d.Finish() != ""
		switch {
		case a.done && !complete:
			return a.Malformed("the stream says it is done and the answer is not whole", nil)
		case a.done:
			a.quiet.Reset(min(lastTimeout, a.timeouts.Idle))
		case complete && !again && !whole:
			a.quiet.Reset(min(trailerTimeout, a.timeouts.Idle))
		case a.pause > 0 && (again || !complete):
			a.quiet.Reset(a.pause)
		}
	}
}

// endMark is the event by which OpenAI's APIs, and servers of others, say that a stream is done; ping is one that says
// nothing.
const (
	endMark = "[DONE]"
	ping    = "ping"
)

// take gives an event to the decoder. The mark of the end, however it is spelled, closes the answer, and what is blank, or
// only keeps the connection, says nothing.
func (a *Attempt) take(e Event, d Decoder) error {
	if bytes.HasPrefix(e.Data, []byte("{")) && e.Name != ping {
		return d.Event(e)
	}
	switch word := strings.ToLower(string(bytes.Trim(e.Data, " \t\n\"[]"))); {
	case word == "done":
		a.Done()
		return d.End()
	case e.Name == ping, word == "", Names("ping heartbeat keepalive keep-alive")[word]:
		return nil
	}
	return d.Event(e)
}

// Done says that no event follows on which anything depends.
func (a *Attempt) Done() { a.done = true }

// End is that of a Decoder whose API has an event of its own for the end.
func (a *Attempt) End() error { return nil }

// Heard says that the event brought something of the answer, where the draft does not grow by it.
func (a *Attempt) Heard() { a.pause = a.timeouts.Idle }

// Thinks says that the model thinks from now on, which it may do unheard for as long as before
// the first byte.
func (a *Attempt) Thinks() { a.pause = max(a.timeouts.Idle, a.timeouts.FirstByte) }

// SaidUnder notes that an event said something of the answer, or ended it, under an id, empty where it has none. Behind
// a finish reason an answer that had one id so far goes on under no other.
func (a *Attempt) SaidUnder(id string, ended bool, body []byte) error {
	if id == "" || id == a.id {
		return nil
	}
	if ended && len(a.ids) == 1 && !a.ids[id] {
		return a.Mixed("it goes on under another id", body)
	}
	if a.ids[id] {
		a.returns++
	} else {
		a.ids[id] = true
		a.Hold(len(id))
	}
	a.id = id
	return nil
}

// Mixed is the error of a stream that holds two answers, as something in between mixes them.
func (a *Attempt) Mixed(sign string, body []byte) *domain.Error {
	return a.Malformed("the stream holds two answers: "+sign, body)
}

const (
	// maxBody bounds a response in bytes. Servers spend up to 320 of them on a
	// token, so the longest answers of today take about 40 MiB.
	maxBody = 128 << 20
	// maxEvent bounds one event of a stream, or an answer in one piece: the last
	// event of some APIs holds the whole answer once more.
	maxEvent = 16 << 20
	// maxHeld bounds what is kept of an answer: more than any message that can be recorded.
	maxHeld = 4 << 20
	// perPart is what a part or a call counts beside its text, so that no server
	// makes more of them than can be looked through.
	perPart   = 1 << 10
	maxHeader = 1 << 20
	// trailerTimeout bounds the wait for what may follow a whole answer: usage, the end.
	trailerTimeout = 5 * time.Second
	// lastTimeout bounds the wait for the end of the response, once it is said that nothing follows.
	lastTimeout = 250 * time.Millisecond
)

// tooLong is the error of something that has more bytes than it may.
type tooLong struct {
	what string
	most int64
}

func (t *tooLong) Error() string { return fmt.Sprintf("%s has more than %d bytes", t.what, t.most) }

var (
	errQuiet     = errors.New("the server sent nothing for too long")
	errLongEvent = &tooLong{"an event of the answer", maxEvent}
)

// guarded is a response's body, bounded in bytes.
type guarded struct {
	io.ReadCloser

	// most is how many bytes it may have, read how many have come.
	most, read int64
}

func (g *guarded) Read(p []byte) (int, error) {
	if g.read >= g.most {
		return 0, &tooLong{"the response", g.most}
	}
	n, err := g.ReadCloser.Read(p[:min(int64(len(p)), g.most-g.read)])
	g.read += int64(n)
	return n, err
}

// A Text is a string that some servers write as null, a number or an object.
type Text string

// UnmarshalJSON takes what is no string as it is written. Of valid JSON it never fails.
func (t *Text) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case IsNull(data):
		*t = ""
	case data[0] == '"' && bytes.HasSuffix(data[1:], []byte(`"`)) && bytes.IndexByte(data, '\\') < 0 && utf8.Valid(data):
		*t = Text(data[1 : len(data)-1]) // as it mostly is, and each piece of an answer has several
	case data[0] == '"':
		s, err := decodeText(data)
		if err != nil {
			return err
		}
		*t = Text(s)
	default:
		*t = Text(data)
	}
	return nil
}

// A List is one of values, which some servers send alone where there is only one.
type List []json.RawMessage

// ListOf reads a list.
func ListOf(data []byte) (l List) {
	_ = l.UnmarshalJSON(data) // never
	return l
}

// UnmarshalJSON never fails.
func (l *List) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*[]json.RawMessage)(l)) != nil {
		*l = List{bytes.Clone(data)}
	}
	return nil
}

// ObjectIn is a call's arguments as they came, or the object that a text among them holds. Null is empty.
func ObjectIn(arguments json.RawMessage) string {
	var text string
	_ = json.Unmarshal(arguments, &text) // most are none
	if IsNull(arguments) || strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return text
	}
	return string(arguments)
}

// A Count is a number of tokens. What is no such number counts as not reported.
type Count int64

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(data []byte) error {
	number, err := strconv.ParseFloat(string(bytes.Trim(data, `"`)), 64)
	if known := number >= 0 && number <= math.MaxInt32*float64(1<<10); err != nil || !known {
		number = 0
	}
	*c = Count(number)
	return nil
}

// Present reports whether a JSON value says anything: null, false, zero, empty, and what holds
// nothing else, are how servers fill in what they do not have.
func Present(data json.RawMessage) bool { return present(data, 20) }

// present looks into a value as deep as is said: what is below counts.
func present(data []byte, depth int) (says bool) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0, data[0] == 'n', data[0] == 'f':
		return false
	case data[0] == '"':
		return len(data) > len(`""`)
	case data[0] == '{', data[0] == '[':
		members(data, func(_, value []byte) { says = says || depth == 0 || present(value, depth-1) })
		return says
	}
	number, err := strconv.ParseFloat(string(data), 64)
	return data[0] == 't' || number != 0 || errors.Is(err, strconv.ErrRange)
}

// IsNull reports whether a JSON value is null, by which an option leaves a field out, or is not there.
func IsNull(data json.RawMessage) bool {
	data = bytes.TrimSpace(data)
	return len(data) == 0 || string(data) == "null"
}
