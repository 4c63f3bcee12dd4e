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
		"The prompt exceeds the context window\n1261 and no more":                                                                                0,
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
		"Invalid request: Your request exceeded model token limit: 262144 (requested: 270000)":                                                   262144,
		"The input (33000 tokens) is longer than the model's context length (32769 tokens).":                                                     32769,
		"When the context overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.":                 4096,
		"The number of tokens to keep from the initial prompt is greater than the context length":                                                0,
		"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt":                   4081,
		"Please reduce the length of the messages or completion. Current length is 8500 while limit is 8192":                                     8192,
		"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of them.":  272000,
		"The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8000).":                        8000,
		"Range of input length should be [1, 30720]":                                                                                             30720,
		"Prompt exceeds max length": 0,
		"length of prompt_tokens (40000) must be less than max_seq_len (32768).":                                                            32768,
		"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 3000 `inputs` tokens and 8000 `max_new_tokens`": 8193,
		"Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens":           32768,
		"This endpoint's maximum context length is 200000 tokens. However, you requested about 210000 tokens (200000 of text input)":        200000,
		"Your input exceeds the context window of this model. Please adjust your input and try again.":                                      0,
		"prompt is too long": 0,
		"prompt is too long: 600000 bytes; max input 300 KB":                                                                                    0,
		"Input exceeds the context window for model qwen-2507 of 131072 tokens":                                                                 0,
		"input length and `max_tokens` exceed context limit: 1200 + 200000 > 200000, decrease input length":                                     200000,
		"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.":                                                        131040,
		"prompt token count of 135355 exceeds the limit of 128000":                                                                              128000,
		"Prompt has 256468 tokens, but the configured context size is 256000 tokens":                                                            256000,
		"Prompt too long: 45152 tokens exceeds max_seq_len 32768 (leave room for output tokens)":                                                32768,
		"Input tokens exceed the limit: 130000 > 128000":                                                                                        128000,
		"Input validation error: `inputs` must have less than 8191 tokens. Given: 9000":                                                         8191,
		"AiError: Bad input: Error: Input prompt contains too many tokens: 9000. Max 8192":                                                      8192,
		"context shift is disabled: the prompt (5000 tokens) exceeds n_ctx 4096":                                                                4096,
		"Sequence length 40000 is longer than maximum sequence length 32768":                                                                    32768,
		"invalid params, context window exceeds limit (2013)":                                                                                   0,
		"ContextWindowExceededError: too long":                                                                                                  0,
		"tokens in request more than max tokens allowed":                                                                                        0,
		"The conversation is too long for this model, please shorten it":                                                                        0,
		"This model's maximum context length is 2048 tokens. However, you requested 2300 tokens":                                                2048,
		"the prompt exceeds the context length 512":                                                                                             0,
		"This model's maximum context length is 128K tokens. However, you requested 150K.":                                                      128000,
		"Unable to submit request because the input token count is 1200000 but model only supports up to 1048576. Reduce the input token count": 1048576,
		"Prompt length 45000 exceeds max_model_len 32768":                                                                                       32768,
		"This model supports at most 32768 input tokens, got 45000":                                                                             32768,
		"Too many input tokens: 45000. The limit is 32768.":                                                                                     32768,
		"Your input is 150,000 tokens long, but the maximum is 128,000":                                                                         128000,
		"This request has 150000 tokens but the model's limit is 128000 tokens":                                                                 128000,
		"Input exceeds the maximum of 32768 tokens":                                                                                             32768,
		"Total tokens of image and text exceed max message tokens. Request id: 1":                                                               0,
		"max_tokens must be at least 1, got -1532.":                                                                                             0,
		"maximum context length is 10 tokens":                                                                                                   0,
		"This model's maximum context length is 99999999999999999999 tokens":                                                                    0,
	} {
		err := inference.Rejection{Status: 400, Message: message}.Error(domain.LLMConfig{Provider: "p", Model: "m"})
		require.Equal(t, domain.CodeContextOverflow, err.Code, message)
		require.Equal(t, want, err.Window, message)
	}
}
