package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"everstep/activities/inference"
	"everstep/domain"
)

// An Attempt is one request and the draft of its answer. It belongs to one goroutine.
type Attempt struct {
	// Draft is the answer as it comes.
	Draft
	// Base is the base URL, not to be changed.
	Base *url.URL
	// Key is the key of this attempt, empty for none. All its errors hide it.
	Key string
	// Bound is the most tokens that the answer may have. Zero is no bound.
	Bound int64
	// Lessons are what the server was found to refuse, in the words of API.Learn. They are not to be changed.
	Lessons []string

	client *Client
	call   inference.Call
	// place names the server and model.
	place  string
	ctx    context.Context
	cancel context.CancelCauseFunc
	// timeouts are the agent's, else the client's.
	timeouts Timeouts
	// quiet ends the attempt when nothing is heard for the time that it was last reset to.
	quiet *time.Timer
	// sent says that a byte of the request may have left.
	sent atomic.Bool
	// done says that no more of the response counts.
	done bool
	// pause is how long may pass after an event until more of the answer comes. Zero: it brought nothing.
	pause time.Duration
	// ids are those of the events that said something, id is the last of them, and returns counts how often an earlier one
	// came back.
	ids     map[string]bool
	id      string
	returns int
	// body is the response's, once there is one.
	body *guarded
}

// A Request is what an attempt asks: JSON, sent by POST.
type Request struct {
	// Path is that below the base URL, escaped.
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
}

// Infer makes one attempt: see inference.Provider.
func (c *Client) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	a, err := c.begin(ctx, call, emit)
	if err != nil {
		return inference.Answer{}, c.own(err)
	}
	defer a.quiet.Stop()
	defer a.cancel(nil) // which closes the connection if an answer is still coming
	request, decoder, err := a.prepare()
	if err != nil {
		return inference.Answer{}, c.own(err)
	}
	response, err := a.send(request)
	if err == nil {
		defer response.Body.Close()
		err = a.read(response, decoder)
	}
	if err != nil {
		return a.Partial(), a.explain(err)
	}
	answer := decoder.Answer()
	a.Flush()
	return answer, nil
}

// sendable are the messages with a text in each result of a tool: models, and some servers, stumble on none. Its error
// says why a part can be sent to no API: hooks may add any.
func sendable(messages []domain.Message) ([]domain.Message, error) {
	messages = slices.Clone(messages)
	return messages, Each("message", messages, func(i int, m domain.Message) error {
		if m.ToolResult != nil && domain.UserMessage(m.ToolResult.Content).Blank() {
			messages[i].ToolResult = new(*m.ToolResult)
			messages[i].ToolResult.Content = "(no output)"
		}
		if m.Role != domain.RoleTool && m.Role != domain.RoleUser {
			return nil
		}
		return Each("part", m.Parts, func(_ int, p domain.Part) error {
			switch {
			case p.Type == domain.PartReasoning:
				return fmt.Errorf("is of type %s, which only a model can send; leave it out", p.Type)
			case p.Type != domain.PartText && p.URL == "" && len(p.Data) == 0:
				return errors.New("has neither data nor a URL; give one")
			}
			return nil
		})
	})
}

// begin finds the base URL and asks for the key, and sends nothing.
func (c *Client) begin(ctx context.Context, call inference.Call, emit func(inference.Delta)) (*Attempt, error) {
	bound, badOptions := c.checkOptions(call.Config.Options)
	base, badURL := c.baseURL(call.Config)
	key, noKey := c.key()
	messages, unsendable := sendable(call.Messages)
	if err := cmp.Or(badOptions, badURL, noKey, unsendable); err != nil {
		return nil, err
	}
	call.Messages = messages
	for _, b := range []int64{call.MaxOutputTokens, call.Config.MaxOutputTokens} {
		if b > 0 && (bound == 0 || b < bound) {
			bound = b
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &Attempt{
		Draft: Draft{Emit: emit}, Base: base, Key: key, Bound: bound,
		client: c, call: call, ctx: ctx, cancel: cancel, ids: map[string]bool{}, place: base.String() + "\n" + call.Config.Model, timeouts: timeouts(call.Config.Timeouts, c.config.Timeouts),
		quiet: time.AfterFunc(math.MaxInt64, func() { cancel(errQuiet) }),
	}
	a.Lessons = c.lessons.about(a.place)
	return a, nil
}

// KeyIn is a header with the key in a field, behind a word, where there is one.
func (a *Attempt) KeyIn(field, word string) http.Header {
	header := http.Header{}
	if a.Key != "" {
		header.Set(field, word+a.Key)
	}
	return header
}

// upwards finds paths that lead elsewhere than below the base URL.
var upwards = regexp.MustCompile(`(?:^|/)\.\.?(?:/|$)`)

// send makes the one request, and turns what is no answer into an error. The
// transport itself is asked, as no client of HTTP would: it follows no redirects.
func (a *Attempt) send(r Request) (*http.Response, error) {
	if upwards.MatchString(r.Path) {
		return nil, domain.Invalidf("model: holds . or .. as a part of its path; check the model's name").From(a.client.api.Name)
	}
	target := a.Base.JoinPath(r.Path)
	values := target.Query()
	maps.Copy(values, r.Query)
	target.RawQuery = values.Encode()
	// Once a connection is ready bytes may leave: what fails earlier surely cost nothing.
	ctx := httptrace.WithClientTrace(a.ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if a.sent.Swap(true) {
			return
		}
		a.quiet.Reset(a.timeouts.FirstByte)
		if a.call.Sent != nil {
			a.call.Sent()
		}
	}})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, errors.New("no URL can be made of it and the model's name") // and not err, which repeats it
	}
	request.Header = http.Header{"Accept": {"text/event-stream, application/json"}, "Content-Type": {"application/json"}}
	maps.Copy(request.Header, r.Header)
	a.quiet.Reset(a.timeouts.Connect)
	response, err := a.client.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	header := response.Header
	a.identifyRequest(header.Get("Request-Id"), header.Get("X-Request-Id"), header.Get("Apim-Request-Id")) // Azure passes one on beside its own
	// Bytes are no progress: what comes of the answer resets it.
	a.quiet.Reset(a.timeouts.Idle)
	a.body = &guarded{ReadCloser: response.Body, most: a.client.config.MaxBody}
	response.Body = a.body
	if response.StatusCode >= http.StatusMultipleChoices { // some servers have 201 for each POST
		defer response.Body.Close()
		return nil, a.rejected(response, r.Body)
	}
	return response, nil
}

// identifyRequest takes the provider's id of the request, unless it is known: the first text that can be one and holds no key.
func (a *Attempt) identifyRequest(ids ...string) {
	for _, id := range ids {
		if id = strings.TrimSpace(id); a.RequestID == "" && len(id) <= 128 && printable.MatchString(id) && a.Redact(id) == id {
			a.RequestID = id
		}
	}
}
