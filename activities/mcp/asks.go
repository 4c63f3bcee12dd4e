package mcp

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"everstep/activities/tool"
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

// withRefusals adds to the error of a call what its server was refused meanwhile: the server's own words seldom say
// that this was why.
func (s *server) withRefusals(call func() (tool.Result, error)) (tool.Result, error) {
	before, _ := s.progress.sofar()
	result, err := call()
	if times, last := s.progress.sofar(); err != nil && times > before {
		err = fmt.Errorf("%w; meanwhile MCP server %s asked for %s, which no server is given", err, s.config.Name, last)
	}
	return result, err
}
