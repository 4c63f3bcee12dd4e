package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/starter/local"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "temporal")
	require.NoError(t, os.WriteFile(bad, []byte("#!/bin/sh\necho temporal version 0.1 '(Server 1.2.3, UI 1.0.0)'\n"), 0o700))
	folder := t.TempDir()
	prices := filepath.Join(folder, "prices.yaml")
	require.NoError(t, os.WriteFile(prices, []byte("models:\n  mine/m: {input: 1.25, output: 10}\n"), 0o600))
	spoilt := filepath.Join(folder, "spoilt.yaml")
	require.NoError(t, os.WriteFile(spoilt, []byte("models:\n  mine/m: {input: cheap}\n"), 0o600))
	for name, test := range map[string]struct {
		// set are variables, as NAME=value.
		set  []string
		args []string
		code int
		// verdicts are those of some checks, as name=verdict.
		verdicts string
	}{
		"nothing there": {[]string{local.VariableDir + "=" + folder}, nil, exitDone,
			"configuration=ok server=warn openai=warn openai-chat=warn anthropic=warn gemini=warn model=ok prices=ok storage=ok folder=ok"},
		"prices of one's own":       {[]string{local.VariablePrices + "=" + prices}, nil, exitDone, "prices=ok"},
		"prices that are not there": {[]string{local.VariablePrices + "=" + prices + "x"}, nil, exitOther, "prices=fail"},
		"prices with mistakes":      {[]string{local.VariablePrices + "=" + spoilt}, nil, exitOther, "prices=fail"},
		"server not there":          {nil, []string{"--address", "127.0.0.1:1"}, exitUnreachable, "configuration=ok server=fail storage=warn"},
		"dev server too old":        {[]string{local.VariableTemporal + "=" + bad}, nil, exitOther, "dev_server=fail server=warn"},
		"profile that is not there": {nil, []string{"--profile", "none"}, exitOther, "configuration=fail"},
		"wrong model, folder and URL": {[]string{local.VariableModel + "=opnai-chat/x", local.VariableDir + "=/nowhere", "OPENAI_BASE_URL=file:///x"}, nil, exitOther,
			"model=fail folder=fail openai=fail openai-chat=fail gemini=warn"},
		"a key": {[]string{"OPENAI_API_KEY=sk-sesame", "OPENAI_BASE_URL=http://127.0.0.1:1/v1?key=sesame"}, nil, exitDone,
			"openai=ok openai-chat=ok anthropic=ok gemini=ok"},
		"a rate limit that is none": {[]string{"EVERSTEP_RATE_LIMITS=openai=600"}, nil, exitOther, "providers=fail"},
		"a key, and another provider by default": {[]string{"OPENAI_API_KEY=sk-sesame", local.VariableModel + "=anthropic/claude-haiku-4-5"}, nil, exitDone,
			"openai=ok anthropic=warn gemini=ok"},
		"keys that are none": {[]string{"OPENAI_API_KEY=sk-sesame\nx", "ANTHROPIC_API_KEY=", "GOOGLE_API_KEY=sk sesame"}, nil, exitOther,
			"openai=fail openai-chat=fail anthropic=fail gemini=fail"},
		"keys in the wrong places": {[]string{"OPENAI_API_KEY_FILE=sk-sesame", "ANTHROPIC_BASE_URL=sk-sesame", "GEMINI_BASE_URL=https://sesame@host/"}, nil, exitOther,
			"openai=fail anthropic=fail gemini=fail"},
		"a proxy":              {[]string{"EVERSTEP_PROXY=http://user:sesame@host:3128"}, nil, exitDone, "openai=warn"},
		"a proxy that is none": {[]string{"EVERSTEP_PROXY=sesame"}, nil, exitOther, "providers=fail"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t)
			for _, variable := range test.set {
				name, value, _ := strings.Cut(variable, "=")
				c.variables[name] = value
			}
			code, stdout, stderr := c.call(t.Context(), append([]string{"doctor", "--json"}, test.args...)...)
			require.Equal(t, test.code, code, stdout+stderr)
			require.Empty(t, stderr)
			require.NotContains(t, stdout, "sesame", "neither keys nor what may hold them")
			var checks []local.Check
			require.NoError(t, json.Unmarshal([]byte(stdout), &checks))
			var got []string
			for _, c := range checks {
				got = append(got, strings.ReplaceAll(c.Name, " ", "_")+"="+string(c.Verdict))
				require.NotEmpty(t, c.Detail, c.Name)
			}
			require.Subset(t, got, strings.Fields(test.verdicts), stdout)
			require.NoFileExists(t, c.variables[local.VariableState], "doctor starts nothing")

			same, stdout, _ := c.call(t.Context(), append([]string{"doctor"}, test.args...)...)
			require.Equal(t, test.code, same)
			require.NotContains(t, stdout, "sesame")
		})
	}
}
