package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK has no types for tasks, and those for what is listed beside tools are too strict. So these requests are made as
// methods that it does not know, whose answers come as they are. Where it knows the protocol's name, ours has a prefix, which the
// transport takes off.
const ownPrefix = "everstep/"

const (
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodResources  = ownPrefix + "resources/list"
	methodTemplates  = ownPrefix + "resources/templates/list"
	methodPrompts    = ownPrefix + "prompts/list"
	methodTask       = "tasks/get"
	methodTaskResult = "tasks/result"
	methodTaskUpdate = "tasks/update"
	methodTaskCancel = "tasks/cancel"
)

// ownParams are those of all these requests, each of which has some.
type ownParams struct {
	sdk.ParamsBase
	Cursor         string               `json:"cursor,omitempty"`
	TaskID         string               `json:"taskId,omitempty"`
	InputResponses sdk.InputResponseMap `json:"inputResponses,omitempty"`
}

// A verbatim is a result as it came.
type verbatim struct {
	sdk.ResultBase
	json.RawMessage
}

// learn lets a client make these requests.
func learn(client *sdk.Client) {
	for _, method := range []string{methodResources, methodTemplates, methodPrompts, methodTask, methodTaskResult, methodTaskUpdate, methodTaskCancel} {
		_ = sdk.AddSendingCustomMethod[*ownParams, *verbatim](client, method) // it refuses what it knows itself
	}
}

// ask makes one of these requests.
func (l *link) ask(ctx context.Context, method string, params *ownParams) (json.RawMessage, error) {
	came, err := sdk.CallCustomMethod[*ownParams, *verbatim](ctx, l.session, method, params)
	if err != nil {
		return nil, err
	}
	return came.RawMessage, nil
}

// onWire is a request under the protocol's name. A call that is to be a task asks for one, which the SDK's type cannot.
func onWire(ctx context.Context, request *jsonrpc.Request) *jsonrpc.Request {
	made := *request
	made.Method = strings.TrimPrefix(request.Method, ownPrefix)
	if sent := sendingOf(ctx); sent != nil && sent.asTask && made.Method == methodCall {
		// It is kept for a week: some servers cannot count the milliseconds of a month.
		made.Params = fmt.Appendf(nil, `%s,"task":{"ttl":604800000}}`, bytes.TrimSuffix(request.Params, []byte("}")))
	}
	return &made
}
