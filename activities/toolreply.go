package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"everstep/activities/artifact"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

func (c toolCall) judge(ctx context.Context, run outcome[tool.Result]) (contract.ToolReply, error) {
	if until, waits := tool.Waits(run.err); waits {
		return c.waits(until), nil
	}
	if question, asks := tool.Asks(run.err); asks {
		return c.asks(question), nil
	}
	if own, goesOn := tool.IsElsewhere(run.err); goesOn {
		return c.pending(own), nil
	}
	switch panicked := errors.Is(run.err, errPanicked); {
	case panicked && !c.effect.Repeatable():
		return c.unknown("the tool broke down in the middle"), nil
	case panicked:
		return c.failed(domain.Errorf(domain.Internal, "the tool %s broke down: a fault of its own, not of the arguments", c.request.Name)), nil
	case run.err == nil:
		return c.done(ctx, run.result), nil
	case run.cause == nil && tool.IsSessionLost(run.err):
		return c.sessionLost(run.err), nil
	case run.cause == nil && tool.IsOutcomeUnknown(run.err) && !c.effect.Repeatable():
		return c.unknown(toolError(run.err).Message), nil
	case run.cause == nil, tool.IsNotStarted(run.err):
		return c.refused(ctx, run.err)
	}
	return c.cutOff(run.cause)
}

func (c toolCall) cutOff(cause error) (none contract.ToolReply, _ error) {
	late := errors.Is(cause, context.DeadlineExceeded)
	long := "took longer than it may"
	if errors.Is(cause, errSilent) {
		long = fmt.Sprintf("told of no progress for %s, which is longer than it may", c.bounds.Silence)
	}
	switch stopped, repeatable := temporal.IsCanceledError(cause), c.effect.Repeatable(); {
	case stopped && !repeatable:
		return c.unknown("the execution was stopped while it ran"), nil
	case late && !repeatable:
		return c.unknown("it " + long), nil
	case !repeatable:
		return c.unknown("its worker stopped while it ran"), nil
	case stopped:
		return c.failed(domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "interrupted: the execution was stopped while %s ran; it may have taken effect", c.request.Name)), nil
	case late:
		return c.failed(domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout, "the tool %s %s", c.request.Name, long)), nil
	case errors.Is(cause, worker.ErrWorkerShutdown):
		return none, domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown, "the worker stopped while %s ran", c.request.Name)
	}
	// The workflow is gone, or another attempt is to follow.
	return none, domain.Errorf(domain.Unavailable, "the call of %s was cut off by the server", c.request.Name)
}

func (c toolCall) refused(ctx context.Context, err error) (contract.ToolReply, error) {
	own := c.activities.recordable(toolError(err), domain.Invalid)
	own.Lacking = false // a call is made again as after any failure
	if own.Detail != "" {
		c.warn(ctx, "tool failed", "detail", own.Detail)
	}
	retryable, repeatable := own.Kind.Retryable(), c.effect.Repeatable()
	if retryable && repeatable && c.attempt() < min(cmp.Or(c.tries, 3), c.request.Tries) { // three unless the tool says how often
		return contract.ToolReply{}, own
	}
	given, advised := tool.AdviceOf(err) // what the error says to the model of a further call
	if !advised && own.RetryAfter > 0 && retryable {
		given, _ = tool.AdviceOf(tool.RetryLater(err, own.RetryAfter))
	}
	if given.Words != "" {
		own.Message += "; " + given.Words
	}
	reply := c.failed(own)
	if reply.NotStarted = retryable && !repeatable && tool.IsNotStarted(err); reply.NotStarted {
		reply.RetryAfterMillis = min(own.RetryAfter, maxRetryDelay).Milliseconds()
	}
	return reply, nil
}

// waits has the workflow make the call again when its time has come. The error is what
// remains of it where a stop comes first.
func (c toolCall) waits(until time.Time) contract.ToolReply {
	switch left := time.Until(until); {
	case left > tool.MaxWait:
		return c.failed(domain.Invalidf("%s is more than %d days away; a call may wait so long at the most", until.UTC().Format(time.RFC3339), tool.MaxWait/(24*time.Hour)))
	case left < time.Second: // or it could come again and again
		until = time.Now().Add(time.Second)
	}
	reply := c.failed(domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun, "not done: %s was to wait until %s, and did not", c.request.Name, until.UTC().Format(time.RFC3339)))
	reply.NotStarted, reply.WaitUntil = true, until.UTC()
	return reply
}

// asks has the workflow ask people. The error is what remains of the call where a stop comes first.
func (c toolCall) asks(question domain.Question) contract.ToolReply {
	question = hidden(c.activities.config.Secrets, question)
	if wrong := question.Check(); wrong != nil {
		return c.failed(domain.AsError(wrong))
	}
	reply := c.failed(domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not answered: the execution was stopped before anybody had answered the question"))
	reply.NotStarted, reply.Question = true, &question
	return reply
}

// notBegun is for a try in which the tool was surely not run. Of the one before
// nobody knows.
func (c toolCall) notBegun(ctx context.Context, err error) (contract.ToolReply, error) {
	switch {
	case c.attempt() == 1:
	case ctx.Err() != nil:
		return c.cutOff(context.Cause(ctx))
	default:
		return c.refused(ctx, err)
	}
	own := domain.AsError(err)
	if ctx.Err() != nil {
		own = domain.AsError(c.mayBegin(ctx))
	}
	if own.Detail != "" {
		c.warn(ctx, "tool call not begun", "detail", own.Detail)
	}
	reply := c.failed(own)
	reply.NotStarted = own.Kind.Retryable()
	return reply, nil
}

// toolError reads a tool's error: of another type it is Invalid, or Unavailable where the
// tool was not started.
func toolError(err error) domain.Error {
	own := domain.Error{Kind: domain.Invalid}
	if e, ok := errors.AsType[*domain.Error](err); ok {
		own = *e
	} else if tool.IsNotStarted(err) {
		own.Kind = domain.Unavailable
	}
	own.Message = err.Error()
	if advice, advised := tool.AdviceOf(err); advised {
		own.Kind, own.RetryAfter = advice.Kind, advice.After
	}
	return own
}

// unknown is for a call that may have been made and must not be made again.
func (c toolCall) unknown(why string) contract.ToolReply {
	return c.failed(domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown,
		"outcome unknown: %s; the call of %s may or may not have taken effect, and was not repeated", why, c.request.Name))
}

// maxErrorText bounds an error's text as it is kept; the model reads more of it.
const maxErrorText = 1000

func (c toolCall) failed(err *domain.Error) contract.ToolReply {
	own := c.activities.recordable(*err, domain.Invalid)
	own.Source = cmp.Or(own.Source, domain.Shorten(c.request.Name, 64))
	content := cmp.Or(readable(own.Message, domain.MaxToolResult), fmt.Sprintf("the tool %s failed and did not say why", c.request.Name))
	own.Message = domain.Shorten(content, maxErrorText)
	return c.reply(contract.ToolReply{Content: content, Error: own})
}

func (c toolCall) done(ctx context.Context, result tool.Result) contract.ToolReply {
	if len(result.Content) > domain.MaxToolOutput {
		reply := c.failed(domain.TooLargef("the tool %s ran, but its result of %d bytes is more than the %d that a tool may return; ask for less",
			c.request.Name, len(result.Content), domain.MaxToolOutput))
		reply.Stop = c.stop(result.Stop)
		return reply
	}
	// Before it is cut, which could leave half of a secret.
	content := c.activities.config.Secrets.Hide(result.Content)
	if len(result.Note) > tool.MaxNote || len(result.Note) > 0 && !json.Valid(result.Note) {
		return c.failed(domain.TooLargef("the tool %s ran, but what it wants to keep is not JSON, or more than %d bytes; it is not kept", c.request.Name, tool.MaxNote))
	}
	note := json.RawMessage(c.activities.config.Secrets.Hide(string(result.Note)))
	images, lines := c.images(ctx, result.Parts)
	if lines = domain.Shorten(lines, c.most()/2); content != "" && lines != "" {
		lines = "\n" + lines
	}
	shown := c.shown(ctx, content, lines)
	reply := c.reply(contract.ToolReply{Note: note, Content: shown, Parts: images, Stop: c.stop(result.Stop)})
	if result.Compared != "" || len(result.Parts) > 0 || shown != content {
		reply.ResultDigest = resultDigest(cmp.Or(c.activities.config.Secrets.Hide(result.Compared), content), result.Parts)
	}
	return reply
}

// resultDigest names the whole of a result, of which the model may be shown a part.
func resultDigest(content string, parts []domain.Part) domain.Digest {
	texts := []string{domain.CanonicalJSON(content)}
	for _, p := range parts {
		texts = append(texts, string(p.Type), p.MediaType, p.URL, p.Text, string(p.Data))
	}
	return domain.DigestOfTexts(texts...)
}

// keepTime is how long it may take to keep what was cut, within the time for a report.
const keepTime = domain.ReportTime / 2

// most bounds what the model reads of a result.
func (c toolCall) most() int {
	return cmp.Or(c.bounds.MaxOutput, domain.MaxToolResult) - len(c.notice())
}

// shown is a result as the model gets to read it, with the lines that name its parts. What is cut is kept
// whole, where there is a place for it.
func (c toolCall) shown(ctx context.Context, content, lines string) string {
	most := c.most() - len(lines)
	if len(content) <= most || c.activities.config.Artifacts == nil {
		return readable(content, most) + lines
	}
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	line := fmt.Sprintf("\n[the whole is artifact %s; %s reads it]", c.request.ID(), artifact.Name)
	if err := c.activities.config.Artifacts.Keep(ctx, c.request.ID(), strings.ToValidUTF8(content, "\uFFFD")); err != nil {
		c.warn(ctx, "a long result is not kept", "error", err)
		line = "\n[the whole could not be kept]"
	}
	return readable(content, most-len(line)) + line + lines
}

func (c toolCall) reply(reply contract.ToolReply) contract.ToolReply {
	reply.Content = c.notice() + reply.Content
	said := [][]byte{[]byte(reply.Content)}
	for _, p := range reply.Parts {
		said = append(said, []byte(p.MediaType), []byte(p.URL), p.Data)
	}
	reply.Digest = domain.DigestOf(said...)
	if n := c.attempt(); n > 1 {
		reply.Attempts = n
	}
	return reply
}

// maxStopContext bounds what a tool may note beside its request to stop.
const maxStopContext = 16 << 10

func (c toolCall) stop(signal *domain.StopSignal) *domain.StopSignal {
	if signal == nil {
		return nil
	}
	own := hidden(c.activities.config.Secrets, *signal)
	own.Reason, own.Source = domain.StopRequested, c.request.Name
	own.Message = domain.Shorten(strings.ToValidUTF8(own.Message, "\uFFFD"), domain.MaxReason)
	if encoded, err := json.Marshal(own.Context); err != nil || len(encoded) > maxStopContext {
		own.Context = nil
		own.Message += fmt.Sprintf(" (its context is left out: it is not JSON, or above %d bytes)", maxStopContext)
	}
	return &own
}

// readable returns a tool's text as the model gets to read it: valid UTF-8, and
// cut to head and tail where it has more than most bytes. Both are said in the text.
func readable(text string, most int) string {
	note := ""
	if !utf8.ValidString(text) {
		text, note = strings.ToValidUTF8(text, "\uFFFD"), "\n[what was not UTF-8 is replaced]"
	}
	return domain.WithoutMiddle(text, most-len(note)) + note
}

// pending is the reply of a call that its other side goes on with.
func (c toolCall) pending(own tool.Elsewhere) contract.ToolReply {
	if len(own.Handle) == 0 || len(own.Handle) > tool.MaxHandle || !json.Valid(own.Handle) {
		return c.unknown("its other side goes on with it, under a handle that cannot be kept")
	}
	p := contract.Pending{Handle: own.Handle, Since: time.Now().UTC(), Status: domain.Shorten(c.activities.config.Secrets.Hide(own.Status), 200)}
	if before := c.request.Pending; before != nil {
		p.Since = before.Since
	}
	if own.Keeps > 0 {
		p.Until = p.Since.Add(min(own.Keeps, tool.MaxElsewhere))
	}
	return c.stillPending(&p, own.After)
}

// asked is the reply of a tool that was asked what came of a call. What kept it from hearing that is no end
// of the call: it is asked again, as long as the other side has it.
func (c toolCall) asked(ctx context.Context, run outcome[tool.Result]) contract.ToolReply {
	own, goesOn := tool.IsElsewhere(run.err)
	unheard := errors.Is(run.err, errPanicked) || run.cause != nil || run.err != nil && (tool.IsNotStarted(run.err) || toolError(run.err).Kind.Retryable())
	switch {
	case run.err == nil:
		return c.done(ctx, run.result)
	case c.request.TakeBack && (goesOn || unheard):
		return c.left()
	case goesOn:
		return c.pending(own)
	case tool.IsOutcomeUnknown(run.err) && !c.effect.Repeatable():
		return c.unknown(toolError(run.err).Message)
	case tool.IsOutcomeUnknown(run.err):
		return c.failed(new(toolError(run.err)))
	case unheard:
		return c.stillPending(nil, 0)
	}
	reply, _ := c.refused(ctx, run.err) // of a kind that is not tried again
	return reply
}

// stillPending is the reply of a call that is to be asked about again; p is what is known of it now, nil: what
// was known before. A wait grows with the time that has passed, so that one of days leaves a short history.
func (c toolCall) stillPending(p *contract.Pending, after time.Duration) contract.ToolReply {
	now := time.Now().UTC()
	if p == nil {
		if before := c.request.Pending; !before.Until.IsZero() && now.After(before.Until.Add(10*time.Minute)) { // so long after its time it is still asked about
			return c.unknown("its other side was not heard again in the time for which it keeps what it works at")
		}
		p = new(*c.request.Pending)
	}
	wait := max(shortestWait, now.Sub(p.Since)/20, min(after, 24*time.Hour))
	if left := p.Until.Sub(now); left > 0 {
		wait = min(wait, max(left*9/10, shortestWait)) // what is not asked about in time is lost
	}
	p.AskAt = now.Add(wait)
	reply := c.left()
	reply.Pending = p
	return reply
}

// shortestWait is how long the other side has at the least before it is asked.
const shortestWait = time.Second

// left is what remains of a call that is asked about no more.
func (c toolCall) left() contract.ToolReply {
	request := c.request
	request.Effect = c.effect
	return c.failed(contract.GivenUp(request).Error)
}
