package mcp

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

func as(name, value string) domain.Trusted {
	return domain.Trusted{name: json.RawMessage(value)}
}

// TestTrustedValuesInHeaders: they go with calls, each with those of the agent that makes it; a value that is missing,
// or that no header can hold, refuses the call before anything is sent.
func TestTrustedValuesInHeaders(t *testing.T) {
	t.Parallel()
	var got, calls atomic.Value
	calls.Store(0)
	server, _ := over(t, func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		got.Store(r.Header.Get("X-Customer") + " " + r.Header.Get("Authorization"))
		calls.Store(calls.Load().(int) + 1)
		return false
	})
	server.Headers = []Variable{{"X-Customer", "no ${trusted.customer}"}, {"Authorization", "Bearer ${KEY}"}}
	require.Equal(t, []string{"KEY"}, server.Secrets(), "a trusted value is none")
	s := openServers(t, Options{Secret: func(string) (string, error) { return "k-${trusted.customer}", nil }}, server)
	found, err := s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
	for value, want := range map[string]string{`4711`: "no 4711", `"A 7"`: "no A 7", `{"a":1}`: `no {"a":1}`} {
		_, err = found.Call(tool.WithExecution(t.Context(), tool.Call{Trusted: as("customer", value)}), `{"text": "x"}`)
		require.NoError(t, err)
		require.Equal(t, want+" Bearer k-${trusted.customer}", got.Load(), "a secret is no template")
	}
	for value, says := range map[string]string{
		``:          "trusted.customer: is not given; whoever starts the agent gives it",
		`"a\r\nb"`:  "trusted.customer: holds characters that no header may have, and the header X-Customer of MCP server s names it",
		`"\u00e9"`:  "trusted.customer: holds characters that no header may have",
		`"\u0000a"`: "trusted.customer: holds characters",
	} {
		given := domain.Trusted{}
		if value != "" {
			given = as("customer", value)
		}
		_, err = found.Call(tool.WithExecution(t.Context(), tool.Call{Trusted: given}), `{"text": "x"}`)
		require.ErrorContains(t, err, says)
		require.False(t, domain.AsError(err).Kind.Retryable())
		require.False(t, tool.IsOutcomeUnknown(err))
	}
	require.Equal(t, 3, calls.Load())
}

// TestArgumentsThatTheWorkerFillsIn are not the model's: it does not see them, and what it says of one is refused.
func TestArgumentsThatTheWorkerFillsIn(t *testing.T) {
	t.Parallel()
	server, _ := over(t, nil)
	server.Tools = map[string]ToolConfig{
		"echo": {Arguments: []Variable{{"text", "customer ${trusted.customer} of ${trusted.tenant}"}}},
		"env":  {Arguments: []Variable{{"nothing", "${trusted.customer}"}}},
	}
	s := openServers(t, Options{}, server)
	found, err := s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
	require.NotContains(t, string(found.Spec().Schema), `"text"`)
	plain, _ := over(t, nil)
	whole, err := openServers(t, Options{}, plain).Find(t.Context(), "s__echo")
	require.NoError(t, err)
	require.Equal(t, whole.Spec().Pin, found.Spec().Pin, "the pin is of what the server says")

	ctx := tool.WithExecution(t.Context(), tool.Call{Trusted: domain.Trusted{"customer": json.RawMessage(`4711`), "tenant": json.RawMessage(`"<a>"`)}})
	result, err := found.Call(ctx, `{}`)
	require.NoError(t, err)
	require.Equal(t, "customer 4711 of <a>", result.Content)
	_, err = found.Call(ctx, `{"text": "customer 1"}`)
	require.Equal(t, domain.CodeMalformed, domain.AsError(err).Code)
	_, err = found.Call(t.Context(), `{}`)
	require.ErrorContains(t, err, "trusted.customer: is not given")

	_, err = s.Find(t.Context(), "s__env")
	require.ErrorContains(t, err, `arguments: "nothing" is no argument of the tool`)
}

func TestFilledArguments(t *testing.T) {
	t.Parallel()
	arguments := []Variable{{"customer", "${trusted.customer}"}, {"note", "for ${trusted.customer}"}}
	for sent, want := range map[string]string{
		`{}`:                          `{"customer":{"n":1},"note":"for {\"n\":1}"}`,
		` { "a": [1, "}"] } `:         `{"customer":{"n":1},"note":"for {\"n\":1}", "a": [1, "}"] }`,
		`{"customer": 1}`:             "",
		`{"CUSTOMER": 1}`:             "",
		`{"cu\u0053tomer": 1}`:        "",
		`{"nested": {"customer": 1}}`: `{"customer":{"n":1},"note":"for {\"n\":1}","nested": {"customer": 1}}`,
	} {
		made, err := filled(json.RawMessage(sent), arguments, as("customer", `{"n":1}`))
		if want == "" {
			require.ErrorContains(t, err, "is not yours to give; leave it out", sent)
			continue
		}
		require.NoError(t, err)
		require.JSONEq(t, want, string(made))
	}
	schema, err := withheld(json.RawMessage(`{"type":"object","properties":{"customer":{},"note":{},"a":{}},"required":["customer","a"],"additionalProperties":true}`), arguments)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":true}`, string(schema))
	_, err = withheld(json.RawMessage(`{"type":"object","$ref":"#/$defs/a"}`), arguments)
	require.ErrorContains(t, err, "lists no properties")
}

func TestTrustedValuesInTheFile(t *testing.T) {
	t.Parallel()
	servers, _, err := load(t, "mcp.yaml", `
mcpServers:
  shop:
    url: https://shop.example.com/mcp
    headers: {X-Customer: "${trusted.customer}"}
    tools:
      refund: {arguments: {customer_id: "${trusted.customer}"}}
`)
	require.NoError(t, err)
	require.Empty(t, servers[0].Secrets())
	require.Equal(t, []Variable{{"customer_id", "${trusted.customer}"}}, servers[0].Tools["refund"].Arguments)
	for text, want := range map[string]string{
		`{url: "http://a", headers: {X-A: "${trusted.A}"}}`:                                           `${trusted.A}: "A" is no name; use 1 to 64 of a-z, 0-9 and _`,
		`{url: "http://a", headers: {X-A: "${trusted.}"}}`:                                            `"" is no name`,
		`{command: a, env: {A: "${trusted.a}"}}`:                                                      "names a trusted value: a program serves all agents of its worker",
		`{url: "http://a", headers: {X-Api-Key: "${trusted.a}"}}`:                                     "holds a secret; name it instead",
		`{url: "http://a", oauth: {client_id: a, client_secret: "${trusted.a}", issuer: "http://b"}}`: "names a trusted value, which is no secret",
		`{command: a, tools: {b: {arguments: {c: d}}}}`:                                               "names no trusted value; write ${trusted.NAME}",
		`{command: a, tools: {b: {arguments: {c: "${trusted.a} ${KEY}"}}}}`:                           "names a secret, which a server may repeat to the model",
		`{command: a, tools: {b: {arguments: {c: "${trusted.a}", C: "${trusted.a}"}}}}`:               `"C" is there twice`,
		`{command: a, args: ["${trusted.a}"]}`:                                                        "names a trusted value, which goes in headers and the arguments of a tool alone",
	} {
		servers, _, err := load(t, "mcp.yaml", "mcpServers: {s: "+text+"}\n")
		require.NoError(t, err)
		require.Contains(t, servers[0].Problem, want, text)
	}
}
