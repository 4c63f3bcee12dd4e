package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/local"
	"everstep/worker/host"
)

// shop is a caller for whom a file names a server over HTTP, and a program that is not there.
func shop(t *testing.T) *caller {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mcp.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
mcpServers:
  shop:
    url: http://127.0.0.1:1?key=sesame
    headers: {X-Api-Key: "${SHOP_KEY}"}
    effect: read_only
    tools: [search]
  away: {command: no-such-program}
  told: {command: "true", args: [--key, sesame]}
`), 0o600))
	c := newCaller(t)
	c.variables["SHOP_KEY"], c.variables[host.MCPVariable], c.variables[local.VariableDir] = "sesame", file, t.TempDir()
	return c
}

func TestDoctorShowsMCPServers(t *testing.T) {
	t.Parallel()
	c := shop(t)
	_, stdout, _ := c.call(t.Context(), "doctor")
	require.Regexp(t, `ok +mcp shop +http://127.0.0.1:\d+; starter mcp check shop asks it`, stdout)
	require.Regexp(t, `fail +mcp away +exec: "no-such-program"`, stdout)
	require.Regexp(t, `ok +mcp told +\S+/true; starter mcp check told starts it`, stdout)
	require.NotContains(t, stdout, "sesame")
	delete(c.variables, "SHOP_KEY")
	_, stdout, _ = c.call(t.Context(), "doctor")
	require.Contains(t, stdout, "neither SHOP_KEY nor SHOP_KEY_FILE is set")
	_, stdout, _ = newCaller(t).call(t.Context(), "doctor")
	require.Regexp(t, `ok +mcp +no servers; `+host.MCPVariable+` names a file of them`, stdout)
}

// TestMCPListHoldsNobodyUp: what waits, and why a server is of no use, is told in whole.
func TestMCPListHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	mute := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(mute.Close)
	t.Cleanup(func() { close(over) })
	file := filepath.Join(t.TempDir(), "mcp.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`mcpServers: {mute: {url: "`+mute.URL+`"}, away: {command: no-such-program}}`), 0o600))
	c := newCaller(t)
	c.variables[local.VariableDir] = t.TempDir()
	code, stdout, stderr := c.call(t.Context(), "mcp", "list", "--mcp", file, "--timeout", "300ms")
	require.Equal(t, exitOther, code)
	require.Contains(t, stdout, "mute: MCP server mute has not answered within 300ms; --timeout gives it longer\n")
	require.Regexp(t, `(?m)^away: MCP server away cannot be reached: .*not found.*; mend .*, then try: starter mcp check away$`, stdout)
	require.Regexp(t, `(?m)^waiting for mute$`, stderr)
	code, _, stderr = c.call(t.Context(), "mcp", "list", "--mcp", file, "--timeout", "0s")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "--timeout: ")
}

// TestMCPListShowsNoSecret: a server may repeat what it is given.
func TestMCPListShowsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "sesame-sesame-sesame"
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		server := sdk.NewServer(&sdk.Implementation{Name: r.Header.Get("X-Api-Key"), Version: "1"}, nil)
		server.AddTool(&sdk.Tool{Name: "search", Description: "Search with " + r.Header.Get("X-Api-Key"), InputSchema: map[string]any{"type": "object"}}, nil)
		server.AddPrompt(&sdk.Prompt{Name: "greet", Description: r.Header.Get("X-Api-Key")}, nil)
		return server
	}, nil))
	t.Cleanup(web.Close)
	file := filepath.Join(t.TempDir(), "mcp.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`mcpServers: {shop: {url: "`+web.URL+`", headers: {X-Api-Key: "${SHOP_KEY}", X-Region: "${REGION}"}}}`), 0o600))
	c := newCaller(t)
	c.variables["SHOP_KEY"], c.variables["REGION"], c.variables[local.VariableDir] = secret, "ea", t.TempDir()
	for _, command := range [][]string{{"list"}, {"list", "--json"}, {"check", "shop"}} {
		code, stdout, _ := c.call(t.Context(), append([]string{"mcp"}, append(command, "--mcp", file)...)...)
		require.Zero(t, code)
		require.Contains(t, stdout, "[hidden]")
		require.Contains(t, stdout, "shop__search", "what is short is no key")
		require.NotContains(t, stdout, secret)
	}
}

// TestAToolOfAnMCPServerIsKnown to the command that brings up the worker which has it.
func TestAToolOfAnMCPServerIsKnown(t *testing.T) {
	t.Parallel()
	c := shop(t)
	m := &local.Machine{Env: local.Environment{Environment: variables(c.variables)}, Connection: host.ConnectionFlags(pflag.NewFlagSet("", pflag.ContinueOnError))}
	script := filepath.Join(t.TempDir(), "s.yaml")
	require.NoError(t, os.WriteFile(script, []byte("turns: [{text: a}]"), 0o600))
	d := domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: script}, Tools: []string{"shop__search"}}
	require.NoError(t, m.CheckLocally(t.Context(), local.Flags{}, d, domain.ExecutionBudget{}))
	d.Tools = []string{"stock__search"}
	require.ErrorContains(t, m.CheckLocally(t.Context(), local.Flags{}, d, domain.ExecutionBudget{}), `there is no "stock__search"`)
}
