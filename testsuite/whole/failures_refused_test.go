package whole_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/starter/client"
)

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

// aloneAt runs a case whose server is none of the stage's.
func aloneAt(t *testing.T, server string, want ending, check func(*testing.T, *part)) {
	t.Helper()
	s := newStage(t)
	s.begin(t, failureCase{define: sentTo(server + "/v1"), want: want, check: check}, "alone").see(t)
}

// busy: what passes is tried again, and only a gateway's word may have cost
// something.
func busy() []failureCase {
	var all []failureCase
	for _, status := range []int{408, 409, 429, 500, 503, 529} {
		body := fmt.Sprintf(`{"error":{"message":"not now, says %d","type":"server_error","code":null}}`, status)
		all = append(all, failureCase{
			name: fmt.Sprint(status), plays: []play{refuses(status, body), fine(openaichat.Name)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Contains(t, p.view.Steps[0].Retries[0].Reason, fmt.Sprintf("not now, says %d", status))
				require.Zero(t, p.view.Waste.Usage.TotalTokens())
			},
		})
	}
	for _, status := range []int{502, 504} {
		all = append(all, failureCase{name: fmt.Sprint(status, ", of a gateway"), plays: []play{counted(refuses(status, "<html>bad gateway</html>")), fine(openaichat.Name)}})
	}
	for _, api := range failureAPIs() {
		rate, broken := apiTables()[api].rate, apiTables()[api].broken
		all = append(all,
			failureCase{name: api + ", both", api: api, plays: []play{refuses(429, rate), refuses(500, broken), fine(api)}},
			failureCase{name: api + ", too many requests each time", api: api, define: twice, plays: []play{refuses(429, rate), refuses(429, rate)},
				want: failing(domain.Throttled, "", "too many requests (HTTP 429)")},
			failureCase{name: api + ", broken each time", api: api, define: twice, plays: []play{refuses(500, broken), refuses(500, broken)},
				want: failing(domain.Unavailable, "", "the provider failed (HTTP 500)")})
	}
	return append(all,
		failureCase{name: "503 of a time that has its limit", plays: []play{refuses(503, "", "Retry-After: 86400")},
			define: inSeconds, want: stopping(domain.TimeLimitReached, "max_seconds")})
}

// inSeconds bounds the whole execution, by enough for a busy machine to begin it.
func inSeconds(s *client.Start) { s.Budget.MaxSeconds = new(10.0) }

// refusedCases are cases of one refusal each that is final.
func refusedCases(want ending, refusals map[string]refusedCase) []failureCase {
	var all []failureCase
	for name, r := range refusals {
		own := want
		own.says = append(append([]string{}, want.says...), r.says...)
		if r.status == 0 {
			r.status = 400
		}
		all = append(all, failureCase{name: name, api: r.api, plays: []play{refuses(r.status, r.body, r.headers...)}, want: own})
	}
	return all
}

type refusedCase struct {
	api     string
	status  int
	body    string
	headers []string
	says    []string
}

// money: waiting does not help, so nothing is tried again.
func money() []failureCase {
	all := refusedCases(failing(domain.Denied, domain.CodeQuota, "no money or quota left"), map[string]refusedCase{
		"insufficient_quota":              {status: 429, body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, says: []string{"You exceeded your current quota"}},
		"insufficient_quota with a delay": {status: 429, headers: []string{"Retry-After: 1"}, body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`},
		"insufficient_quota, Responses":   {api: openai.Name, status: 429, body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`},
		"credit_balance_exhausted":        {status: 429, body: `{"error":{"message":"none left","type":"requests","code":"credit_balance_exhausted"}}`},
		"billing_hard_limit_reached":      {status: 400, body: `{"error":{"message":"Billing hard limit has been reached","type":"invalid_request_error","code":"billing_hard_limit_reached"}}`},
		"enforced_spend_limit_reached":    {api: anthropic.Name, status: 429, body: `{"type":"error","error":{"type":"enforced_spend_limit_reached","message":"the limit"}}`},
		"billing_error":                   {api: anthropic.Name, status: 402, body: `{"type":"error","error":{"type":"billing_error","message":"see your billing"}}`},
		"a credit balance":                {api: anthropic.Name, status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`},
		"limits of a workspace":           {api: anthropic.Name, status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified workspace API usage limits. You will regain access on 2026-11-01 at 00:00 UTC."}}`},
		"limits of a project":             {status: 429, body: `{"error":{"message":"This project has reached its spend limit for the month.","type":"requests","code":null}}`},
		"limits of a team":                {status: 403, body: `{"code":"The caller does not have permission","error":"Your team has either used all available credits or reached its monthly spending limit."}`},
		"a day's quota":                   {api: gemini.Name, status: 429, body: `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]},{"retryDelay":"3s"}]}}`},
		"402":                             {status: 402, body: `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`},
		"402 of OpenRouter":               {status: 402, body: `{"error":{"message":"This request requires more credits","code":402}}`},
		"402 without words":               {status: 402},
	})
	return append(all, failureCase{
		name:  "402 with a delay is a budget in flight",
		plays: []play{refuses(402, `{"error":{"message":"in flight","code":402}}`, "Retry-After-Ms: 20"), fine(openaichat.Name)},
	})
}

// badKeys: a key that was refused is not tried again, and not shown.
func badKeys() []failureCase {
	all := refusedCases(failing(domain.Denied, domain.CodeAuth, "the provider refused the key", "check the key"), map[string]refusedCase{
		"401":            {status: 401, body: `{"error":{"message":"Incorrect API key provided: ` + failureKey + `","type":"invalid_request_error","code":"invalid_api_key"}}`},
		"401, Responses": {api: openai.Name, status: 401, body: `{"error":{"message":"Incorrect API key provided: ` + failureKey + `","code":"invalid_api_key"}}`},
		"401, Anthropic": {api: anthropic.Name, status: 401, body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key ` + failureKey + `"},"request_id":"req_1"}`},
		"401, Azure":     {status: 401, body: `{"error":{"code":"401","message":"Access denied due to invalid subscription key"}}`},
		"401, a page":    {status: 401, body: `<html>` + failureKey + `</html>`},
		"403":            {status: 403, body: `{"error":{"message":"Country not supported, key ` + failureKey + `","code":"unsupported_country"}}`, says: []string{"Country not supported, key [key]"}},
		"403, Anthropic": {api: anthropic.Name, status: 403, body: `{"type":"error","error":{"type":"permission_error","message":"not yours"}}`, says: []string{"not yours"}},
		"403, Gemini":    {api: gemini.Name, status: 403, body: `{"error":{"code":403,"message":"no access","status":"PERMISSION_DENIED"}}`},
		"400, xAI":       {status: 400, body: `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: ` + failureKey + `. Go to the console."}`},
		"400, Gemini":    {api: gemini.Name, status: 400, body: `{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`},
	})
	return append(all, failureCase{
		name:  "with a new key it goes on",
		plays: []play{refuses(401, `{"error":{"message":"rotated","code":"invalid_api_key"}}`)},
		want:  failing(domain.Denied, domain.CodeAuth),
		check: func(t *testing.T, p *part) {
			t.Helper()
			p.mu.Lock()
			p.plays = append(p.plays, fine(openaichat.Name))
			p.mu.Unlock()
			c := *p.cli
			c.t = t
			require.Contains(t, p.view.Advice[0].Command, "extend "+p.id)
			c.ok("extend", p.id)
			require.Equal(t, "ok\n", c.ok("result", p.id))
		},
	})
}

// noModel names what was asked for, and where.
func noModel() []failureCase {
	return refusedCases(failing(domain.Invalid, domain.CodeModelNotFound, "{model}", "{server}", "check the model's name"), map[string]refusedCase{
		"OpenAI":           {status: 404, body: `{"error":{"message":"The model does not exist or you do not have access to it.","type":"invalid_request_error","code":"model_not_found"}}`},
		"Responses":        {api: openai.Name, status: 400, body: `{"error":{"message":"The requested model does not exist.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`},
		"Azure":            {status: 404, body: `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`},
		"Anthropic":        {api: anthropic.Name, status: 404, body: `{"type":"error","error":{"type":"not_found_error","message":"model: m"}}`},
		"Gemini":           {api: gemini.Name, status: 404, body: `{"error":{"code":404,"message":"models/m is not found","status":"NOT_FOUND"}}`},
		"OpenRouter":       {status: 400, body: `{"error":{"message":"m is not a valid model ID","code":400}}`},
		"Ollama":           {status: 404, body: `{"error":"model 'm' not found"}`, says: []string{"model 'm' not found"}},
		"a page":           {status: 404, body: `<html>404</html>`},
		"a page of no use": {status: 404},
	})
}

// badRequests fail with the parameter and the message.
func badRequests() []failureCase {
	return refusedCases(failing(domain.Invalid, "", "the provider refused the request (HTTP 4"), map[string]refusedCase{
		"an unsupported parameter": {body: `{"error":{"message":"Unsupported value","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`, says: []string{"Unsupported value (parameter temperature)"}},
		"a bad tool schema":        {body: `{"error":{"message":"Invalid schema for function 'echo': In context=(), 'additionalProperties' is required","type":"invalid_request_error","param":"tools[0].function.parameters","code":"invalid_function_parameters"}}`, says: []string{"Invalid schema for function 'echo'", "tools[0].function.parameters"}},
		"Responses":                {api: openai.Name, body: `{"error":{"message":"Unknown parameter","type":"invalid_request_error","param":"reasoning.effort","code":"unknown_parameter"}}`, says: []string{"Unknown parameter (parameter reasoning.effort)"}},
		"Anthropic":                {api: anthropic.Name, body: `{"type":"error","error":{"type":"invalid_request_error","message":"tools.0.custom.input_schema: JSON schema is invalid"}}`, says: []string{"tools.0.custom.input_schema"}},
		"Gemini":                   {api: gemini.Name, body: `{"error":{"code":400,"message":"Invalid value at 'tools[0]'","status":"INVALID_ARGUMENT"}}`, says: []string{"Invalid value at 'tools[0]'"}},
		"422":                      {status: 422, body: `{"detail":[{"loc":["body","messages",0],"msg":"Field required","type":"missing"}]}`, says: []string{"body.messages.0: Field required"}},
		"405":                      {status: 405, body: `Method Not Allowed`, says: []string{"Method Not Allowed"}},
	})
}

// errorBodies are the shapes in which servers say what is wrong.
func errorBodies() []failureCase {
	bodies := map[string]refusedCase{
		"OpenAI":                 {body: `{"error":{"message":"words","type":"invalid_request_error","param":null,"code":null}}`},
		"Anthropic":              {api: anthropic.Name, body: `{"type":"error","error":{"type":"invalid_request_error","message":"words"},"request_id":"req_7"}`, headers: []string{"x-should-retry: false"}},
		"Azure":                  {body: `{"error":{"code":"400","message":"words"}}`},
		"OpenRouter":             {body: `{"error":{"message":"words","code":400,"metadata":{"provider_name":"p","raw":"deep"}}}`},
		"xAI":                    {body: `{"code":"Client specified an invalid argument","error":"words"}`},
		"Mistral":                {body: `{"detail":"words"}`},
		"Cohere":                 {body: `{"id":"1","message":"words"}`},
		"Ollama":                 {body: `{"error":"words"}`},
		"Perplexity":             {body: `{"error":{"message":"words","type":"bad_request","code":400}}`},
		"Bedrock":                {body: `{"message":"words"}`},
		"Gemini":                 {api: gemini.Name, body: `{"error":{"code":400,"message":"words","status":"INVALID_ARGUMENT","details":[]}}`},
		"Gemini, a list":         {api: gemini.Name, body: `[{"error":{"code":400,"message":"words","status":"INVALID_ARGUMENT"}}]`},
		"vLLM, flat":             {body: `{"object":"error","message":"words","type":"BadRequestError","param":null,"code":400}`},
		"vLLM, nested":           {body: `{"error":{"message":"words","type":"BadRequestError","param":null,"code":400}}`},
		"plain text":             {body: "words\n", headers: []string{"Content-Type: text/plain"}},
		"JSON served as octets":  {body: `{"error":{"message":"words"}}`, headers: []string{"Content-Type: application/octet-stream"}},
		"words as long as books": {body: `{"error":{"message":"words ` + strings.Repeat("and words ", 3_000) + `"}}`},
	}
	all := refusedCases(failing(domain.Invalid, "", ": words"), bodies)
	groq := counted(refuses(400, `{"error":{"message":"Failed to call a function","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=echo{...}"}}`))
	all = append(all,
		failureCase{name: "Groq, a call that it could not read", plays: []play{groq, fine(openaichat.Name)}},
		failureCase{name: "Anthropic, the id of the request", api: anthropic.Name, define: twice,
			plays: []play{refuses(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_first"}`), refuses(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "request-id: req_second")},
			want:  failing(domain.Unavailable, "", "Overloaded"),
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Contains(t, p.log.String(), "request req_first: ", "operators can ask the provider's support")
				require.Contains(t, p.log.String(), "request req_second: ")
			}})
	return all
}

// retryAfter: what was asked for is waited for, between our own backoff and the
// budget.
func retryAfter() []failureCase {
	var all []failureCase
	const backoff = 150 * time.Millisecond
	add := func(name string, least, most time.Duration, headers ...string) {
		all = append(all, failureCase{
			name: name, plays: []play{refuses(429, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, headers...), fine(openaichat.Name)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.GreaterOrEqual(t, p.gap(), least)
				require.Less(t, p.gap(), most)
			},
		})
	}
	add("milliseconds before seconds", 700*time.Millisecond, 20*time.Second, "Retry-After-Ms: 700", "Retry-After: 30")
	add("seconds", time.Second, 20*time.Second, "Retry-After: 1")
	add("a fraction", 800*time.Millisecond, 20*time.Second, "Retry-After: 0.8")
	add("zero milliseconds", backoff, 20*time.Second, "Retry-After-Ms: 0", "Retry-After: 30")
	add("a date that is past", backoff, 20*time.Second, "Retry-After: Thu, 01 Jan 2015 00:00:00 GMT")
	add("junk", backoff, 20*time.Second, "Retry-After: soon")
	add("less than none", backoff, 20*time.Second, "Retry-After: -5")
	add("not a number", backoff, 20*time.Second, "Retry-After: NaN")
	dated := play{serve: func(w http.ResponseWriter, r *http.Request) {
		refuses(503, "", "Retry-After: "+time.Now().UTC().Add(2*time.Second).Format(http.TimeFormat)).serve(w, r)
	}}
	return append(all, failureCase{
		name: "a date", plays: []play{dated, fine(openaichat.Name)},
		check: func(t *testing.T, p *part) { t.Helper(); require.GreaterOrEqual(t, p.gap(), time.Second) },
	}, failureCase{
		name: "a day ends with the budget", plays: []play{refuses(429, "", "Retry-After: 86400")},
		define: inSeconds, want: stopping(domain.TimeLimitReached),
		check: func(t *testing.T, p *part) { t.Helper(); require.Less(t, *p.view.Milliseconds, int64(20_000)) },
	}, failureCase{
		name: "the details of Google", api: gemini.Name,
		plays: []play{refuses(429, `{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"0.7s"}]}}`), fine(gemini.Name)},
		check: func(t *testing.T, p *part) { t.Helper(); require.GreaterOrEqual(t, p.gap(), 700*time.Millisecond) },
	})
}
