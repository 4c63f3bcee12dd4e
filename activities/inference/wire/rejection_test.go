package wire_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// TestParseRejection reads errors in the shapes of all the servers.
func TestParseRejection(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body string
		want inference.Rejection
	}{
		"OpenAI":       {`{"error":{"message":"no","type":"t","param":null,"code":null}}`, inference.Rejection{Message: "no", Type: "t"}},
		"Responses":    {`{"type":"error","code":"server_error","message":"no","param":"p","sequence_number":3}`, inference.Rejection{Message: "no", Type: "error", Code: "server_error", Param: "p"}},
		"Anthropic":    {`{"type":"error","error":{"type":"overloaded_error","message":"no"},"request_id":"req_1"}`, inference.Rejection{Message: "no", Type: "overloaded_error", RequestID: "req_1"}},
		"Azure":        {`{"error":{"code":"401","message":"no"}}`, inference.Rejection{Message: "no", Code: "401", Status: 401}},
		"Azure filter": {`{"error":{"message":"no","code":"content_filter","status":400,"innererror":{"code":"Policy"}}}`, inference.Rejection{Message: "no", Code: "content_filter", Type: "400", Hint: "Policy"}},
		"OpenRouter":   {`{"error":{"message":"no","code":429,"metadata":{"provider_name":"p","raw":"deep"}}}`, inference.Rejection{Message: "no", Code: "429", Status: 429, Hint: "deep"}},
		"xAI":          {`{"code":"c","error":"no"}`, inference.Rejection{Message: "no", Code: "c"}},
		"Mistral":      {`{"detail":"no"}`, inference.Rejection{Message: "no"}},
		"FastAPI":      {`{"detail":[{"loc":["body",0],"msg":"no"}]}`, inference.Rejection{Message: "body.0: no"}},
		"Cohere":       {`{"id":"1","message":"no"}`, inference.Rejection{Message: "no"}},
		"Ollama":       {`{"error":"no"}`, inference.Rejection{Message: "no"}},
		"Perplexity":   {`{"error":{"message":"no","type":"t","code":400}}`, inference.Rejection{Message: "no", Type: "t", Code: "400", Status: 400}},
		"Bedrock":      {`{"message":"no"}`, inference.Rejection{Message: "no"}},
		"Gemini": {`[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"no","details":[{"@type":"x"},{"retryDelay":"1.5s"}]}}]`,
			inference.Rejection{Message: "no", Code: "429", Status: 429, Type: "RESOURCE_EXHAUSTED", RetryAfter: 1500 * time.Millisecond, Asked: true}},
		"Groq":         {`{"error":{"message":"no","type":"t","code":"tool_use_failed","failed_generation":"f","status_code":400}}`, inference.Rejection{Message: "no", Type: "t", Code: "tool_use_failed", Status: 400}},
		"vLLM":         {`{"object":"error","message":"no","type":"BadRequestError","param":null,"code":400}`, inference.Rejection{Message: "no", Type: "BadRequestError", Code: "400", Status: 400}},
		"no status":    {`{"code":600,"message":"no"}`, inference.Rejection{Message: "no", Code: "600"}},
		"words":        {"no\n", inference.Rejection{Message: "no"}},
		"a page":       {"<html>no</html>", inference.Rejection{}},
		"cut JSON":     {`{"error":{"mess`, inference.Rejection{}},
		"an empty one": {"", inference.Rejection{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := wire.ParseRejection([]byte(test.body))
			got.Type, got.Hint = strings.TrimSpace(got.Type), strings.TrimSpace(got.Hint)
			require.Equal(t, test.want, got)
		})
	}
}

// TestNoModelSaysWhere: the base URL is told, without what may be a key in it.
func TestNoModelSaysWhere(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	_, failed := attempt(t, wire.Config{BaseURL: server + "/v1?key=canary"})
	require.Equal(t, domain.CodeModelNotFound, failed.Code)
	require.Contains(t, failed.Message, "no model m at "+server+"/v1;")
	require.NotContains(t, failed.Message+failed.Detail, "canary")
}

// TestGoogleSaysWhyInItsDetails: a bad key and a day's quota are in details
// alone, and mean another thing than the status.
func TestGoogleSaysWhyInItsDetails(t *testing.T) {
	t.Parallel()
	config := domain.LLMConfig{Provider: "gemini", Model: "m"}
	key := wire.ParseRejection([]byte(`{"error":{"code":400,"message":"expired","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`))
	require.Equal(t, domain.CodeAuth, key.Error(config).Code)
	day := wire.ParseRejection([]byte(`{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}`))
	require.Equal(t, domain.CodeQuota, day.Error(config).Code)
	minute := wire.ParseRejection([]byte(`{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]}]}}`))
	require.Equal(t, domain.Throttled, minute.Error(config).Kind)
}
