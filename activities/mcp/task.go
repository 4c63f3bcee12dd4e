package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"everstep/activities/tool"
	"everstep/domain"
)

// Tasks are calls that a server answers with a handle, and goes on with. There are two forms of them: those of
// the protocol's version 2025-11-25, which the caller asks for, where a tool says that it may; and those of the
// extension, with which a server answers whichever call it likes.
const (
	tasksVersion   = "2025-11-25"
	tasksExtension = "io.modelcontextprotocol/tasks"
	// maxTaskID bounds how a server may call a task.
	maxTaskID = 1 << 10
)

// A task is what a server tells of one, in either form.
type task struct {
	ID      string `json:"taskId"`
	Status  string `json:"status"`
	Message string `json:"statusMessage"`
	// Their times are in milliseconds. Without a life it is kept as long as the server likes.
	Life   float64 `json:"ttl"`
	LifeMs float64 `json:"ttlMs"`
	Poll   float64 `json:"pollInterval"`
	PollMs float64 `json:"pollIntervalMs"`
	// Result, Error and InputRequests are of the extension.
	Result        json.RawMessage `json:"result"`
	Error         *jsonrpc.Error  `json:"error"`
	InputRequests json.RawMessage `json:"inputRequests"`
}

// versionOfExtensions is the version of the protocol from which each request says what its caller understands.
const versionOfExtensions = "2026-07-28"

// call makes a call. It has either a result or a task.
func (l *link) call(ctx context.Context, params *sdk.CallToolParams) (*sdk.CallToolResult, *task, error) {
	if _, err := l.session.CallTool(ctx, params); err != nil {
		return nil, nil, err
	}
	text := sendingOf(ctx).sofar().result // see decodable
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(text, &fields) // what it is, resultOf says
	told := fields["task"]
	if string(fields["resultType"]) == `"task"` {
		told = text
	}
	if made := new(task); !absent(told) && json.Unmarshal(told, made) == nil {
		return nil, made, nil
	}
	result, err := resultOf(text)
	return result, nil, err
}

// A handle is what is kept of a task while its server goes on with it.
type handle struct {
	Task string `json:"task"`
}

// ongoing is the error of a call whose server goes on with it. A program forgets its tasks when it ends, and ends
// with its worker, and so does an agent's session: a call of one waits here, as any call of it does.
func (s *server) ongoing(ctx context.Context, l *link, t *task) (*sdk.CallToolResult, error) {
	if t.ID == "" || len(t.ID) > maxTaskID {
		return nil, tool.OutcomeUnknown(s.unavailable("goes on with the call as a task, under a name that cannot be kept"))
	}
	if l.program == nil && !s.single {
		return nil, elsewhere(t)
	}
	for {
		tool.Progress(ctx, t.says())
		select {
		case <-ctx.Done():
			s.cancelTask(ctx, l, t.ID)
			return nil, context.Cause(ctx)
		case <-time.After(max(t.pause(), 100*time.Millisecond)):
		}
		result, err := s.askOver(ctx, l, t.ID)
		if !l.usable() && ctx.Err() == nil {
			return nil, tool.OutcomeUnknown(s.unavailable("was lost while it went on with the call: %s", l.ended()))
		}
		if _, goesOn := tool.IsElsewhere(err); !goesOn && ctx.Err() == nil {
			return result, err
		}
	}
}

func (t *task) pause() time.Duration {
	return milliseconds(cmp.Or(t.PollMs, t.Poll, 1000))
}

// milliseconds are those that a server says, however many.
func milliseconds(n float64) time.Duration {
	return time.Duration(min(max(n, 0), float64(tool.MaxElsewhere/time.Millisecond))) * time.Millisecond
}

func (t *task) says() string {
	if t.Message == "" {
		return quoted(t.Status)
	}
	return quoted(t.Status) + ": " + quoted(t.Message)
}

func elsewhere(t *task) error {
	text, _ := json.Marshal(handle{t.ID}) // a text cannot fail
	return tool.GoesOn(tool.Elsewhere{Handle: text, After: t.pause(), Keeps: milliseconds(cmp.Or(t.LifeMs, t.Life)), Status: t.says()})
}

// ask asks what came of a call that was answered with a task, of whichever worker it was.
func (s *server) ask(ctx context.Context, call tool.Call) (tool.Result, error) {
	var known handle
	if err := json.Unmarshal(call.Handle, &known); err != nil || known.Task == "" {
		return tool.Result{}, tool.OutcomeUnknown(s.unavailable("goes on with the call as a task, whose handle cannot be read"))
	}
	l, err := s.link(ctx)
	if err != nil {
		return tool.Result{}, tool.NotStarted(err)
	}
	if call.TakenBack {
		s.cancelTask(ctx, l, known.Task)
	}
	result, err := s.askOver(ctx, l, known.Task)
	if err != nil {
		return tool.Result{}, err
	}
	return answer(result)
}

// cancelTask tells the server that nobody waits for a task. Whether it heeds that, what it is asked next shows.
func (s *server) cancelTask(ctx context.Context, l *link, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := l.about(ctx, methodTaskCancel, &ownParams{TaskID: id}); err != nil {
		s.warn("MCP server does not take back a task", "error", domain.Shorten(err.Error(), maxStatusMessage))
	}
}

// maxStatusMessage bounds a task's status message as it is shown.
const maxStatusMessage = 500

// about makes a request about a task, with the headers of its call. A JSON-RPC error is the answer to this very request.
func (l *link) about(ctx context.Context, method string, params *ownParams) (json.RawMessage, error) {
	ctx, sent := withSending(ctx, true)
	came, err := l.ask(ctx, method, params)
	if err != nil && ctx.Err() == nil && sent.refusal(err) == nil {
		err = errors.New(err.Error()) // what it wraps may be of another request
	}
	return came, err
}

// askOver is the result of a task, or why there is none: its server goes on with it, does not answer, or has
// ended it.
func (s *server) askOver(ctx context.Context, l *link, id string) (*sdk.CallToolResult, error) {
	text, err := l.about(ctx, methodTask, &ownParams{TaskID: id})
	if err != nil {
		return nil, s.unasked(ctx, l, err)
	}
	t := &task{}
	if err := json.Unmarshal(text, t); err != nil {
		return nil, s.unavailable("says what cannot be read of a task: %s", err)
	}
	t.ID = id
	switch {
	case t.Error != nil:
		return nil, s.refusesCall(t.Error)
	case !absent(t.Result):
		return s.result(t.Result)
	case t.Status == "completed" || t.Status == "failed":
		return s.taskResult(ctx, l, t)
	case t.Status == "cancelled":
		return nil, tool.OutcomeUnknown(s.unavailable("has cancelled the task: %s", domain.Shorten(cmp.Or(quoted(t.Message), "it does not say why"), maxStatusMessage)))
	case t.Status == "input_required":
		return s.supplyTask(ctx, l, t)
	}
	return nil, elsewhere(t)
}

// taskResult fetches the result of a task of the older form that is over.
func (s *server) taskResult(ctx context.Context, l *link, t *task) (*sdk.CallToolResult, error) {
	text, err := l.about(ctx, methodTaskResult, &ownParams{TaskID: t.ID})
	if err == nil {
		return s.result(text)
	}
	if said, ok := errors.AsType[*jsonrpc.Error](err); ok && said.Code == codeUnread {
		return nil, s.unreadable(said)
	} else if ok && t.Status == "failed" && said.Code != codeUnfinished && answered(err) {
		return nil, s.refusesCall(said)
	}
	return nil, s.unasked(ctx, l, err)
}

// result is that of a task, as it came.
func (s *server) result(text json.RawMessage) (*sdk.CallToolResult, error) {
	result, err := resultOf(text)
	if err != nil {
		return nil, s.unreadable(err)
	}
	return result, nil
}

// supplyTask gives a task what it asks for, which can be the root alone.
func (s *server) supplyTask(ctx context.Context, l *link, t *task) (*sdk.CallToolResult, error) {
	if l.version < versionOfExtensions { // it asks beside the request for the result
		patient, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		result, err := s.taskResult(patient, l, t)
		if err != nil && patient.Err() != nil && ctx.Err() == nil {
			return nil, elsewhere(t)
		}
		return result, err
	}
	var wanted sdk.InputRequestMap
	if absent(t.InputRequests) {
		return nil, elsewhere(t)
	}
	if err := json.Unmarshal(t.InputRequests, &wanted); err != nil {
		s.cancelTask(ctx, l, t.ID)
		return nil, tool.OutcomeUnknown(s.unavailable("asks for what cannot be read, for a task: %s", err))
	}
	if len(wanted) == 0 {
		return nil, elsewhere(t)
	}
	supplied, err := s.supplied(&sdk.CallToolParams{}, &sdk.CallToolResult{InputRequests: wanted})
	if err != nil {
		s.cancelTask(ctx, l, t.ID)
		return nil, tool.OutcomeUnknown(domain.AsError(err))
	}
	if _, err = l.about(ctx, methodTaskUpdate, &ownParams{TaskID: t.ID, InputResponses: supplied.InputResponses}); err != nil {
		return nil, s.unasked(ctx, l, err)
	}
	return nil, elsewhere(t)
}

// unasked is the error of a request about a task that came to nothing: the server does not know the task, or was
// not heard, and may be later.
func (s *server) unasked(ctx context.Context, l *link, err error) error {
	said, ok := errors.AsType[*jsonrpc.Error](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case ok && (said.Code == jsonrpc.CodeInvalidParams || said.Code == jsonrpc.CodeMethodNotFound):
		return tool.OutcomeUnknown(s.unavailable("does not know any more the task by which it went on with the call: %s (%d)", domain.Shorten(said.Message, maxStatusMessage), said.Code))
	case s.breaks(l, err) || errors.Is(err, sdk.ErrSessionMissing):
		s.lost(l) // it is reached anew
	}
	return s.unavailable("does not say what became of a task: %s", domain.Shorten(l.explain(err).Error(), maxStatusMessage))
}
