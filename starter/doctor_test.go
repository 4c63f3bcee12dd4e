package main

import (
	"encoding/json"
	"os"
	"path/filepath"
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
	tests := map[string]struct {
		variables map[string]string
		args      []string
		code      int
		verdicts  map[string]local.Verdict
	}{
		"nothing there": {
			code: exitDone, variables: map[string]string{local.VariableDir: folder},
			verdicts: map[string]local.Verdict{"configuration": "ok", "server": "warn", "openai": "warn", "openai-chat": "warn", "anthropic": "warn", "gemini": "warn", "model": "ok", "prices": "ok", "storage": "ok", "folder": "ok"},
		},
		"prices of one's own": {
			variables: map[string]string{local.VariablePrices: prices}, code: exitDone, verdicts: map[string]local.Verdict{"prices": "ok"},
		},
		"prices that are not there": {
			variables: map[string]string{local.VariablePrices: prices + "x"}, code: exitOther, verdicts: map[string]local.Verdict{"prices": "fail"},
		},
		"prices with mistakes": {
			variables: map[string]string{local.VariablePrices: spoilt}, code: exitOther, verdicts: map[string]local.Verdict{"prices": "fail"},
		},
		"server not there": {
			args: []string{"--address", "127.0.0.1:1"}, code: exitUnreachable,
			verdicts: map[string]local.Verdict{"configuration": "ok", "server": "fail", "storage": "warn"},
		},
		"dev server too old": {
			variables: map[string]string{local.VariableTemporal: bad}, code: exitOther,
			verdicts: map[string]local.Verdict{"dev server": "fail", "server": "warn"},
		},
		"profile that is not there": {
			args: []string{"--profile", "none"}, code: exitOther, verdicts: map[string]local.Verdict{"configuration": "fail"},
		},
		"wrong model, folder and URL": {
			variables: map[string]string{local.VariableModel: "opnai-chat/x", local.VariableDir: "/nowhere", "OPENAI_BASE_URL": "file:///x"}, code: exitOther,
			verdicts: map[string]local.Verdict{"model": "fail", "folder": "fail", "openai": "fail", "openai-chat": "fail", "gemini": "warn"},
		},
		"a key": {
			variables: map[string]string{"OPENAI_API_KEY": "sk-sesame", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1?key=sesame"}, code: exitDone,
			verdicts: map[string]local.Verdict{"openai": "ok", "openai-chat": "ok", "anthropic": "ok", "gemini": "ok"},
		},
		"a rate limit that is none": {
			variables: map[string]string{"EVERSTEP_RATE_LIMITS": "openai=600"}, code: exitOther, verdicts: map[string]local.Verdict{"providers": "fail"},
		},
		"a key, and another provider by default": {
			variables: map[string]string{"OPENAI_API_KEY": "sk-sesame", local.VariableModel: "anthropic/claude-haiku-4-5"}, code: exitDone,
			verdicts: map[string]local.Verdict{"openai": "ok", "anthropic": "warn", "gemini": "ok"},
		},
		"keys that are none": {
			variables: map[string]string{"OPENAI_API_KEY": "sk-sesame\nx", "ANTHROPIC_API_KEY": "", "GOOGLE_API_KEY": "sk sesame"}, code: exitOther,
			verdicts: map[string]local.Verdict{"openai": "fail", "openai-chat": "fail", "anthropic": "fail", "gemini": "fail"},
		},
		"keys in the wrong places": {
			variables: map[string]string{"OPENAI_API_KEY_FILE": "sk-sesame", "ANTHROPIC_BASE_URL": "sk-sesame", "GEMINI_BASE_URL": "https://sesame@host/"}, code: exitOther,
			verdicts: map[string]local.Verdict{"openai": "fail", "anthropic": "fail", "gemini": "fail"},
		},
		"a proxy": {
			variables: map[string]string{"EVERSTEP_PROXY": "http://user:sesame@host:3128"}, code: exitDone, verdicts: map[string]local.Verdict{"openai": "warn"},
		},
		"a proxy that is none": {
			variables: map[string]string{"EVERSTEP_PROXY": "sesame"}, code: exitOther, verdicts: map[string]local.Verdict{"providers": "fail"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t)
			for variable, value := range test.variables {
				c.variables[variable] = value
			}
			code, stdout, stderr := c.call(t.Context(), append([]string{"doctor", "--json"}, test.args...)...)
			require.Equal(t, test.code, code, stdout+stderr)
			require.Empty(t, stderr)
			require.NotContains(t, stdout, "sesame", "neither keys nor what may hold them")
			var checks []local.Check
			require.NoError(t, json.Unmarshal([]byte(stdout), &checks))
			got := make(map[string]local.Verdict)
			for _, c := range checks {
				got[c.Name] = c.Verdict
				require.NotEmpty(t, c.Detail, c.Name)
			}
			for name, want := range test.verdicts {
				require.Equal(t, want, got[name], "%s in %s", name, stdout)
			}
			require.NoFileExists(t, c.variables[local.VariableState], "doctor starts nothing")

			same, stdout, _ := c.call(t.Context(), append([]string{"doctor"}, test.args...)...)
			require.Equal(t, test.code, same)
			require.NotContains(t, stdout, "sesame")
		})
	}
}
