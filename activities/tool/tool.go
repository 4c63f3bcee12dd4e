package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"everstep/activities/output"
	"everstep/domain"
)

// A Tool is something that a model can call. It is a value, safe for
// concurrent use if its function is. The zero value is no tool: Check says so.
type Tool struct {
	spec   domain.ToolSpec
	schema *output.Schema
	run    func(ctx context.Context, object json.RawMessage) (Result, error)
	verify func(ctx context.Context, object json.RawMessage) (Finding, error)
	bounds Bounds
	err    error
}

// Bounds are what a worker holds a tool to, beside what its spec says to all.
type Bounds struct {
	// Silence is how long a call may run without telling of its progress; zero: without end.
	Silence time.Duration
	// MaxOutput is how many bytes of a result the model reads.
	MaxOutput int
	// Limit is how often the tool may be called.
	Limit domain.ToolLimit
}

// A Result is what a call came to.
type Result struct {
	// Content is what the model gets to read: at most domain.MaxToolResult
	// bytes of it, or what MaxOutput says. Bytes that are not UTF-8 are replaced.
	Content string
	// Compared is what tells the result from that of another call, where Content also says what differs each time, such
	// as how long the call took: a model that makes the same call in vain is stopped by it. Empty: Content does.
	Compared string
	// Parts are images, with their data, that the model is shown with Content where it and its API take them;
	// a line at the end of Content names each. What no API takes in a result is only named: sounds, files,
	// images that are no JPEG, PNG, GIF or WebP, or too many (domain.MaxResultParts). Above domain.MaxResultData the
	// worker's storage keeps them, or they are only named. An error has none.
	Parts []domain.Part
	// Stop, where set, ends the loop after this step. The reason is always
	// domain.StopRequested, whatever it says.
	Stop *domain.StopSignal
	// Note, where set, is what the session keeps for the tool from now on: JSON, of at most
	// MaxNote bytes. Of several calls of one step that of the last counts. See Keeps.
	Note json.RawMessage
}

// MaxNote bounds what a session keeps for a tool.
const MaxNote = 32 << 10

// An Option changes a tool as it is made.
type Option func(*Tool)

// Timeout bounds one attempt of one call; without it that is the agent's tool
// time-out, or domain.DefaultToolTimeout. A tool is expected to end when its context does.
func Timeout(limit time.Duration) Option {
	return func(t *Tool) {
		t.failIf(limit <= 0, "timeout: %s is not positive", limit)
		t.spec.Timeout = limit
	}
}

// Losses is how many workers one call may lose before it is given up as outcome
// unknown, also where it may be repeated: a tool that ends its process would end
// one after another. Without it that is domain.DefaultLosses.
func Losses(most int) Option {
	return func(t *Tool) {
		t.failIf(most < 1, "losses: %d is below 1", most)
		t.spec.Losses = most
	}
}

// Attempts is how often a repeatable tool is called before the model hears of a failure:
// of one of its own that may pass, of a time-out, of a worker that was lost. It is at
// most what the agent allows; without it, that, and 3 for a failure of its own.
func Attempts(most int) Option {
	return func(t *Tool) {
		t.failIf(most < 1, "attempts: %d is below 1", most)
		t.spec.Attempts = most
	}
}

// Heartbeat ends a call, like one past its time-out, when it has not called Progress for
// that long. Without it a tool that hangs is ended by its time-out alone. That its worker
// is lost is noticed without it.
func Heartbeat(within time.Duration) Option {
	return func(t *Tool) {
		t.failIf(within <= 0, "heartbeat: %s is not positive", within)
		t.bounds.Silence = within
	}
}

// Rate is how many calls of the tool may begin in so long, over all agents and all workers of a task queue together:
// the others wait for their turn in a task queue of the tool's own, where they are no attempt and use up none of their
// time-out. A worker's Config.ToolLimits comes before it.
func Rate(calls int64, per time.Duration) Option {
	return func(t *Tool) {
		t.failIf(calls < 1 || per <= 0, "rate: %d calls in %s; both are positive", calls, per)
		t.bounds.Limit.Calls, t.bounds.Limit.Per = calls, per
	}
}

// AtOnce is how many calls of the tool run at one time on each worker. The others wait as with Rate.
func AtOnce(calls int) Option {
	return func(t *Tool) {
		t.failIf(calls < 1, "at once: %d is below 1", calls)
		t.bounds.Limit.AtOnce = calls
	}
}

// Keeps has the session keep a note for the tool, in its metadata under that key: over its
// executions, however long they are. Call.Note reads it, Result.Note writes it. Hooks and
// whoever reads the state see it.
func Keeps(key string) Option {
	return func(t *Tool) {
		t.failIf(key == "", "note: its key is empty")
		t.spec.Note = key
	}
}

// leastOutput has room for the line that says what was left out.
const leastOutput = 1 << 10

// MaxOutput is how many bytes of a result the model reads: 1 KiB to
// domain.MaxToolResult, which it is without. Of a longer one it reads head and tail.
func MaxOutput(bytes int) Option {
	return func(t *Tool) {
		t.failIf(bytes < leastOutput || bytes > domain.MaxToolResult, "max output: %d is not between %d and %d", bytes, leastOutput, domain.MaxToolResult)
		t.bounds.MaxOutput = bytes
	}
}

// EffectKey names the arguments that make two calls of an agent the same effect: a refund of one order is one,
// whatever its note says. Without it all arguments do. While nobody knows whether a call of an at-most-once tool took
// effect, no other call of the same effect is made; a keyed tool gets the same Call.Key for all of them.
func EffectKey(arguments ...string) Option {
	return func(t *Tool) {
		t.failIf(len(arguments) == 0, "effect key: names no argument")
		t.spec.EffectKey = slices.Clone(arguments)
	}
}

// New makes a tool of a function from arguments to the text that the model
// reads.
//
// Args is a struct, whose JSON Schema the model is shown. A field's json tag
// names it, omitempty or omitzero makes it optional, and its jsonschema tag
// describes it:
//
//	type args struct {
//		City string `json:"city" jsonschema:"where, as people call it"`
//		Days int    `json:"days,omitzero" jsonschema:"how many days ahead; 0 is today"`
//	}
//
// What the model sends is checked against that schema before run is called: no
// unknown fields, no keys twice, no key in another case.
//
// An error that run returns goes to the model, text and all; put no secret into
// it. A *domain.Error in its chain decides the kind: domain.Throttled and
// domain.Unavailable make a repeatable tool run again up to three times before the
// model hears of it. What is wrong with the tool itself is reported by Check, which
// the worker calls when it starts.
func New[Args any](name, description string, effect domain.Effect, run func(ctx context.Context, args Args) (string, error), options ...Option) Tool {
	return NewResult(name, description, effect, func(ctx context.Context, args Args) (Result, error) {
		content, err := run(ctx, args)
		return Result{Content: content}, err
	}, options...)
}

// NewResult is New for functions that may also stop the loop.
func NewResult[Args any](name, description string, effect domain.Effect, run func(ctx context.Context, args Args) (Result, error), options ...Option) Tool {
	t := Tool{spec: domain.ToolSpec{Name: name, Description: description, Effect: effect}}
	schema, err := jsonschema.For[Args](nil)
	if err == nil {
		if schema.Type == "object" && schema.Properties == nil {
			schema.Properties = map[string]*jsonschema.Schema{} // some servers need it
		}
		t.spec.Schema, err = json.Marshal(schema)
	}
	t.failIf(err != nil, "schema: %w", err)
	return t.with(Typed(run), options)
}

// Typed has a function get its arguments decoded, such as that of FromSpec.
func Typed[Args, Out any](run func(ctx context.Context, args Args) (Out, error)) func(context.Context, json.RawMessage) (Out, error) {
	return func(ctx context.Context, object json.RawMessage) (out Out, err error) {
		var args Args
		if json.Unmarshal(object, &args) != nil { // it fits the schema; what does not fit the type is named
			return out, malformed(domain.Shorten(domain.DecodeTyped(object, &args).Error(), maxDecodeError))
		}
		return run(ctx, args)
	}
}

// FromSpec makes a tool whose schema is known only when the program runs. The
// arguments reach run as the model sent them, checked against the spec's
// schema; without a schema any JSON object passes.
func FromSpec(spec domain.ToolSpec, run func(ctx context.Context, arguments json.RawMessage) (Result, error), options ...Option) Tool {
	t := Tool{spec: spec}
	if len(spec.Schema) == 0 {
		t.spec.Schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.with(run, options)
}

// with completes a tool, and compiles its schema once.
func (t Tool) with(run func(context.Context, json.RawMessage) (Result, error), options []Option) Tool {
	t.run = run
	for _, option := range options {
		option(&t)
	}
	t.spec.Verifies = t.verify != nil
	if t.spec.Effect == "" {
		t.spec.Effect = domain.AtMostOnce
	}
	if t.err != nil {
		return t
	}
	schema, err := output.CompileSchema(t.spec.Schema)
	t.failIf(err != nil, "schema: %w", err)
	t.failIf(!output.IsObject(domain.ResponseFormat{Type: domain.FormatSchema, Schema: t.spec.Schema}),
		`schema: its type is not "object": arguments are always one JSON object`)
	t.schema = schema
	var declared struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(t.spec.Schema, &declared) // it was compiled
	for _, name := range t.spec.EffectKey {
		t.failIf(declared.Properties[name] == nil, "effect key: %q is no argument of the tool", name)
	}
	return t
}

// failIf keeps the first thing that is wrong.
func (t *Tool) failIf(wrong bool, format string, args ...any) {
	if wrong && t.err == nil {
		t.err = fmt.Errorf("tool %q: "+format, append([]any{t.spec.Name}, args...)...)
	}
}

var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Check says what is wrong with the tool as it was made: its name, effect,
// timeout or schema, or that it has no function.
func (t Tool) Check() error {
	effect := new(domain.Effect).UnmarshalText([]byte(t.spec.Effect))
	t.failIf(!validName.MatchString(t.spec.Name), "name: use 1 to 64 letters, digits, dashes and underscores")
	t.failIf(effect != nil, "%w", effect)
	t.failIf(t.spec.Timeout < 0, "timeout: %s is negative", t.spec.Timeout)
	t.failIf(t.spec.Attempts < 0, "attempts: %d is negative", t.spec.Attempts)
	limit := t.bounds.Limit.Check()
	t.failIf(limit != nil, "%w", limit)
	t.failIf(t.run == nil, "it was not made with New, NewResult or FromSpec")
	return t.err
}

// Spec is what the model and the workflow know of the tool.
func (t Tool) Spec() domain.ToolSpec {
	t.spec.Schema, t.spec.EffectKey = slices.Clone(t.spec.Schema), slices.Clone(t.spec.EffectKey)
	return t.spec
}

// Bounds are what a worker holds the tool to.
func (t Tool) Bounds() Bounds {
	t.bounds.MaxOutput = cmp.Or(t.bounds.MaxOutput, domain.MaxToolResult)
	return t.bounds
}

// Call runs the tool on the exact text that the model sent; no text stands for an
// object without fields. Arguments that do not fit are an error of kind
// domain.Invalid and code domain.CodeMalformed, and the tool is then not run.
func (t Tool) Call(ctx context.Context, arguments string) (Result, error) {
	if err := t.Check(); err != nil {
		return Result{}, domain.Errorf(domain.Internal, "%s", err)
	}
	// In an object that fits no key is there twice: the standard decoder lets the
	// last one win, and then what was approved and what runs could differ.
	arguments = cmp.Or(arguments, "{}")
	if problems := t.schema.Problems("the text", arguments); problems != "" {
		return Result{}, malformed(problems)
	}
	return t.run(ctx, []byte(arguments))
}

// maxDecodeError bounds what the model is told, however long its value is.
const maxDecodeError = 1000

func malformed(text string) error {
	return domain.CodedErrorf(domain.Invalid, domain.CodeMalformed, "arguments: %s", text)
}
