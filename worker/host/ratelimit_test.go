package host

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/scripted"
	"everstep/domain/contract"
)

// requireReads has a reader of limits read each text as what it means, and refuse each other with the words beside it.
func requireReads[T any](t *testing.T, read func(string) (map[string]T, error), good map[string]map[string]T, wrong map[string]string) {
	t.Helper()
	for text, want := range good {
		got, err := read(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range wrong {
		_, err := read(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestReadRateLimits(t *testing.T) {
	t.Parallel()
	requireReads(t, readRateLimits, map[string]map[string]RateLimit{
		"openai=600rpm": {"openai": {RequestsPerMinute: 600}},
		"openai=600rpm/200000tpm, anthropic=50rpm": {"openai": {600, 200000}, "anthropic": {RequestsPerMinute: 50}},
		"gemini=9tpm/1rpm":                         {"gemini": {1, 9}},
	}, map[string]string{
		"":                          `"" is no limit; write it like openai=600rpm/200000tpm`,
		"600rpm":                    `"600rpm" is no limit`,
		"openai=600rpm,":            `"" is no limit`,
		"opnai=600rpm":              `"opnai" is no vendor; the vendors are: ` + strings.Join(vendorNames(), ", "),
		"openai-chat=600rpm":        `"openai-chat" is no vendor`,
		"openai=1rpm,openai=2rpm":   "openai has two limits; leave one out",
		"openai=600":                `openai: "600" is neither requests a minute`,
		"openai=600rps":             `openai: "600rps" is neither`,
		"openai=0rpm":               `openai: "0rpm" is neither`,
		"openai=-5rpm":              `openai: "-5rpm" is neither`,
		"openai=1.5rpm":             `openai: "1.5rpm" is neither`,
		"openai=1rpm/2rpm":          `openai: "1rpm/2rpm" is neither`,
		"openai=":                   `openai: "" is neither`,
		"openai=99999999999999rpmx": "is neither",
	})
}

// TestQuotas: providers of one key share a queue and a meter, and each worker
// takes its share of the tokens.
func TestQuotas(t *testing.T) {
	t.Parallel()
	config := Config{
		TaskQueue: "q", Workers: 4, Providers: map[string]inference.Provider{"own": scripted.New()},
		RateLimits: map[string]RateLimit{"openai": {600, 200_000}, "own": {RequestsPerMinute: 60}, "gemini": {}},
	}
	quotas, err := config.quotas()
	require.NoError(t, err)
	require.Len(t, quotas, 2)
	all := limits(quotas)
	require.Len(t, all, 3)
	require.Equal(t, contract.RateLimit{TaskQueue: "q/openai", RequestsPerMinute: 600, TokensPerMinute: 50_000}, all["openai"].RateLimit)
	require.Equal(t, all["openai"].RateLimit, all["openai-chat"].RateLimit)
	require.Same(t, all["openai"].Meter, all["openai-chat"].Meter)
	require.Equal(t, contract.RateLimit{TaskQueue: "q/own", RequestsPerMinute: 60}, all["own"].RateLimit)
	require.Equal(t, "600 requests a minute, 50000 tokens a minute and worker", all["openai"].String())

	for want, wrong := range map[string]Config{
		`rate limit: "opnai" is no vendor; the vendors are: ` + strings.Join(vendorNames(), ", "): {RateLimits: map[string]RateLimit{"opnai": {1, 1}}},
		"rate limit: openai: a limit cannot be negative; zero is none":                            {RateLimits: map[string]RateLimit{"openai": {RequestsPerMinute: -1}}},
		"workers: -1; give how many workers share the tokens, at least 1":                         {Workers: -1},
	} {
		_, err := wrong.quotas()
		require.EqualError(t, err, want)
	}
}
