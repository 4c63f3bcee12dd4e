package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodTask       = "tasks/get"
	methodTaskResult = "tasks/result"
	methodTaskUpdate = "tasks/update"
	methodTaskCancel = "tasks/cancel"
)

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

// learn lets a client ask about tasks.
func learn(client *sdk.Client) error {
	for _, method := range []string{methodTask, methodTaskResult, methodTaskUpdate, methodTaskCancel} {
		if err := sdk.AddSendingCustomMethod[*taskParams, *verbatim](client, method); err != nil {
			return err
		}
	}
	return nil
}

// onWire is a message with what the SDK's types have no field for: that a call may be a task, which is to be kept for so
// many milliseconds.
func onWire(ctx context.Context, message jsonrpc.Message) jsonrpc.Message {
	request, ok := message.(*jsonrpc.Request)
	sent := sendingOf(ctx)
	var params map[string]json.RawMessage
	if !ok || request.Method != methodCall || sent == nil || !sent.asTask || json.Unmarshal(request.Params, &params) != nil {
		return message
	}
	params["task"] = fmt.Appendf(nil, `{"ttl":%d}`, wishedLife.Milliseconds())
	with := *request
	with.Params, _ = json.Marshal(params) // it was read from JSON
	return &with
}
