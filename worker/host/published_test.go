package host

import (
	"encoding/json"
	"errors"
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
	specs = append(specs, domain.ToolSpec{Name: "odd", Schema: json.RawMessage(`{"type":"object","properties":{"a b":true,"c":{"type":"array"},"d":{"const":1},"e":{"$ref":"#/definitions/E","minLength":1},"f":{"pattern":"^\\p{L}+$"}},"required":["g"],"anyOf":[{"required":["c"]},{"$ref":"#/definitions/E"}],"not":{"required":["c","d"]},"definitions":{"E":{"items":{"$ref":"#"}}}}`)})
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

// TestSchemasThatAServerRefuses: whatever it is that a server does not take, it is asked once more with the schemas in words,
// and from then on; it is no such refusal where it is the answer's schema.
func TestSchemasThatAServerRefuses(t *testing.T) {
	t.Parallel()
	call := func(name string) inference.Call {
		spec := domain.ToolSpec{Name: "f", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"^x$"},"b":{"type":"object","anyOf":[{"$ref":"#/$defs/B"}]}},"required":["a"],"$defs":{"B":{"minProperties":1}}}`)}
		return inference.Call{Config: modelOf(name), Messages: []domain.Message{domain.UserMessage("hello")}, Tools: []domain.ToolSpec{spec}}
	}
	for says, adapts := range map[string]bool{
		"tools.function.parameters is not a valid flavored json schema, details: <At path 'b': when using anyOf, type should be in its items>": true,
		"Invalid schema for function 'f': '^x$' is not a 'regex'.":                                                                             true,
		"tools.0.custom.input_schema: JSON schema is invalid.":                                                                                 true,
		"reference to undefined schema at properties.b":                                                                                        true,
		"JSON schema conversion failed: Unrecognized schema: {}":                                                                               true,
		"failed to parse grammar": true,
		"Invalid schema for response_format 'answer', which is a function's": false,
		"tools is not supported":                 false,
		"the schema of the database was changed": false,
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"pattern":`) {
				w.WriteHeader(http.StatusBadRequest)
				_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": says}})
				return
			}
			w.WriteHeader(http.StatusTeapot)
		}))
		t.Cleanup(api.Close)
		each(t, at(Access{BaseURL: api.URL}), func(t *testing.T, _ vendor, name string, p inference.Provider) {
			infer := func() error {
				_, err := p.Infer(t.Context(), call(name), func(inference.Delta) {})
				return err
			}
			err := infer()
			_, adapted := errors.AsType[*inference.Adapted](err)
			require.Equal(t, adapts, adapted, "%s: %v", says, err)
			if adapts {
				require.ErrorContains(t, err, "; asked again with its tools' schemas in words")
				require.ErrorContains(t, infer(), "418")
			}
		})
	}
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
		required, _ := p.Fields["required"].([]any)
		reference, _ := p.Fields["$ref"].(string)
		for said, refused := range map[string]bool{
			"what is no object":                   p.Fields == nil,
			"alternatives at the top level":       p.IsRoot() && p.Has("anyOf", "oneOf", "allOf", "not", "enum", "$ref"),
			"array schema missing items":          key == "parameters" && p.Takes("array") && !p.Has("items"),
			"object schema missing properties":    key == "parameters" && p.IsRoot() && !p.Has("properties"),
			"property keys should match pattern":  key == "input_schema" && slices.ContainsFunc(slices.Collect(maps.Keys(properties)), func(name string) bool { return !usual.MatchString(name) }),
			"is not a 'regex'":                    strings.Contains(fmt.Sprint(p.Fields["pattern"]), `\p`),
			"required: property is not defined":   p.Takes("object") && slices.ContainsFunc(required, func(name any) bool { return properties[name.(string)] == nil }),
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
