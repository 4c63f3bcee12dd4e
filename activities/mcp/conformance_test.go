package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// suite is the protocol project's own, of its clients among others.
const suite = "@modelcontextprotocol/conformance"

// conform is the first argument that makes a client of this test's program, for the suite.
const conform = "everstep-test-conform"

const (
	noPerson = "a worker has nobody to send to a browser: the grant authorization_code is not offered"
	noJWT    = "the SDK signs no private_key_jwt"
)

// scenarios are all that the suite has for clients. What is not empty is why one does
// not apply.
var scenarios = map[string]string{
	"initialize": "", "tools_call": "", "sse-retry": "", "auth/client-credentials-basic": "",
	"elicitation-sep1034-client-defaults":       "elicitation is refused, and not offered to servers",
	"auth/client-credentials-jwt":               noJWT,
	"auth/cross-app-access-complete-flow":       "a worker has no identity of an enterprise's to trade in",
	"auth/metadata-default":                     noPerson,
	"auth/metadata-var1":                        noPerson,
	"auth/metadata-var2":                        noPerson,
	"auth/metadata-var3":                        noPerson,
	"auth/basic-cimd":                           noPerson,
	"auth/scope-from-www-authenticate":          noPerson,
	"auth/scope-from-scopes-supported":          noPerson,
	"auth/scope-omitted-when-undefined":         noPerson,
	"auth/scope-step-up":                        noPerson,
	"auth/scope-retry-limit":                    noPerson,
	"auth/token-endpoint-auth-basic":            noPerson,
	"auth/token-endpoint-auth-post":             noPerson,
	"auth/token-endpoint-auth-none":             noPerson,
	"auth/pre-registration":                     noPerson,
	"auth/2025-03-26-oauth-metadata-backcompat": noPerson,
	"auth/2025-03-26-oauth-endpoint-fallback":   noPerson,
	"auth/resource-mismatch":                    noPerson,
	"auth/offline-access-scope":                 noPerson,
	"auth/offline-access-not-supported":         noPerson,
}

// conforms does with a server of the suite what a worker does: it lists and calls its tools.
func conforms(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	server := Server{Name: "s", URL: url}
	if given.ClientID != "" {
		server.OAuth = &OAuth{ClientID: given.ClientID, Secret: Variable{Name: "client_secret", Text: "${SECRET}"}}
	}
	s := Open([]Server{server}, Options{
		Secret: func(string) (string, error) { return given.ClientSecret, nil },
		Redact: func(text string) string { return text }, Said: func(text string) string { return text }, Hide: func(string) {},
	})
	defer s.Close()
	report, err := s.Examine(ctx, "s")
	for _, listed := range report.Tools {
		found, wrong := s.Find(ctx, listed.Name)
		if wrong == nil {
			_, wrong = found.Call(ctx, map[bool]string{true: `{"a":5,"b":3}`, false: `{}`}[listed.Original == "add_numbers"])
		}
		err = cmp.Or(err, wrong)
	}
	return err
}

// olderNode lets node 20 read the suite, which imports a function that only later ones
// have, for another command.
const olderNode = `import { register } from "node:module";
const hooks = ` + "`" + `export async function resolve(specifier, context, next) {
  return specifier === "fs" ? { url: "everstep:fs", shortCircuit: true } : next(specifier, context);
}
export async function load(url, context, next) {
  if (url !== "everstep:fs") return next(url, context);
  return { format: "module", shortCircuit: true, source: 'export * from "node:fs"; import fs from "node:fs"; export default fs; export const globSync = fs.globSync;' };
}` + "`" + `;
register("data:text/javascript," + encodeURIComponent(hooks));
`

// TestConformance plays all of the suite's scenarios of clients that apply.
func TestConformance(t *testing.T) {
	t.Parallel()
	dir := packages(t)
	self, err := os.Executable()
	require.NoError(t, err)
	shim := filepath.Join(t.TempDir(), "older.mjs")
	require.NoError(t, os.WriteFile(shim, []byte(olderNode), 0o600))
	run := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		command := exec.CommandContext(ctx, "node", append([]string{"--import", shim, filepath.Join(dir, "node_modules", suite, "dist", "index.js")}, args...)...)
		command.Dir = t.TempDir()
		said, err := command.CombinedOutput()
		return string(said), err
	}
	listed, err := run("list", "--client")
	require.NoError(t, err, listed)
	known := map[string]bool{}
	for line := range strings.Lines(listed) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "-" {
			known[fields[1]] = true
			require.Contains(t, scenarios, fields[1], "nobody has said whether it applies")
		}
	}
	require.Len(t, known, len(scenarios))
	for name, why := range scenarios {
		if why != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, err := run("client", "--command", self+" "+conform, "--scenario", name)
			require.NoError(t, err, "%s", said)
		})
	}
}
