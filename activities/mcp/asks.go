package mcp

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a server may ask for while it works on a call, and no server is given: nobody is there to answer in the
// middle of a call, and an inference there would be of nobody's budget.
const (
	elicitation = "an answer of a person (elicitation)"
	sampling    = "an answer of a model (sampling)"
)

// refuse is the word for that in a file of servers, and what holds without one.
const refuse = "refuse"

// refusing answers those requests of a server with the protocol's refusal, and tells of it those who wait for calls.
func (s *server) refusing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		what := map[string]string{"elicitation/create": elicitation, "sampling/createMessage": sampling}[method]
		if what == "" {
			return next(ctx, method, request)
		}
		s.progress.refused(what)
		s.warn("MCP server asks for what no server is given", "asks for", what)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client gives no server " + what}
	}
}
