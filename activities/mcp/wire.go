package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK's types drop what an answer says of tasks. So some requests are made under names of ours, as methods
// that it does not know, whose answers come as they are; the transports give them the protocol's names.
const ownPrefix = "everstep/"

const (
	methodList       = "tools/list"
	methodResources  = "resources/list"
	methodTemplates  = "resources/templates/list"
	methodPrompts    = "prompts/list"
	methodCall       = "tools/call"
	methodTask       = "tasks/get"
	methodTaskResult = "tasks/result"
	methodTaskUpdate = "tasks/update"
	methodTaskCancel = "tasks/cancel"
)

type listParams struct {
	sdk.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

type callParams struct {
	sdk.ParamsBase
	Name           string               `json:"name"`
	Arguments      any                  `json:"arguments"`
	InputResponses sdk.InputResponseMap `json:"inputResponses,omitempty"`
	RequestState   string               `json:"requestState,omitempty"`
	Task           *taskWish            `json:"task,omitempty"`
}

// A taskWish asks for a task that is kept for so many milliseconds.
type taskWish struct {
	TTL int64 `json:"ttl"`
}

type taskParams struct {
	sdk.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses sdk.InputResponseMap `json:"inputResponses,omitempty"`
}

// A verbatim is a result as it came.
type verbatim struct {
	sdk.ResultBase
	text json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *verbatim) UnmarshalJSON(text []byte) error {
	v.text = bytes.Clone(text)
	return nil
}

// learn lets a client make these requests.
func learn(client *sdk.Client) error {
	for _, method := range []string{methodTask, methodTaskResult, methodTaskUpdate, methodTaskCancel} {
		if err := sdk.AddSendingCustomMethod[*taskParams, *verbatim](client, method); err != nil {
			return err
		}
	}
	for _, method := range []string{methodList, methodResources, methodTemplates, methodPrompts} {
		if err := sdk.AddSendingCustomMethod[*listParams, *verbatim](client, ownPrefix+method); err != nil {
			return err
		}
	}
	return sdk.AddSendingCustomMethod[*callParams, *verbatim](client, ownPrefix+methodCall)
}

// onWire is a message under the protocol's name.
func onWire(message jsonrpc.Message) jsonrpc.Message {
	request, ok := message.(*jsonrpc.Request)
	if !ok || !strings.HasPrefix(request.Method, ownPrefix) {
		return message
	}
	renamed := *request
	renamed.Method = strings.TrimPrefix(request.Method, ownPrefix)
	return &renamed
}

type verbatimKey struct{}

// asIs marks a context whose request is one of ours, for the transport over HTTP.
func asIs(ctx context.Context) context.Context { return context.WithValue(ctx, verbatimKey{}, true) }

// nameOnWire gives a request over HTTP the protocol's name, in its body and in the headers that repeat it.
func nameOnWire(request *http.Request) error {
	if request.Body == nil || request.Context().Value(verbatimKey{}) == nil {
		return nil
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return err
	}
	message, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return err
	}
	message = onWire(message)
	if body, err = jsonrpc.EncodeMessage(message); err != nil {
		return err
	}
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	sent, ok := message.(*jsonrpc.Request)
	if !ok || request.Header.Get("Mcp-Method") == "" {
		return nil
	}
	var params struct {
		Name   string `json:"name"`
		TaskID string `json:"taskId"`
	}
	_ = json.Unmarshal(sent.Params, &params) // they are ours
	request.Header.Set("Mcp-Method", sent.Method)
	if name := params.Name + params.TaskID; name != "" {
		request.Header.Set("Mcp-Name", name)
	}
	return nil
}
