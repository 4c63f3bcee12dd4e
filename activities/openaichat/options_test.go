package openaichat_test

import (
	"testing"

	"everstep/activities/openaichat"
	"everstep/testsuite/providers"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	providers.Options(t, openaichat.Dialects()[0].API(), "m", map[string]string{
		`seed 7`: "", `messages []`: "messages", `model "x"`: "model", `n 2`: "n", `stream false`: "stream", `tools []`: "tools",
		`max_tokens "x"`: "max_tokens", `max_completion_tokens 0`: "max_completion_tokens",
	})
}
