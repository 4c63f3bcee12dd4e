package mcp

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func load(t *testing.T, name, text string) ([]Server, string, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	servers, err := Load(path)
	return servers, dir, err
}

func TestAFileWithKeysOfOurOwn(t *testing.T) {
	t.Parallel()
	servers, dir, err := load(t, "mcp.yaml", `
mcpServers:
  local:
    command: bin/server
    cwd: work
    effect: idempotent
    timeout: 30s
    tools:
      read: {effect: read_only, timeout: 5s}
      pay: {effect: at_most_once}
      plain: {}
    stateful: false
  few:
    command: /usr/bin/server
    tools: [a, b.c, delete/all]
    excludeTools: ["delete*", "b.["]
  crm:
    url: https://crm.example.com/mcp
    oauth: {client_id: everstep, client_secret: "${CRM_SECRET}", issuer: https://login.example.com}
`)
	require.NoError(t, err)
	require.Equal(t, []Server{
		{Name: "local", Command: filepath.Join(dir, "bin/server"), Dir: filepath.Join(dir, "work"), Effect: domain.Idempotent, Timeout: 30 * time.Second,
			Tools: map[string]ToolConfig{"read": {Effect: domain.ReadOnly, Timeout: 5 * time.Second}, "pay": {Effect: domain.AtMostOnce}, "plain": {}}},
		{Name: "few", Command: "/usr/bin/server", Dir: dir, Tools: map[string]ToolConfig{"a": {}, "b.c": {}, "delete/all": {}}, Without: []string{"delete*", "b.["}},
		{Name: "crm", URL: "https://crm.example.com/mcp", Dir: dir, OAuth: &OAuth{
			ClientID: "everstep", Secret: Variable{"client_secret", "${CRM_SECRET}"}, Issuer: "https://login.example.com",
		}},
	}, servers)
	require.Equal(t, []string{"CRM_SECRET"}, servers[2].Secrets())
	for tool, has := range map[string]bool{"a": true, "b.c": true, "delete/all": false, "c": false} {
		_, ok := servers[1].allowed(tool)
		require.Equal(t, has, ok, tool)
	}
}

func TestWhatIsWrongWithAFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                    "is empty",
		`a: 1`:                "has no servers; put each under mcpServers",
		`mcpServers: {s: 1}`:  "is a number, not a mapping",
		`mcpServers: {s: {}}`: "has neither command nor url",
		`mcpServers: {s: {command: a, url: "http://a"}}`:                                                                                          "has both command and url",
		`mcpServers: {s: {command: a, type: http}}`:                                                                                               "is http and has no url",
		`mcpServers: {s: {url: "http://a", type: stdio}}`:                                                                                         "is stdio and has no command",
		`mcpServers: {s: {url: "http://a", args: [a]}}`:                                                                                           "is for a server with command",
		`mcpServers: {s: {command: a, headers: {a: b}}}`:                                                                                          "is for a server with url",
		`mcpServers: {s: {url: "ftp://a"}}`:                                                                                                       "is no URL",
		`mcpServers: {s: {url: "http://u:p@a"}}`:                                                                                                  "put what proves who asks into headers",
		`mcpServers: {s: {url: "http://a?k=${KEY}"}}`:                                                                                             "is a secret, or looks like one, and others on the machine see what stands in command, args, cwd and url",
		`mcpServers: {s: {command: a, args: ["--key=${KEY}"]}}`:                                                                                   "is a secret, or looks like one, and others on the machine see what stands in command, args, cwd and url",
		`mcpServers: {s: {command: a, env: {API_KEY: abc}}}`:                                                                                      "holds a secret; name it instead",
		`mcpServers: {s: {url: "http://a", headers: {x-api-key: abc}}}`:                                                                           "holds a secret; name it instead",
		`mcpServers: {s: {url: "http://a", headers: {Host: abc}}}`:                                                                                "is set by the protocol",
		`mcpServers: {s: {url: "http://a", headers: {"a b": abc}}}`:                                                                               "is no name of a header",
		`mcpServers: {s: {url: "http://a", headers: {a: "b\nc: d"}}}`:                                                                             "holds a line end",
		`mcpServers: {s: {command: a, env: {"A=B": c}}}`:                                                                                          "is no name of a variable",
		`mcpServers: {s: {command: a, env: {A: "${}"}}}`:                                                                                          "${} names no variable",
		`mcpServers: {s: {command: "a\0b"}}`:                                                                                                      "zero byte",
		`mcpServers: {s: {command: a, oauth: {client_id: a, client_secret: "${B}", issuer: "https://c"}}}`:                                        "is for a server with url",
		`mcpServers: {s: {url: "http://a", oauth: {client_id: a, client_secret: b, issuer: "https://c"}}}`:                                        "holds a secret; name it instead",
		`mcpServers: {s: {url: "http://a", oauth: {client_id: a, client_secret: "${B}"}}}`:                                                        "the MCP server could else name any, which would be sent the secret",
		`mcpServers: {s: {url: "http://a", oauth: {client_id: a, client_secret: "${B}", issuer: c}}}`:                                             "is no URL",
		`mcpServers: {s: {url: "http://a", headers: {authorization: "${A}"}, oauth: {client_id: a, client_secret: "${B}", issuer: "https://c"}}}`: "gives each request its Authorization twice",
		`mcpServers: {s: {command: a, effect: keyed}}`:                                                                                            `"keyed" is not known`,
		`mcpServers: {s: {command: a, tools: {x: {effect: harmless}}}}`:                                                                           `"harmless" is not known`,
		`mcpServers: {s: {command: a, timeout: -1s}}`:                                                                                             "give a duration",
		`mcpServers: {s: {command: a, elicitation: ask}}`:                                                                                         `"ask" is not known`,
		`mcpServers: {s: {command: a, sampling: allow}}`:                                                                                          `"allow" is not known`,
		`mcpServers: {s: {command: a, stateful: maybe}}`:                                                                                          "stateful: is a text; give true or false",
		`mcpServers: {s: {command: a}, s: {command: b}}`:                                                                                          "is given twice; keep one",
		`mcpServers: {s: {command: a, <<: {tools: [b]}}}`:                                                                                         "merge keys are not supported",
		`mcpServers: {<<: {s: {command: a}}}`:                                                                                                     "merge keys are not supported",
		`mcpServers: {s: {command: a, ? [b] : c}}`:                                                                                                "has a key that is a list",
		`mcpServers: 7`: "is a number, not a mapping",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			servers, _, err := load(t, "mcp.yaml", text)
			if err == nil {
				require.Len(t, servers, 1)
				require.Contains(t, servers[0].Problem, want)
				return
			}
			require.ErrorContains(t, err, want)
			require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
		})
	}
	for _, text := range []string{"&a {mcp: *a}", "mcpServers: &a {mcp: *a}", "mcpServers: {s: &a {command: *a}}", "mcpServers: {s: {command: &a {command: *a, path: *a}}}", "mcpServers: &a [*a]"} {
		servers, _, err := load(t, "mcp.yaml", text)
		require.True(t, err != nil || len(servers) == 0 || servers[0].Problem != "", text)
	}
	_, err := Load("/no/such/file")
	require.ErrorContains(t, err, "/no/such/file cannot be read: no such file or directory")
	_, err = Load(t.TempDir())
	require.ErrorContains(t, err, "is no file")
}
