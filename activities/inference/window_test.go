package inference_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
)

// TestWindowsThatProvidersName where they find a conversation too long.
func TestWindowsThatProvidersName(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]int64{
		"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion).": 8192,
		"This model's maximum context length is 131,072 tokens. However, your messages resulted in 140,000 tokens":                               131072,
		"prompt is too long: 210000 tokens > 200000 maximum":                                                                                     200000,
		"request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it":                                              4096,
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).":                                                1048576,
		"the request exceeds the context: n_ctx = 4096, n_prompt = 5000":                                                                         4096,
		"The decoder prompt (length 5000) is longer than the maximum model length of 4096.":                                                      4096,
		"Prompt contains 65673 tokens, too large for model with 32768 maximum context length":                                                    32768,
		"prompt too long: This model's maximum prompt length is 131072 but the request contains 140000 tokens.":                                  131072,
		"exceeds the context window: too many tokens, cannot exceed 4081 - received 5000":                                                        4081,
		"the conversation exceeds the model's context window of 32768 tokens":                                                                    32768,
		"Your input exceeds the context window of this model. Please adjust your input and try again.":                                           0,
		"prompt is too long":                                                 0,
		"maximum context length is 10 tokens":                                0,
		"This model's maximum context length is 99999999999999999999 tokens": 0,
	} {
		err := inference.Rejection{Status: 400, Code: "context_length_exceeded", Message: message}.Error(domain.LLMConfig{Provider: "p", Model: "m"})
		require.Equal(t, domain.CodeContextOverflow, err.Code, message)
		require.Equal(t, want, err.Window, message)
	}
}
