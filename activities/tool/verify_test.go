package tool_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

func noWeather(context.Context, weatherArgs) (string, error) { return "", nil }

func TestVerify(t *testing.T) {
	t.Parallel()
	asked := tool.New("weather", "", domain.AtMostOnce, noWeather, tool.Verify(func(_ context.Context, args weatherArgs) (tool.Finding, error) {
		return tool.Happened("sun in "+args.City, "log"), nil
	}))
	require.NoError(t, asked.Check())
	require.True(t, asked.Spec().Verifies)
	found, err := asked.Verify(context.Background(), `{"city":"Bonn"}`)
	require.NoError(t, err)
	require.Equal(t, tool.Happened("sun in Bonn", "log"), found)

	raw := tool.FromSpec(domain.ToolSpec{Name: "any"}, nil, tool.Verify(func(_ context.Context, args json.RawMessage) (tool.Finding, error) {
		return tool.NotKnown(string(args)), nil
	}))
	found, err = raw.Verify(context.Background(), "")
	require.NoError(t, err)
	require.Equal(t, "{}", found.How(), "no text stands for an empty object")

	_, err = weather().Verify(context.Background(), "{}")
	require.ErrorContains(t, err, "the tool weather has no Verify here")
	require.False(t, tool.FromSpec(asked.Spec(), nil).Spec().Verifies, "a fake of it has none of its own")
	none := tool.Verify[weatherArgs](nil)
	require.ErrorContains(t, tool.New("weather", "", domain.AtMostOnce, noWeather, none).Check(), "verify: there is no function")
}

// TestFindings: whoever does not say how it is known does not know.
func TestFindings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		found   tool.Finding
		verdict domain.Verdict
		how     string
	}{
		"zero":                {tool.Finding{}, "", ""},
		"happened":            {tool.Happened("r", "journal"), domain.VerdictDone, "journal"},
		"happened, no reason": {tool.Happened("r", ""), "", "Verify did not say how it knows"},
		"fenced":              {tool.Fenced("void"), domain.VerdictNotDone, "void"},
		"fenced, not how":     {tool.Fenced(""), "", "Verify did not say how it knows"},
		"not known":           {tool.NotKnown("no journal"), "", "no journal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.verdict, test.found.Verdict())
			require.Equal(t, test.how, test.found.How())
			if test.verdict == "" {
				require.Empty(t, test.found.Result())
			}
		})
	}
}
