package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"everstep/activities/output"
	"everstep/activities/tool"
	"everstep/domain"
)

// maxDescription bounds what a server may say of one tool: each inference is sent it.
const maxDescription = 32 << 10

// tool makes a tool of one that the server lists, and says what of its schema is not checked. Its error says why no agent
// can have it.
func (s *server) tool(listed *sdk.Tool, config ToolConfig) (_ tool.Tool, lost []string, _ error) {
	schema, lost, unfit := output.Mend(schemaOf(listed))
	if unfit == nil {
		schema, unfit = withheld(schema, config.Arguments)
	}
	made := tool.FromSpec(domain.ToolSpec{
		Name: ToolName(s.config.Name, listed.Name), Description: domain.Shorten(listed.Description, maxDescription), Schema: schema, Timeout: config.Timeout,
		Effect: Stricter(config.Effect, listed.Annotations),
		Pin:    pinOf(listed), Disclaims: disclaimed(listed.Annotations), Stateful: s.config.Stateful,
	}, func(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
		if called, _ := tool.ExecutionOf(ctx); called.Handle != nil {
			return s.ask(ctx, called)
		}
		arguments, err := filled(arguments, config.Arguments, trustedOf(ctx))
		if err = cmp.Or(err, s.config.mayBeSent(trustedOf(ctx))); err != nil {
			return tool.Result{}, err
		}
		return s.call(ctx, listed, arguments)
	})
	if unfit != nil {
		return made, nil, fmt.Errorf("tool %q: schema: %w", listed.Name, unfit)
	}
	if size := len(listed.Description); size > maxDescription {
		lost = append(lost, fmt.Sprintf("its description is cut: it has %d bytes, more than %d", size, maxDescription))
	}
	return made, lost, made.Check()
}

// Stricter is the effect that holds for a tool with these hints: a server cannot make
// its tool safer than the configuration says, but what it calls destructive is not
// read-only, and runs again only where it says that nothing more comes of that.
func Stricter(configured domain.Effect, hints *sdk.ToolAnnotations) domain.Effect {
	destructive := hints != nil && !hints.ReadOnlyHint && hints.DestructiveHint != nil && *hints.DestructiveHint
	switch {
	case !destructive || !configured.Repeatable():
		return configured
	case !hints.IdempotentHint:
		return domain.AtMostOnce
	case configured == domain.ReadOnly:
		return domain.Idempotent
	}
	return configured
}

// disclaimed are the hints that a server says do not hold for a tool. What it leaves open holds.
func disclaimed(hints *sdk.ToolAnnotations) []domain.Hint {
	if hints == nil {
		return nil
	}
	var no []domain.Hint
	if hints.ReadOnlyHint || hints.DestructiveHint != nil && !*hints.DestructiveHint {
		no = append(no, domain.Destructive)
	}
	if hints.OpenWorldHint != nil && !*hints.OpenWorldHint {
		no = append(no, domain.OpenWorld)
	}
	return no
}

// call makes one call. It ends with its context; the server is then told to stop.
func (s *server) call(ctx context.Context, listed *sdk.Tool, arguments json.RawMessage) (_ tool.Result, err error) {
	defer s.works()()
	params := &sdk.CallToolParams{Name: listed.Name, Arguments: arguments}
	stop := s.progress.follow(params, func(line string) { tool.Progress(ctx, line) })
	defer func() {
		if refused := stop(); err != nil && refused != "" { // the server's own words seldom say that this was why
			err = fmt.Errorf("%w; meanwhile MCP server %s asked for %s, which no server is given", err, s.config.Name, refused)
		}
	}()
	for round := range 5 {
		result, err := s.sent(ctx, listed, params)
		if err == nil && !result.NeedsInput() {
			return answer(result)
		}
		if err == nil {
			params, err = s.supplied(params, result)
		}
		switch {
		case err != nil && round > 0 && tool.IsNotStarted(err): // an earlier round was
			return tool.Result{}, tool.OutcomeUnknown(domain.AsError(err))
		case err != nil:
			return tool.Result{}, err
		}
	}
	return tool.Result{}, s.errorf(domain.Invalid, "asks again and again before it answers")
}

// answer is a server's answer as an agent gets it.
func answer(result *sdk.CallToolResult) (tool.Result, error) {
	made := read(result)
	if result.IsError {
		return tool.Result{}, domain.Invalidf("%s", cmp.Or(made.Content, "the tool failed, and its server does not say why"))
	}
	return made, nil
}

// supplied is a call with what its server has asked for, which can be the root alone.
func (s *server) supplied(params *sdk.CallToolParams, result *sdk.CallToolResult) (*sdk.CallToolParams, error) {
	if len(result.InputRequests) == 0 {
		return nil, tool.NotStarted(s.errorf(domain.Throttled, "takes no more calls just now"))
	}
	next := &sdk.CallToolParams{Meta: params.Meta, Name: params.Name, Arguments: params.Arguments, RequestState: result.RequestState, InputResponses: sdk.InputResponseMap{}}
	for id, request := range result.InputRequests {
		wanted := "what this version does not know"
		switch request.(type) {
		case *sdk.ListRootsParams:
			next.InputResponses[id] = &sdk.ListRootsResult{Roots: s.roots()}
			continue
		case *sdk.ElicitParams:
			wanted = elicitation
		case *sdk.CreateMessageParams, *sdk.CreateMessageWithToolsParams:
			wanted = sampling
		}
		return nil, s.errorf(domain.Denied, "asks for %s, which no server is given", wanted)
	}
	return next, nil
}

// pinOf is the digest of what a server says of a tool.
func pinOf(listed *sdk.Tool) domain.Digest {
	return domain.DigestOf([]byte(listed.Name), []byte(listed.Description), schemaOf(listed))
}

// schemaOf is a tool's schema, its keys in order, whatever the server's was.
func schemaOf(listed *sdk.Tool) json.RawMessage {
	schema, _ := json.Marshal(listed.InputSchema) // it was read from JSON
	return schema
}

// standing is a tool as a connection has it, which is as it was looked at: another connection may be to a program that was
// started since, which has another tool of the name.
func (s *server) standing(ctx context.Context, l *link, looked *sdk.Tool) (*sdk.Tool, error) {
	tools := l.known().tools
	if tools == nil {
		var err error
		if _, tools, err = s.listed(ctx); err != nil {
			return nil, err
		}
	}
	for _, now := range tools {
		if now == looked || now.Name == looked.Name && pinOf(now) == pinOf(looked) {
			return now, nil
		}
	}
	return nil, domain.CodedErrorf(domain.Denied, domain.CodeNotRun,
		"not run: MCP server %s was started anew, and its tool %s is not what it was; an execution that begins now is told of it as it is", s.config.Name, looked.Name)
}

// sent is the server's answer. A connection that had ended before the call is made
// anew, once.
func (s *server) sent(ctx context.Context, looked *sdk.Tool, params *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	for first := true; ; first = false {
		l, err := s.link(ctx)
		if err != nil {
			return nil, tool.NotStarted(err)
		}
		listed, err := s.standing(ctx, l, looked)
		if err != nil {
			return nil, tool.NotStarted(err)
		}
		calling, sent := withSending(ctx, true)
		sent.asTask = l.version == tasksVersion && listed.Meta[taskKey] == true
		result, t, err := l.call(calling, params)
		ended := errors.Is(err, sdk.ErrSessionMissing) || errors.Is(err, sdk.ErrConnectionClosed)
		switch {
		case t != nil:
			return s.ongoing(ctx, l, t)
		case err == nil:
			return result, nil
		case ended || l.lost():
			s.lost(l)
		}
		if first && ended && ctx.Err() == nil && (!sent.sofar().begun || sent.sofar().forgotten(err)) {
			continue
		}
		return nil, s.failure(ctx, l, sent, err)
	}
}

// failure is the error of a call without a result: whether it surely did nothing, was
// answered with an error, or may have been carried out.
func (s *server) failure(ctx context.Context, l *link, sent *sending, err error) error {
	at, refusal := sent.sofar(), sent.refusal(err)
	status := at.status
	switch {
	case ctx.Err() != nil:
		s.examine(context.WithoutCancel(ctx), l)
		return context.Cause(ctx)
	case !at.begun, at.keepsOut() && at.tokenLater:
		return tool.NotStarted(s.unavailable("cannot be reached: %s", l.explain(err)))
	case status == http.StatusTooManyRequests:
		throttled := s.errorf(domain.Throttled, "takes no more calls just now")
		throttled.RetryAfter = at.wait
		return tool.NotStarted(throttled)
	case at.forgotten(err):
		return tool.NotStarted(s.unavailable("has forgotten the connection"))
	case at.keepsOut():
		return s.denied(at, err)
	case refusal != nil && refusal.Code == codeUnread:
		return s.unreadable(refusal)
	case refusal != nil && refusal.Code == codeUnfinished:
		return tool.OutcomeUnknown(s.unavailable("was lost while the call ran: %s", refusal.Message))
	case refusal != nil && status < 500:
		return s.refusesCall(refusal)
	case status >= 300 && status < 500:
		return s.errorf(domain.Invalid, "refuses the call: it answers %s", at.words())
	case status >= 500:
		return tool.OutcomeUnknown(s.unavailable("answers %s", at.words()))
	}
	return tool.OutcomeUnknown(s.unavailable("was lost while the call ran: %s", l.explain(err)))
}

// refusesCall is the error of a call that was answered with one.
func (s *server) refusesCall(said *jsonrpc.Error) error {
	return s.errorf(domain.Invalid, "refuses the call: %s (%d)", said.Message, said.Code)
}

// unreadable is the error of a call that was answered: whatever it does is done.
func (s *server) unreadable(err error) error {
	return s.errorf(domain.Invalid, "has answered the call, and its answer cannot be read: %s", err)
}

// examine replaces a program that let a call hang and answers nothing else either.
func (s *server) examine(ctx context.Context, l *link) {
	if l.program == nil {
		return
	}
	go func() {
		if !l.responds(ctx) {
			s.warn("MCP server hangs, and is ended")
			s.lost(l)
		}
	}()
}
