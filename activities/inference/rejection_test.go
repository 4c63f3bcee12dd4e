package inference_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
)

func rejected(r inference.Rejection) *domain.Error {
	return r.Error(domain.LLMConfig{Provider: "p", Model: "m"})
}

// TestStatusSaysWhatToDo: where nothing but the status is known.
func TestStatusSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for want, statuses := range map[domain.Error][]int{
		{Kind: domain.Invalid}:                   {400, 405, 422, 451, 498, 501, 505},
		{Kind: domain.Throttled}:                 {429},
		{Kind: domain.Unavailable}:               {0, 399, 408, 409, 425, 499, 500, 503, 519, 525, 529},
		{Kind: domain.Unavailable, Billed: true}: {502, 504, 520, 522, 524},

		{Kind: domain.Denied, Code: domain.CodeAuth}:              {401, 403},
		{Kind: domain.Denied, Code: domain.CodeQuota}:             {402},
		{Kind: domain.Invalid, Code: domain.CodeModelNotFound}:    {404, 410},
		{Kind: domain.TooLarge, Code: domain.CodeContextOverflow}: {413},
	} {
		for _, status := range statuses {
			err := rejected(inference.Rejection{Status: status, Message: "no"})
			require.Equal(t, want, domain.Error{Kind: err.Kind, Code: err.Code, Billed: err.Billed}, status)
			require.Equal(t, "p", err.Source)
		}
	}
}

const tooLargeForTheAccount = "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully."

// TestWordsSayWhatHappened: the same words mean nothing where the status says
// another thing.
func TestWordsSayWhatHappened(t *testing.T) {
	t.Parallel()
	for want, tests := range map[domain.Code][]struct {
		name       string
		r          inference.Rejection
		yes, never []int
	}{
		domain.CodeQuota: {
			{"a code", inference.Rejection{Code: "Insufficient_Quota"}, []int{0, 400, 403, 429}, []int{401, 404, 500}},
			{"a text", inference.Rejection{Message: "You exceeded your current quota"}, []int{0, 400, 403, 429}, []int{401, 500}},
			{"a day's", inference.Rejection{Hint: "RequestsPerDay", Type: "resource_exhausted"}, []int{429}, []int{500}},
			{"with a delay", inference.Rejection{Message: "used all available credits", Asked: true}, []int{429}, nil},
		},
		domain.CodeAuth: {
			{"a code", inference.Rejection{Code: "invalid_api_key"}, []int{0, 400}, []int{422, 500}},
			{"a text", inference.Rejection{Message: "API key not valid"}, []int{0, 400}, []int{422, 500}},
		},
		domain.CodeContextOverflow: {
			{"a code", inference.Rejection{Code: "context_length_exceeded"}, []int{0, 400, 422, 500}, []int{401, 429, 503}},
			{"a text", inference.Rejection{Message: "Prompt is too long"}, []int{0, 400, 422, 500}, []int{404, 429, 503}},
			{"the account's", inference.Rejection{Type: "tokens", Code: "rate_limit_exceeded", ShouldRetry: "true", Asked: true, Message: tooLargeForTheAccount}, []int{0, 413, 429}, []int{401, 503}},
		},
		domain.CodeFiltered: {
			{"a code", inference.Rejection{Code: "content_filter"}, []int{0, 400, 403, 499}, []int{401, 429, 500}},
			{"a text", inference.Rejection{Message: "flagged by moderation"}, []int{0, 400, 403}, []int{401, 429, 500}},
		},
		domain.CodeModelNotFound: {
			{"a code", inference.Rejection{Code: "model_not_found"}, []int{0, 400, 499}, []int{401, 500}},
			{"a text", inference.Rejection{Message: "m is not a valid model ID"}, []int{0, 400, 499}, []int{401, 500}},
		},
		domain.CodeMalformed: {{"a code", inference.Rejection{Code: "tool_use_failed"}, []int{0, 400}, []int{401}}},
	} {
		for _, test := range tests {
			for _, status := range test.yes {
				test.r.Status = status
				err := rejected(test.r)
				require.Equal(t, want, err.Code, "%s %s %d", want, test.name, status)
				require.Equal(t, want == domain.CodeMalformed, err.Billed)
			}
			for _, status := range test.never {
				test.r.Status = status
				require.NotEqual(t, want, rejected(test.r).Code, "%s %s %d", want, test.name, status)
			}
		}
	}
}

// TestPaceIsNoQuota: what comes back while one waits is no matter of money.
func TestPaceIsNoQuota(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]inference.Rejection{
		"a delay beside a text":      {Status: 429, Asked: true, Message: "You exceeded your current quota"},
		"Google's word":              {Status: 429, Type: "RESOURCE_EXHAUSTED", Message: "You exceeded your current quota"},
		"a budget that is in flight": {Status: 402, Asked: true},
	} {
		err := rejected(r)
		require.Equal(t, domain.Throttled, err.Kind, name)
		require.Empty(t, err.Code, name)
	}
	for word, kind := range map[string]domain.Kind{"rate_limit_error": domain.Throttled, "invalid_request_error": domain.Invalid, "server_error": domain.Unavailable} {
		require.Equal(t, kind, rejected(inference.Rejection{Type: word}).Kind, "no status")
	}
}

// TestAdvice: the provider's word counts where the status is all that is known.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		advice string
		code   string
		kind   domain.Kind
		want   domain.Code
	}{
		"refused, try again":   {400, " True ", "", domain.Unavailable, ""},
		"refused, give up":     {400, "false", "", domain.Invalid, ""},
		"too many, give up":    {429, "false", "", domain.Denied, domain.CodeQuota},
		"too many, try again":  {429, "true", "", domain.Throttled, ""},
		"failed, give up":      {500, "FALSE", "", domain.Denied, domain.CodeGivenUp},
		"failed, try again":    {500, "true", "", domain.Unavailable, ""},
		"failed, neither":      {500, "no", "", domain.Unavailable, ""},
		"a code, try again":    {400, "true", "model_not_found", domain.Invalid, domain.CodeModelNotFound},
		"a tool call, give up": {400, "false", "tool_use_failed", domain.Unavailable, domain.CodeMalformed},
	} {
		err := rejected(inference.Rejection{Status: test.status, ShouldRetry: test.advice, Code: test.code})
		require.Equal(t, test.kind, err.Kind, name)
		require.Equal(t, test.want, err.Code, name)
	}
}

// TestWhatIsSaidOfARejection: what it was, its status and the provider's words,
// but not where those may hold a part of the key.
func TestWhatIsSaidOfARejection(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]inference.Rejection{
		"p: too many requests (HTTP 429): slow down":                                                  {Status: 429, Message: " slow\n down "},
		"p: the provider failed (HTTP 500)":                                                           {Status: 500},
		"p: the provider failed: code_1":                                                              {Code: "code_1"},
		"p: the provider refused the request (HTTP 400): no (parameter top_p)":                        {Status: 400, Message: "no", Param: "top_p"},
		"p: the provider refused the request (HTTP 400): no top_p":                                    {Status: 400, Message: "no top_p", Param: "top_p"},
		"p: the provider refused the key (HTTP 401), at https://s; check the key that the worker has": {Status: 401, Message: "sk-…abc", Server: "https://s"},
		"p: the provider refused the key (HTTP 403): no right; check the key that the worker has":     {Status: 403, Message: "no right"},
		"p: no model m there; check the model's name and the base URL":                                {Status: 404},
		"p: no model m at https://s: gone; check the model's name and the base URL":                   {Status: 410, Message: "gone", Server: "https://s"},
		"p: the conversation exceeds the context of model m":                                          {Status: 413},
		"p: the account has no money or quota left":                                                   {Status: 402},
		"p: the provider's filter refused the request: content_filter":                                {Code: "content_filter"},
		"p: the model wrote a tool call that the provider could not read: tool_use_failed":            {Code: "tool_use_failed"},
		"p: the provider failed (HTTP 503) and says that another try would fail too: no":              {Status: 503, ShouldRetry: "false", Message: "no"},
		"p: there are too many requests, and the provider says that waiting does not help: no":        {Status: 429, ShouldRetry: "false", Message: "no"},
		"p: the provider refused the request (HTTP 400): " + strings.Repeat("x", 600) + "…":           {Status: 400, Message: strings.Repeat("x", 601)},
		"p: the provider refused the request (HTTP 422): " + strings.Repeat("x", 600):                 {Status: 422, Message: strings.Repeat("x", 600)},
	} {
		require.Equal(t, want, rejected(r).Message)
	}
}

// TestBegunIsBilled: so is nothing else that was refused with such a status.
func TestBegunIsBilled(t *testing.T) {
	t.Parallel()
	require.True(t, rejected(inference.Rejection{Status: 429, Begun: true}).Billed)
	err := rejected(inference.Rejection{Status: 429, RetryAfter: time.Second, Asked: true})
	require.False(t, err.Billed)
	require.Equal(t, time.Second, err.RetryAfter)
}
