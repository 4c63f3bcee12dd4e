package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/worker/host/door"
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
		verdicts  map[string]verdict
	}{
		"nothing there": {
			code: exitDone, variables: map[string]string{variableDir: folder},
			verdicts: map[string]verdict{"configuration": "ok", "server": "warn", "openai": "warn", "openai-chat": "warn", "anthropic": "warn", "gemini": "warn", "model": "ok", "prices": "ok", "storage": "ok", "folder": "ok"},
		},
		"prices of one's own": {
			variables: map[string]string{variablePrices: prices}, code: exitDone, verdicts: map[string]verdict{"prices": "ok"},
		},
		"prices that are not there": {
			variables: map[string]string{variablePrices: prices + "x"}, code: exitOther, verdicts: map[string]verdict{"prices": "fail"},
		},
		"prices with mistakes": {
			variables: map[string]string{variablePrices: spoilt}, code: exitOther, verdicts: map[string]verdict{"prices": "fail"},
		},
		"server not there": {
			args: []string{"--address", "127.0.0.1:1"}, code: exitUnreachable,
			verdicts: map[string]verdict{"configuration": "ok", "server": "fail", "storage": "warn"},
		},
		"dev server too old": {
			variables: map[string]string{variableTemporal: bad}, code: exitOther,
			verdicts: map[string]verdict{"dev server": "fail", "server": "warn"},
		},
		"profile that is not there": {
			args: []string{"--profile", "none"}, code: exitOther, verdicts: map[string]verdict{"configuration": "fail"},
		},
		"wrong model, folder and URL": {
			variables: map[string]string{variableModel: "opnai-chat/x", variableDir: "/nowhere", "OPENAI_BASE_URL": "file:///x"}, code: exitOther,
			verdicts: map[string]verdict{"model": "fail", "folder": "fail", "openai": "fail", "openai-chat": "fail", "gemini": "warn"},
		},
		"a key": {
			variables: map[string]string{"OPENAI_API_KEY": "sk-sesame", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1?key=sesame"}, code: exitDone,
			verdicts: map[string]verdict{"openai": "ok", "openai-chat": "ok", "anthropic": "ok", "gemini": "ok"},
		},
		"a rate limit that is none": {
			variables: map[string]string{"EVERSTEP_RATE_LIMITS": "openai=600"}, code: exitOther, verdicts: map[string]verdict{"providers": "fail"},
		},
		"a key, and another provider by default": {
			variables: map[string]string{"OPENAI_API_KEY": "sk-sesame", variableModel: "anthropic/claude-haiku-4-5"}, code: exitDone,
			verdicts: map[string]verdict{"openai": "ok", "anthropic": "warn", "gemini": "ok"},
		},
		"keys that are none": {
			variables: map[string]string{"OPENAI_API_KEY": "sk-sesame\nx", "ANTHROPIC_API_KEY": "", "GOOGLE_API_KEY": "sk sesame"}, code: exitOther,
			verdicts: map[string]verdict{"openai": "fail", "openai-chat": "fail", "anthropic": "fail", "gemini": "fail"},
		},
		"keys in the wrong places": {
			variables: map[string]string{"OPENAI_API_KEY_FILE": "sk-sesame", "ANTHROPIC_BASE_URL": "sk-sesame", "GEMINI_BASE_URL": "https://sesame@host/"}, code: exitOther,
			verdicts: map[string]verdict{"openai": "fail", "anthropic": "fail", "gemini": "fail"},
		},
		"a proxy": {
			variables: map[string]string{"EVERSTEP_PROXY": "http://user:sesame@host:3128"}, code: exitDone, verdicts: map[string]verdict{"openai": "warn"},
		},
		"a proxy that is none": {
			variables: map[string]string{"EVERSTEP_PROXY": "sesame"}, code: exitOther, verdicts: map[string]verdict{"providers": "fail"},
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
			var checks []check
			require.NoError(t, json.Unmarshal([]byte(stdout), &checks))
			got := make(map[string]verdict)
			for _, c := range checks {
				got[c.Name] = c.Verdict
				require.NotEmpty(t, c.Detail, c.Name)
			}
			for name, want := range test.verdicts {
				require.Equal(t, want, got[name], "%s in %s", name, stdout)
			}
			require.NoFileExists(t, c.variables[variableState], "doctor starts nothing")

			same, stdout, _ := c.call(t.Context(), append([]string{"doctor"}, test.args...)...)
			require.Equal(t, test.code, same)
			require.NotContains(t, stdout, "sesame")
		})
	}
}

// TestDoctorNamesKeys: the line of a provider says where its server is and where
// its key comes from.
func TestDoctorNamesKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte("sk-sesame\n"), 0o600))
	p := &program{env: environment{variables{
		"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1?api-version=1", "ANTHROPIC_API_KEY_FILE": file, "GOOGLE_API_KEY": "sk-sesame",
	}}}
	require.Equal(t, []check{
		ok("openai", "http://127.0.0.1:8000/v1, with no key; it may need none"),
		ok("openai-chat", "http://127.0.0.1:8000/v1, with no key; it may need none"),
		ok("anthropic", "https://api.anthropic.com, with the key in %s (ANTHROPIC_API_KEY_FILE)", file),
		ok("gemini", "https://generativelanguage.googleapis.com/v1beta, with the key in GOOGLE_API_KEY"),
	}, p.checkProviders(stackFlags{})[:4])
	require.Contains(t, p.checkProviders(stackFlags{dir: filepath.Dir(file)})[2].Detail, "where file tools would read the key")
	p.env = environment{variables{}}
	require.Equal(t, ok("gemini", "https://generativelanguage.googleapis.com/v1beta, with no key").
		warn("set GEMINI_API_KEY or GEMINI_API_KEY_FILE or GOOGLE_API_KEY on the worker"), p.checkProviders(stackFlags{})[3])
}

// TestDoctorNamesPrices says which file a worker would read, and what is wrong
// with it.
func TestDoctorNamesPrices(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	p := &program{env: environment{variables{variablePrices: "none.yaml"}}}
	got := p.checkPrices()
	require.Len(t, got, 1)
	require.Equal(t, verdictFail, got[0].Verdict)
	require.Contains(t, got[0].Detail, "EVERSTEP_PRICES: "+filepath.Join(here, "none.yaml")+": cannot be read")

	file := filepath.Join(t.TempDir(), "prices.yaml")
	require.NoError(t, os.WriteFile(file, []byte("models:\n  mine/m: {input: 1.25, output: 10}\n"), 0o600))
	p.env = environment{variables{variablePrices: file}}
	require.Equal(t, []check{ok("prices", "those in %s, and those built in for other models", file)}, p.checkPrices())

	require.NoError(t, os.WriteFile(file, []byte("models:\n  mine/m: {input: cheap, output: 10}\n  mine/n: {inputt: 1}\n"), 0o600))
	wrong := p.checkPrices()
	require.Greater(t, len(wrong), 2, "a line a problem")
	for i, c := range wrong {
		require.Equal(t, verdictFail, c.Verdict)
		require.Regexp(t, `^EVERSTEP_PRICES: .*prices\.yaml:[23]:[0-9]+: `, c.Detail, i)
		require.NotContains(t, c.Detail, "\n")
	}
}

func TestDoctorSeesAnOpenUI(t *testing.T) {
	t.Parallel()
	ui := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	open, behind := httptest.NewServer(ui), httptest.NewServer(door.Door{}.Handler(ui))
	t.Cleanup(open.Close)
	t.Cleanup(behind.Close)
	require.False(t, shut(t.Context(), open.URL))
	require.True(t, shut(t.Context(), behind.URL))
}
