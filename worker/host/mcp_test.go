package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func written(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestMCPServersAreOffUnlessNamed(t *testing.T) {
	t.Parallel()
	require.Nil(t, gathered(t, Config{}).servers)
	file := written(t, filepath.Join(t.TempDir(), "mcp.yaml"), `mcpServers: {files: {command: no-such-program}}`)
	m := gathered(t, Config{MCP: file})
	require.True(t, m.servers.Has("files__read"), "nothing is started yet")
	require.Contains(t, m.describe(), "1: files__…")
	file = written(t, filepath.Join(t.TempDir(), "mcp.yaml"), `mcpServers: {a: {command: b, args: ["${PLACE}"]}}`)
	servers, err := Config{MCP: file}.MCPServers()
	require.NoError(t, err)
	require.Contains(t, servers[0].Problem, "neither PLACE", "without Variables there are none")
}

func TestAFileOfMCPServersThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inside := written(t, filepath.Join(dir, "mcp.yaml"), `mcpServers: {a: {command: b}}`)
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"not there":         {Config{MCP: "/no/such/file"}, "file of MCP servers (EVERSTEP_MCP, --mcp of worker and mcp): /no/such/file cannot be read"},
		"where tools write": {Config{MCP: inside, Dir: dir}, "where file tools could add programs for the worker to start; move it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ready(t.Context(), c.config)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
		})
	}
}

// TestAServerThatCannotBeStarted is not, and the others of its file are.
func TestAServerThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := written(t, filepath.Join(dir, "server"), "#!/bin/sh")
	require.NoError(t, os.Chmod(program, 0o700))
	file := written(t, filepath.Join(t.TempDir(), "mcp.yaml"), `
inputs: [{id: shop-key, password: true, default: abc}, {id: zone, type: pickString, options: [eu, us], default: eu}]
mcpServers:
  neither: {}
  secret: {command: b, env: {T: "${TOKEN}"}}
  asked: {command: b, env: {T: "${input:shop-key}"}}
  within: {command: "${workspaceFolder}/server"}
  filed: {command: b, args: ["${FILED}"]}
  unset: {command: b, args: ["${NONE}"]}
  password: {command: b, args: ["${PLACE}"]}
  crm: {url: "https://${NONE:-crm}.example.com/mcp", oauth: {client_id: "${CRM}", client_secret: "${CRM}", issuer: "https://a"}}
  good: {command: b, args: ["${REGION}", "${NONE:-none}", "${workspaceFolder}"], env: {H: "${HOME}"}}
  picked: {command: b, args: ["${input:zone}"], env: {R: "${input:zone}"}}
  near: {command: b, envFile: "${workspaceFolder}/.env"}
  own: {command: b, env: {NEAR: a}, envFile: "${NEAR}/.env"}
`)
	c := Config{MCP: file, Dir: dir, Variables: variableMap{"REGION": "north-of-here-and-there", "FILED_FILE": "/x", "HOME": "/h", "NEAR": dir, "PLACE": "postgres://u:p@h/d"}.LookupEnv}.withDefaults()
	servers, err := c.MCPServers()
	require.NoError(t, err)
	near := "envFile: " + dir + "/.env is in " + dir + ", where file tools would read it and could change what the program is told; move it, or name another directory with --dir (EVERSTEP_DIR)"
	var problems []string
	for _, s := range servers {
		problems = append(problems, s.Problem)
	}
	require.Equal(t, []string{
		"mcp.yaml:4: mcpServers.neither: has neither command nor url; give the program to start, or the endpoint of one that runs",
		"T: ${TOKEN}: neither TOKEN nor TOKEN_FILE is set; set one where the worker runs",
		"T: ${input:shop-key}: neither SHOP_KEY nor SHOP_KEY_FILE is set; set one where the worker runs",
		"its program is in " + dir + ", where file tools could change what the worker starts; move it, or name another directory with --dir (EVERSTEP_DIR)",
		"${FILED}: FILED_FILE makes it a secret, and others on the machine see what stands here; name it in env or headers alone",
		"${NONE}: neither NONE nor NONE_FILE is set; set one where the worker runs",
		"a URL with a password would stand in its args or url, where others on the machine see it; put it into env or headers",
		"mcp.yaml:11: mcpServers.crm: ${CRM} is a secret, or looks like one, and others on the machine see what stands in command, args, cwd and url; name it in env or headers alone",
		"", "",
		near, near,
	}, problems)
	require.Contains(t, c.mcpKeyFiles(), filepath.Join(dir, ".env"), "no command of an agent reads it")
	require.Equal(t, []string{"eu"}, servers[9].Args)
	require.Equal(t, "https://crm.example.com/mcp", servers[7].URL)
	require.Equal(t, []string{"north-of-here-and-there", "none", dir}, servers[8].Args)
	require.Equal(t, "north-of-here-and-there", c.secrets.Hide("north-of-here-and-there"), "it is no secret")
	require.Len(t, gathered(t, c).servers.Names(), 12)
}

// TestAFileOfVariablesDrivesNoKeyOut of what is hidden.
func TestAFileOfVariablesDrivesNoKeyOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const key = "sesame-of-the-shop-0123456789"
	var lines strings.Builder
	for i := range maxSecrets {
		fmt.Fprintf(&lines, "NAME_%d=a-value-of-no-importance-%d\n", i, i)
	}
	file := written(t, filepath.Join(dir, "mcp.yaml"), `
mcpServers:
  shop: {url: "http://127.0.0.1:1", headers: {X-Key: "${SHOP_KEY}"}}
  other: {command: "`+written(t, filepath.Join(dir, "none"), "")+`", envFile: "`+written(t, filepath.Join(dir, ".env"), lines.String())+`"}
`)
	c := Config{MCP: file, Variables: variableMap{"SHOP_KEY_FILE": written(t, filepath.Join(dir, "key"), key)}.LookupEnv}.withDefaults()
	servers, err := c.Servers(nil)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(filepath.Join(dir, "none"), 0o700))
	_, err = servers.Find(t.Context(), "other__x")
	require.Error(t, err)
	require.Equal(t, "[hidden] [hidden]", c.secrets.Hide(key+" a-value-of-no-importance-63"))
}

// TestWhatAPersonIsAskedFor is kept on the worker, for its user alone, and asked for once.
func TestWhatAPersonIsAskedFor(t *testing.T) {
	t.Parallel()
	const answer = "what-was-typed-0123"
	file := written(t, filepath.Join(t.TempDir(), "mcp.json"), `{"inputs": [{"id": "shop-key", "description": "The key", "password": true}, {"id": "region", "default": "eu"}],
		"servers": {"shop": {"command": "b", "env": {"T": "${input:shop-key}", "R": "${input:region}"}}, "off": {"command": "b", "disabled": true, "env": {"T": "${input:other}"}}}}`)
	var questions []string
	c := Config{MCP: file, Dir: t.TempDir(), Variables: variableMap{}.LookupEnv, Connection: Connection{State: filepath.Join(t.TempDir(), "s", "dev.db")}}.withDefaults()
	c.Ask = func(question string) (string, error) {
		questions = append(questions, question)
		return answer, nil
	}
	for range 2 {
		_, err := c.Servers(nil)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"shop-key (The key), for MCP server shop: "}, questions)
	got, err := c.named("input:shop-key")
	require.NoError(t, err)
	require.Equal(t, answer, got)
	require.Equal(t, "[hidden]", c.secrets.Hide(answer))
	kept := c.kept("input:shop-key")
	info, err := os.Stat(kept)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.Equal(t, []string{kept}, c.mcpKeyFiles(), "which no command of the tool shell may read")

	c.Dir = filepath.Dir(filepath.Dir(kept))
	_, err = c.named("input:shop-key")
	require.ErrorContains(t, err, "where file tools would read it")
}

func TestWhatANameOfASecretStandsFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := written(t, filepath.Join(t.TempDir(), "key"), "key-in-a-file-0123\n")
	variables := map[string]string{
		"TOKEN": "token-in-a-variable", "HOME": "/home/of-the-worker", "KEY_FILE": outside, "EMPTY": "",
		"BOTH": "x", "BOTH_FILE": outside, "IN_FILE": written(t, filepath.Join(dir, "key"), "k"), "LINES": "a\nb", "GONE_FILE": "/no/such",
	}
	c := Config{Dir: dir, Variables: func(name string) (string, bool) { text, ok := variables[name]; return text, ok }}.withDefaults()
	for name, want := range map[string]string{"TOKEN": "token-in-a-variable", "HOME": "/home/of-the-worker", "KEY": "key-in-a-file-0123"} {
		got, err := c.named(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	written(t, outside, "another-key-in-it-45\n")
	got, err := c.named("KEY")
	require.NoError(t, err)
	require.Equal(t, "another-key-in-it-45", got, "it was rotated")
	require.Equal(t, "[hidden] [hidden] [hidden] /home/of-the-worker", c.secrets.Hide("token-in-a-variable key-in-a-file-0123 another-key-in-it-45 /home/of-the-worker"))
	for name, want := range map[string]string{
		"NONE": "neither NONE nor NONE_FILE is set", "EMPTY": "neither EMPTY nor", "BOTH": "both BOTH and BOTH_FILE are set",
		"IN": "where file tools would read it", "LINES": "holds a line end", "GONE": "GONE_FILE names no file that can be read: no such file",
	} {
		_, err := c.named(name)
		require.ErrorContains(t, err, "${"+name+"}")
		require.ErrorContains(t, err, want)
	}
}

func TestTheEnvironmentNamesAFileOfMCPServers(t *testing.T) {
	t.Parallel()
	file := written(t, filepath.Join(t.TempDir(), "mcp.yaml"), `mcpServers: {a: {command: b, env: {T: "${TOKEN}"}}}`)
	none := filepath.Join(t.TempDir(), "absent.toml")
	config := configured(t, Config{}, variableMap{MCPVariable: file, "TOKEN": "t", "TEMPORAL_CONFIG_FILE": none})
	require.Equal(t, file, config.MCP)
	servers, err := config.Servers(nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, servers.Names())
	config.Variables = variableMap{"TOKEN_FILE": "/keys/of-a"}.LookupEnv
	require.Equal(t, []string{"/keys/of-a"}, config.keyFiles(), "which no command of the tool shell may read")
	_, err = FromEnvironment(Config{}, variableMap{MCPVariable: "/no/such", "TEMPORAL_CONFIG_FILE": none})
	require.ErrorContains(t, err, MCPVariable+": /no/such cannot be read")
}
