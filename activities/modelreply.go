package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"everstep/activities/inference"
	"everstep/activities/output"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

func (c *modelCall) answered(ctx context.Context, answer inference.Answer) (contract.ModelReply, error) {
	reply := c.reply(contract.Answered)
	reply.Response = bounded(answer.Response)
	reply.Response.Usage = c.call.CompleteUsage(answer.Response.Usage, answer.Message)
	message, invalid := c.formatted(c.recorded(answer), &reply.Response)
	encoded, err := json.Marshal(message)
	if err == nil && len(encoded) <= domain.MaxMessage {
		reply.Message, reply.Digest, reply.Invalid = &message, domain.DigestOf(encoded), invalid
		if len(c.refusals) > 0 {
			reply.Tries += len(c.refusals)
			reply.Error = c.judge(domain.Invalidf("%s", strings.Join(c.refusals, "\n")).From(c.call.Config.Provider))
		}
		return reply, nil
	}
	failed := domain.TooLargef("the model's answer has %d bytes; at most %d are allowed", len(encoded), domain.MaxMessage)
	if err != nil {
		failed = domain.Errorf(domain.Internal, "the model's answer cannot be recorded")
		failed.Detail = err.Error()
	}
	failed.Billed = true
	return c.failed(ctx, answer, failed.From(c.call.Config.Provider))
}

// failed ends an attempt that has no answer, by why it has none. Only a failure
// that surely cost nothing, and is not to wait for long, is left to Temporal.
func (c *modelCall) failed(ctx context.Context, answer inference.Answer, err error) (none contract.ModelReply, _ error) {
	failed := c.judge(err)
	var used domain.Usage
	if failed.Billed {
		used = c.call.CompleteUsage(answer.Response.Usage, answer.Message)
	}
	switch {
	case temporal.IsCanceledError(context.Cause(ctx)): // nothing but a stop looks like it
		reply := c.reply(contract.Interrupted)
		reply.Response = bounded(answer.Response)
		reply.Response.Usage = used
		c.keep(&reply, answer)
		return reply, nil
	case workerStops(ctx):
		reply := c.reply(contract.ShutDown)
		reply.Spent = c.spent.Add(used)
		return reply, nil
	case ctx.Err() != nil:
		// The workflow is gone, or the attempt timed out, was paused or reset:
		// no reply would be read. The heartbeat stays and tells the next one.
		c.heartbeat.record()
		activity.GetLogger(ctx).Warn("inference cut off by the server", "step", c.request.Step, "attempt", c.tries(), "cause", context.Cause(ctx))
		return none, domain.Errorf(domain.Unavailable, "the inference was cut off by the server")
	}
	activity.GetLogger(ctx).Warn("inference failed", "step", c.request.Step, "attempt", c.tries(), "kind", failed.Kind,
		"code", failed.Code, "message", failed.Message, "billed", failed.Billed, "detail", failed.Detail)
	failed.RetryAfter = c.delay(failed)
	// Within its activity an inference waits no longer: only a stop of mode now reaches it there.
	if !failed.Billed && c.spent.IsZero() && failed.RetryAfter <= time.Second {
		c.heartbeat.nothingSpent()
		return none, failed
	}
	reply := c.reply(contract.BilledFailure)
	reply.Spent = c.spent.Add(used)
	reply.Error, reply.RetryAfterMillis = failed, failed.RetryAfter.Milliseconds()
	if failed.ModelsFault() {
		c.keep(&reply, answer)
	}
	return reply, nil
}

// keep puts what was written of an answer into a reply. Half a summary is none.
func (c *modelCall) keep(reply *contract.ModelReply, answer inference.Answer) {
	message := shorten(answer.Message)
	if len(message.Parts) == 0 || c.summary != nil {
		return
	}
	if encoded, err := json.Marshal(message); err == nil {
		reply.Message, reply.Digest = &message, domain.DigestOf(encoded)
	}
}

func (c *modelCall) reply(outcome contract.ModelOutcome) contract.ModelReply {
	return contract.ModelReply{Outcome: outcome, Spent: c.spent, Tries: int(c.info.Attempt)}
}

// judge makes any error a typed one, and says whether the attempt may have been
// billed. A provider that does not say so is believed to have sent its request.
func (c *modelCall) judge(err error) *domain.Error {
	typed := c.activities.recordable(*domain.AsError(err), domain.Internal)
	typed.Message = domain.Shorten(typed.Message, 4<<10)
	typed.Billed = typed.Billed || typed.Kind == domain.Internal && c.sent.Load()
	return typed
}

// maxWord bounds what a provider says in one word.
const maxWord = 256

// bounded keeps of a response what may be recorded.
func bounded(r domain.Response) domain.Response {
	if r.Finish != "" && !slices.Contains(enum.Known[domain.FinishReason](), r.Finish) {
		r.Finish, r.FinishWord = domain.FinishOther, string(r.Finish)
	}
	return domain.Texts(r, func(text string, _ bool) string { return domain.Shorten(text, maxWord) })
}

// shorten cuts a partial message, with room for what JSON makes of its characters.
func shorten(m domain.Message) domain.Message {
	left := domain.MaxMessage / 8
	parts := make([]domain.Part, 0, len(m.Parts))
	for _, p := range m.Parts {
		p.Text = domain.Shorten(p.Text, left)
		left -= len(p.Text)
		parts = append(parts, p)
	}
	m.Parts = parts
	return m
}

// delay is how long to wait before another try: as long as the provider asks,
// at least our own backoff, at most maxRetryDelay.
func (c *modelCall) delay(err *domain.Error) time.Duration {
	if !err.Kind.Retryable() {
		return 0
	}
	backoff := min(250*time.Millisecond<<min(max(c.tries()-1, 0), 16), time.Minute)
	backoff -= rand.N(backoff / 4) //nolint:gosec // jitter is no secret
	return min(max(backoff, err.RetryAfter), maxRetryDelay)
}

// tell makes the call one that tells the model of the response format, in the mode that was resolved for it.
func (c *modelCall) tell(format domain.ResponseFormat, mode domain.OutputMode) {
	if format.Type == "" || format.Type == domain.FormatText {
		return
	}
	call := &c.call
	call.Format, call.OutputMode = format, mode
	switch {
	case mode == domain.OutputTool:
		tool := output.Tool(format, call.Tools)
		call.OutputTool = tool.Name
		call.Tools = append(slices.Clip(call.Tools), tool)
	case mode == domain.OutputInstruction, format.Type == domain.FormatJSON:
		// APIs that can be asked for any JSON object want the prompt to say so too.
		call.System = output.Instruct(call.System, format)
	}
}

// formatted returns a model's message as it is recorded, and what is wrong with
// it as an answer: a call of the tool that stands for the format is the answer
// itself, unless the model called other tools too.
func (c *modelCall) formatted(message domain.Message, response *domain.Response) (m domain.Message, invalid string) {
	if c.call.Format.Type == "" {
		return message, ""
	}
	message, given := c.unwrapped(message, response)
	if len(message.ToolCalls) > 0 || strings.TrimSpace(message.Text()) == "" {
		return message, ""
	}
	checker, err := c.activities.outputs.of(c.call.Format)
	if err != nil {
		return message, domain.AsError(err).Message
	}
	invalid = checker.Check(message.Text())
	switch {
	case invalid != "" && response.Finish == domain.FinishLength:
		invalid = output.Truncated(invalid)
	case invalid == "" && given > 1:
		invalid = "the answer was given more than once, in calls that differ; call " + c.call.OutputTool + " once"
	}
	return message, invalid
}

// unwrapped takes the calls of the tool that stands for the format out of a
// message. Where there are no others, the first one's arguments are its text.
// Given counts the answers that differ.
func (c *modelCall) unwrapped(message domain.Message, response *domain.Response) (m domain.Message, given int) {
	var answers []string
	var others []domain.ToolCall
	for _, call := range message.ToolCalls {
		switch {
		case c.call.OutputTool == "" || call.Name != c.call.OutputTool:
			others = append(others, call)
		case !slices.Contains(answers, call.Arguments):
			answers = append(answers, call.Arguments)
		}
	}
	message.ToolCalls = others
	if len(answers) == 0 || len(others) > 0 {
		return message, 0
	}
	message.Parts = slices.DeleteFunc(slices.Clone(message.Parts), func(p domain.Part) bool { return p.Type == domain.PartText })
	if answers[0] != "" {
		message.Parts = append(message.Parts, domain.Part{Type: domain.PartText, Text: answers[0]})
	}
	if response.Finish == domain.FinishToolCalls {
		response.FinishWord = cmp.Or(response.FinishWord, string(response.Finish))
		response.Finish = domain.FinishStop
	}
	return message, len(answers)
}
