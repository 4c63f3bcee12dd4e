package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/local"
	"everstep/worker/host"
)

// shop serves tools over HTTP to whoever has the key, and returns a caller for whom a
// file names it and a program that is not there.
func shop(t *testing.T) *caller {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "3"}, nil)
	for name, hints := range map[string]*mcp.ToolAnnotations{"search": nil, "refund": {DestructiveHint: new(true)}, "secret": nil} {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: "Does a " + name + ".\nAnd more.", Annotations: hints},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
	}
	server.AddPrompt(&mcp.Prompt{Name: "greet", Description: "Says hello."}, nil)
	server.AddResource(&mcp.Resource{Name: "prices", URI: "shop://prices", MIMEType: "text/csv"}, nil)
	served := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "sesame" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		served.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	file := filepath.Join(t.TempDir(), "mcp.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
mcpServers:
  shop:
    url: `+web.URL+`
    headers: {X-Api-Key: "${SHOP_KEY}"}
    effect: read_only
    tools: [search, refund, gone]
  away: {command: no-such-program}
`), 0o600))
	c := newCaller(t)
	c.variables["SHOP_KEY"], c.variables[host.MCPVariable], c.variables[local.VariableDir] = "sesame", file, t.TempDir()
	return c
}

func TestMCPList(t *testing.T) {
	t.Parallel()
	c := shop(t)
	code, stdout, stderr := c.call(t.Context(), "mcp", "list")
	require.Equal(t, exitOther, code, "one of them is not there: %s", stderr)
	require.Regexp(t, `(?m)^NAME +EFFECT +DESCRIPTION$`, stdout)
	require.Regexp(t, `(?m)^shop__refund +at_most_once +Does a refund\.$`, stdout)
	require.Regexp(t, `(?m)^shop__search +read_only +Does a search\.$`, stdout)
	require.Regexp(t, `(?m)^away +- +MCP server away cannot be reached: command "no-such-program": executable file not found`, stdout)
	require.NotContains(t, stdout, "secret")
	require.Regexp(t, `(?m)^shop resource shop://prices +- +prices$`, stdout)
	require.Regexp(t, `(?m)^shop prompt greet +- +Says hello\.$`, stdout)

	code, stdout, _ = c.call(t.Context(), "mcp", "list", "--json")
	require.Equal(t, exitOther, code)
	var all []examinedServer
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	require.Len(t, all, 2)
	require.Equal(t, "shop", all[0].Title)
	require.Len(t, all[0].Tools, 3)
	require.Contains(t, all[1].Error, "no-such-program")

	code, _, stderr = newCaller(t).call(t.Context(), "mcp", "list")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "give one with --mcp, or set "+host.MCPVariable)
	delete(c.variables, "SHOP_KEY")
	code, _, stderr = c.call(t.Context(), "mcp", "list")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "server shop: X-Api-Key: ${SHOP_KEY}: neither SHOP_KEY nor SHOP_KEY_FILE is set")
}

func TestMCPCheck(t *testing.T) {
	t.Parallel()
	c := shop(t)
	code, stdout, _ := c.call(t.Context(), "mcp", "check", "shop")
	require.Equal(t, exitOther, code, "a tool of the file is not there")
	require.Contains(t, stdout, "shop: shop 3, protocol ")
	require.Contains(t, stdout, "  shop__refund: at_most_once (configured read_only; the server calls it destructive)\n")
	require.Contains(t, stdout, "  shop__secret: not for agents: the file does not list it\n")
	require.Contains(t, stdout, "  gone: is in the file, and the server has no such tool\n")

	code, stdout, _ = c.call(t.Context(), "mcp", "check", "away", "--json")
	require.Equal(t, exitOther, code)
	require.Contains(t, stdout, "executable file not found")
	c.variables["SHOP_KEY"] = "another"
	code, stdout, _ = c.call(t.Context(), "mcp", "check", "shop")
	require.Equal(t, exitOther, code)
	require.Contains(t, stdout, "Unauthorized")
	for args, want := range map[string]string{"shopp": `there is no "shopp"; there are: shop, away`, "": "server: is missing"} {
		words := []string{"mcp", "check"}
		if args != "" {
			words = append(words, args)
		}
		code, _, stderr := c.call(t.Context(), words...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stderr, want)
	}
}

func TestDoctorShowsMCPServers(t *testing.T) {
	t.Parallel()
	c := shop(t)
	_, stdout, _ := c.call(t.Context(), "doctor")
	require.Regexp(t, `ok +mcp shop +http://127.0.0.1:\d+; starter mcp check shop asks it`, stdout)
	require.Regexp(t, `fail +mcp away +exec: "no-such-program"`, stdout)
	require.NotContains(t, stdout, "sesame")
	delete(c.variables, "SHOP_KEY")
	_, stdout, _ = c.call(t.Context(), "doctor")
	require.Contains(t, stdout, "neither SHOP_KEY nor SHOP_KEY_FILE is set")
	_, stdout, _ = newCaller(t).call(t.Context(), "doctor")
	require.Regexp(t, `ok +mcp +no servers; `+host.MCPVariable+` names a file of them`, stdout)
}

// TestAToolOfAnMCPServerIsKnown to the command that brings up the worker which has it.
func TestAToolOfAnMCPServerIsKnown(t *testing.T) {
	t.Parallel()
	c := shop(t)
	m := &local.Machine{Env: local.Environment{Environment: variables(c.variables)}, Connection: host.ConnectionFlags(pflag.NewFlagSet("", pflag.ContinueOnError))}
	script := filepath.Join(t.TempDir(), "s.yaml")
	require.NoError(t, os.WriteFile(script, []byte("turns: [{text: a}]"), 0o600))
	d := domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: script}, Tools: []string{"shop__search"}}
	require.NoError(t, m.CheckLocally(t.Context(), local.Flags{}, d))
	d.Tools = []string{"stock__search"}
	require.ErrorContains(t, m.CheckLocally(t.Context(), local.Flags{}, d), `there is no "stock__search"`)
}
