package host

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/mcp"
	"everstep/activities/output"
	"everstep/domain"
)

// TestToolsOfPublishedServersAtEachProvider: an API takes all tools of published servers, with schemas that it refuses as they are.
func TestToolsOfPublishedServersAtEachProvider(t *testing.T) {
	t.Parallel()
	packages, err := filepath.Abs(filepath.Join("..", "..", ".ci", "cache", "npm"))
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(packages, "installed")); err != nil {
		t.Skip("SKIPPED: the published MCP servers are not tried: .ci/npm installs them")
	}
	notion := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"asked":"`+r.URL.Path+`"}`)
	}))
	t.Cleanup(notion.Close)
	program := func(name, command string, env ...mcp.Variable) mcp.Server {
		return mcp.Server{Name: name, Command: "npx", Args: []string{"--offline", command}, Dir: packages, Env: env}
	}
	servers := mcp.Open([]mcp.Server{
		program("notion", "notion-mcp-server", mcp.Variable{Name: "BASE_URL", Text: notion.URL}, mcp.Variable{Name: "NOTION_TOKEN", Text: "x"}),
		program("all", "mcp-server-everything"),
	}, mcp.Options{})
	t.Cleanup(servers.Close)
	var specs []domain.ToolSpec
	for name, call := range map[string][3]string{
		"notion": {"notion__API-get-user", `{"user_id":"me"}`, "/v1/users/me"},
		"all":    {"all__echo", `{"message":"hello"}`, "Echo: hello"},
	} {
		found, err := servers.All(t.Context(), name)
		require.NoError(t, err)
		for _, one := range found {
			specs = append(specs, one.Spec())
		}
		one, err := servers.Find(t.Context(), call[0])
		require.NoError(t, err)
		result, err := one.Call(t.Context(), call[1])
		require.NoError(t, err)
		require.Contains(t, result.Content, call[2])
	}
	// And one that is odder than those that are published.
	specs = append(specs, domain.ToolSpec{Name: "odd", Schema: json.RawMessage(`{"type":"object","properties":{"a b":true,"c":{"type":"array"},"d":{"const":1},"e":{"$ref":"#/definitions/E","minLength":1}},"anyOf":[{"required":["c"]},{"$ref":"#/definitions/E"}],"not":{"required":["c","d"]},"definitions":{"E":{"items":{"$ref":"#"}}}}`)})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body any
		_ = json.NewDecoder(r.Body).Decode(&body)
		n, said := 0, []string{}
		for _, key := range []string{"input_schema", "parameters", "parametersJsonSchema"} {
			for _, schema := range schemas(key, body) {
				n, said = n+1, append(said, refusals(t, key, schema)...)
			}
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"of %d tools %v are refused"}}`, n, said)
	}))
	t.Cleanup(api.Close)
	each(t, at(Access{BaseURL: api.URL}), func(t *testing.T, _ vendor, name string, p inference.Provider) {
		_, err := p.Infer(t.Context(), inference.Call{Config: modelOf(name), Messages: []domain.Message{domain.UserMessage("hello")}, Tools: specs}, func(inference.Delta) {})
		require.ErrorContains(t, err, fmt.Sprintf("of %d tools [] are refused", len(specs)))
	})
}

// schemas are what a request has under a key, wherever that is.
func schemas(key string, v any) (all []json.RawMessage) {
	switch v := v.(type) {
	case map[string]any:
		for name, one := range v {
			if name == key {
				text, _ := json.Marshal(one) // it was read from JSON
				all = append(all, text)
				continue
			}
			all = append(all, schemas(key, one)...)
		}
	case []any:
		for _, one := range v {
			all = append(all, schemas(key, one)...)
		}
	}
	return all
}

// refusals are what APIs say of a tool's schema that they do not take.
func refusals(t *testing.T, key string, schema json.RawMessage) (all []string) {
	t.Helper()
	var root struct {
		Definitions map[string]any `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(schema, &root))
	usual := regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	require.NoError(t, output.Parts(schema, func(p output.Part) {
		properties, _ := p.Fields["properties"].(map[string]any)
		reference, _ := p.Fields["$ref"].(string)
		for said, refused := range map[string]bool{
			"what is no object":                   p.Fields == nil,
			"alternatives at the top level":       p.IsRoot() && p.Has("anyOf", "oneOf", "allOf", "not", "enum", "$ref"),
			"array schema missing items":          key == "parameters" && p.Takes("array") && !p.Has("items"),
			"object schema missing properties":    key == "parameters" && p.IsRoot() && !p.Has("properties"),
			"property keys should match pattern":  key == "input_schema" && slices.ContainsFunc(slices.Collect(maps.Keys(properties)), func(name string) bool { return !usual.MatchString(name) }),
			"const is unknown":                    key == "parametersJsonSchema" && p.Has("const"),
			"reference to undefined schema":       key == "parametersJsonSchema" && reference != "" && root.Definitions[strings.TrimPrefix(reference, "#/$defs/")] == nil,
			"$ref was set beside what is refused": key == "parametersJsonSchema" && reference != "" && p.Has("type", "minLength", "properties", "title"),
		} {
			if refused {
				all = append(all, said)
			}
		}
	}))
	return all
}
