package openaichat_test

import (
	"testing"

	"everstep/activities/openaichat"
	"everstep/testsuite/providers"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	providers.Options(t, openaichat.APIs()[0], "m", map[string]string{
		`seed 7`: "", `messages []`: "messages", `model "x"`: "model", `n 2`: "n", `stream false`: "stream", `tools []`: "tools",
		`dialect {"think_tags":true}`: "", `dialect null`: "", `dialect 7`: "dialect", `dialect {"tags":true}`: "dialect", `dialect {"think_tags":"x"}`: "dialect",
		`max_tokens "x"`: "max_tokens", `max_completion_tokens 0`: "max_completion_tokens",
	})
}
