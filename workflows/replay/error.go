package replay

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain"
)

// Kinds of errors.
var (
	// ErrNotBegun: no workflow task was completed, and the run's input alone does not tell how the workflow begins.
	ErrNotBegun = errors.New("no worker has completed a workflow task of this run yet")
	// ErrDiffers: the workflow of this build would do something else than what is recorded.
	ErrDiffers = errors.New("the history does not fit the workflow of this build")
	// ErrUnreadable: a payload cannot be decoded.
	ErrUnreadable = errors.New("the history cannot be decoded")
	// ErrIncomplete: events are missing or damaged.
	ErrIncomplete = errors.New("the history is not whole")
	// ErrForeign: the workflow is of a type that no worker of Everstep has.
	ErrForeign = errors.New("the workflow is none of Everstep's")
)

// An Error says why a history cannot be replayed.
type Error struct {
	// Kind is one of those above; errors.Is compares it.
	Kind error
	// EventID is where the history is not whole or, of ErrDiffers, does not fit: the event that would not come again, or the
	// completed workflow task that would do something else. 0: nobody knows.
	EventID int64
	// Detail says what is wrong; it may be empty.
	Detail string
}

func (e *Error) Error() string {
	text := e.Kind.Error()
	if e.EventID > 0 {
		text += fmt.Sprintf(" at event %d", e.EventID)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// differences are what the SDK says of one, of which the attributes of events and commands may hold what nobody should read, and
// what is told of it.
var differences = [...]struct {
	said *regexp.Regexp
	told string
}{
	{regexp.MustCompile(`nondeterministic workflow: history event is (.*), replay command is (.*)`), "recorded is %s, and now it would be %s"},
	{regexp.MustCompile(`nondeterministic workflow: missing replay command for (.*)`), "recorded is %s, which it would not do now"},
	{regexp.MustCompile(`a matching (\w+) command was expected in history event position`), "recorded is %s, which it would not do now"},
	{regexp.MustCompile(`nondeterministic workflow: extra replay command for (.*)`), "it would now do %s, which is not recorded"},
}

var (
	whereItDiffers = regexp.MustCompile(`(?:WorkflowTaskCompletedEventId:|in history event position )(\d+)`)
	kindAndName    = regexp.MustCompile(`^(\w+)(?:.*?(?:ActivityType|WorkflowType):\(Name:([^),]*))?`)
)

// difference puts into words what the SDK says. Where it names no event, it is at the end of the history that something differs.
func difference(text string, task int64) *Error {
	text = oneLine(text)
	e := &Error{Kind: ErrDiffers, EventID: task, Detail: text}
	if found := whereItDiffers.FindStringSubmatch(text); found != nil {
		e.EventID, _ = strconv.ParseInt(found[1], 10, 64) // they are digits
	}
	for _, d := range differences {
		found := d.said.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		var named []any
		for _, attributes := range found[1:] {
			kind, name := "", ""
			if found := kindAndName.FindStringSubmatch(attributes); found != nil {
				kind, name = found[1], found[2]
			}
			named = append(named, strings.TrimSpace(kind+" "+name))
		}
		e.Detail = fmt.Sprintf(d.told, named...)
		break
	}
	e.Detail = domain.Shorten(e.Detail, 300)
	return e
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// decoding is a data converter that keeps the first error of decoding: of a workflow that could not read its input or a
// result the SDK only tells what came of that.
type decoding struct {
	converter.DataConverter
	err error
}

func (d *decoding) FromPayload(payload *commonpb.Payload, value any) error {
	return d.noted(d.DataConverter.FromPayload(payload, value))
}

func (d *decoding) FromPayloads(payloads *commonpb.Payloads, values ...any) error {
	return d.noted(d.DataConverter.FromPayloads(payloads, values...))
}

func (d *decoding) noted(err error) error {
	if d.err == nil {
		d.err = err
	}
	return err
}
