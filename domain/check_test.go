package domain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

func TestDefinitionCheck(t *testing.T) {
	t.Parallel()
	with := func(change string) domain.Definition {
		d := domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: "f.yaml"}}
		require.NoError(t, json.Unmarshal([]byte(change), &d))
		return d
	}
	require.NoError(t, with(`{}`).Check())
	name, prompt, mode := with(`{}`), with(`{}`), with(`{}`)
	name.Model.Model, prompt.SystemPrompt, mode.Format.Mode = "\xff", "\xff", "x"
	for fault, d := range map[string]domain.Definition{
		"model: has no provider":    with(`{"model":{"provider":""}}`),
		"model: has no name":        with(`{"model":{"model":""}}`),
		"model: is not valid UTF-8": name, "system prompt: is not valid UTF-8": prompt, `response_format.mode: output mode: "x" is`: mode,
		"max_output_tokens: is -1":                  with(`{"model":{"max_output_tokens":-1}}`),
		"attempts: is -1":                           with(`{"attempts":-1}`),
		"base_url: holds a user or password":        with(`{"model":{"base_url":"//me:sesame@host"}}`),
		`base_url: "file:///x" is no address`:       with(`{"model":{"base_url":"file:///x"}}`),
		"inference_timeout: is -1s":                 with(`{"inference_timeout":-1000000000}`),
		"system prompt: has 262145 bytes":           with(`{"system_prompt":"` + strings.Repeat("x", domain.MaxSystemPrompt+1) + `"}`),
		"tool: is empty":                            with(`{"tools":[" "]}`),
		"max_steps: is -1":                          with(`{"budget":{"max_steps":-1}}`),
		"context_window: is -1":                     with(`{"model":{"context_window":-1}}`),
		"hooks: one is empty":                       with(`{"hooks":["a",""]}`),
		"tool_timeout: is -1s":                      with(`{"tool_timeout":-1000000000}`),
		"price.input: is -5 nano-dollars":           with(`{"model":{"price":{"input_nano_usd":-5}}}`),
		"guards.output_retries: is 101":             with(`{"guards":{"output_retries":101}}`),
		"compaction.trigger_percent: is 99":         with(`{"compaction":{"trigger_percent":99}}`),
		"response_format: json_schema needs a name": with(`{"response_format":{"type":"json_schema"}}`),
		"sections: is empty; compiler selected_":    with(`{"compiler":"selected_sections"}`),
	} {
		require.ErrorContains(t, d.Check(), fault, fault)
	}
}

// TestConflicts asks for other values in every field: all but those that are
// given for one execution conflict, each by its key.
func TestConflicts(t *testing.T) {
	t.Parallel()
	var given, none domain.Definition
	fill(reflect.ValueOf(&given).Elem(), "definition")
	conflicts := none.Conflicts(given)
	for i := range reflect.TypeFor[domain.Definition]().NumField() {
		key, _, _ := strings.Cut(reflect.TypeFor[domain.Definition]().Field(i).Tag.Get("json"), ",")
		ofOne := key == "model" || key == "budget" || key == "source"
		require.Equal(t, !ofOne, strings.Contains("; "+conflicts, "; "+key+": the session has none, given is "), key)
	}
	require.Empty(t, given.Conflicts(none), "what is not given asks for nothing")
	require.Empty(t, given.Conflicts(given))
}

func TestCheckPrompt(t *testing.T) {
	t.Parallel()
	require.NoError(t, domain.CheckPrompt(strings.Repeat("x", domain.MaxMessage)))
	require.NoError(t, domain.CheckPrompt(strings.Repeat("a line\n", domain.MaxMessage/7)))
	require.ErrorContains(t, domain.CheckPrompt(strings.Repeat("<", domain.MaxMessage/2)), "when encoded", "a megabyte of markup is six when written")
	for prompt, kind := range map[string]domain.Kind{
		"": domain.Invalid, "\n": domain.Invalid, "a\xff": domain.Invalid, strings.Repeat("x", domain.MaxMessage+1): domain.TooLarge,
	} {
		err := domain.CheckPrompt(prompt)
		require.ErrorContains(t, err, "prompt: ")
		require.Equal(t, kind, domain.AsError(err).Kind)
	}
}

func TestCheckDeadline(t *testing.T) {
	t.Parallel()
	budget := domain.ExecutionBudget{Deadline: new(noon)}
	require.NoError(t, budget.CheckDeadline(noon.Add(-1)))
	require.ErrorContains(t, budget.CheckDeadline(noon), "deadline: 2026-01-02T12:00:00Z has passed")
	require.NoError(t, domain.Unlimited().CheckDeadline(noon))
}

func TestAsError(t *testing.T) {
	t.Parallel()
	own := domain.CodedErrorf(domain.Throttled, domain.CodeQuota, "no money")
	require.Same(t, own, domain.AsError(fmt.Errorf("calling: %w", own)))
	foreign := domain.AsError(errors.New("secret detail"))
	require.Equal(t, domain.Internal, foreign.Kind)
	require.NotContains(t, foreign.Error(), "secret", "texts of others are for operators")
	require.Equal(t, "secret detail", foreign.Detail)
	require.Equal(t, "openai-chat", own.From("openai-chat").Source)
	require.Empty(t, own.Source, "From copies")
	foreign.RetryAfter = time.Hour
	require.JSONEq(t, `{"kind":"internal","message":"internal error"}`, encoded(t, foreign), "nothing for operators is recorded")
}

func TestSpan(t *testing.T) {
	t.Parallel()
	request, err := domain.Decode[contract.StopRequest]([]byte(`{"within":"1m30s"}`))
	require.NoError(t, err)
	require.Equal(t, 90*time.Second, time.Duration(request.Within))
	require.Equal(t, `{"within":"1m30s"}`, encoded(t, request))
	for text, within := range map[string]contract.Span{"0s": contract.AtOnce, "never": 0} {
		request, err := domain.Decode[contract.StopRequest](fmt.Appendf(nil, `{"within":%q}`, text))
		require.NoError(t, err)
		require.Equal(t, within, request.Within, "no time is not none")
		written, err := within.MarshalText()
		require.NoError(t, err)
		require.Equal(t, text, string(written))
	}
	require.JSONEq(t, `{}`, encoded(t, contract.StopRequest{}))
	for _, text := range []string{"-1s", "5", "soon", ""} {
		_, err := domain.Decode[contract.StopRequest](fmt.Appendf(nil, `{"within":%q}`, text))
		require.ErrorContains(t, err, "within: ", text)
		require.ErrorContains(t, err, "write it like 30s", text)
	}
}

func TestLLMConfigEqual(t *testing.T) {
	t.Parallel()
	require.True(t, sampleConfig().Equal(sampleConfig()), "by value, not by pointer")
	require.True(t, domain.LLMConfig{}.Equal(domain.LLMConfig{Options: domain.Metadata{}}))
	other := sampleConfig()
	*other.Temperature = 0.6
	require.False(t, sampleConfig().Equal(other))
	other = sampleConfig()
	other.Options["seed"] = json.RawMessage(`8`)
	require.False(t, sampleConfig().Equal(other))
	require.Equal(t, "scripted/plan.yaml", other.String())
}

func TestShortenLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(0, 40).Draw(t, "n")
		short := domain.Shorten(text, n)
		require.True(t, utf8.ValidString(short))
		require.True(t, strings.HasPrefix(text, short))
		require.LessOrEqual(t, len(short), n)
		require.True(t, len(text) > n || short == text, "what fits stays")
		require.True(t, len(text) <= n || len(short) > n-utf8.UTFMax, "no more is cut than has to be")
	})
}

func TestCheckBaseURL(t *testing.T) {
	t.Parallel()
	for _, fine := range []string{"http://localhost:8080", "https://models.example.com/v1?x=1"} {
		require.Empty(t, domain.CheckBaseURL(fine), fine)
	}
	for text, fault := range map[string]string{
		"https://user@example.com": "holds a user", "https://%zz@example.com": "holds a user", "ftp://example.com": "is no address",
		"https://": "is no address", "models.example.com": "is no address", "https://%zz": "is no address",
	} {
		require.Contains(t, domain.CheckBaseURL(text), fault, text)
	}
	require.NotContains(t, domain.CheckBaseURL("ftp://example.com?key=secret"), "secret")
}

func TestFallbacksAreChecked(t *testing.T) {
	t.Parallel()
	with := func(f domain.Fallback) error {
		return domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: "plan.yaml"}, Fallbacks: []domain.Fallback{f}}.Check()
	}
	other := domain.LLMConfig{Provider: "scripted", Model: "other.yaml"}
	require.NoError(t, with(domain.Fallback{Model: other, On: enum.Known[domain.Failure]()}))
	require.ErrorContains(t, with(domain.Fallback{}), "fallbacks[0]: model: has no provider")
	require.ErrorContains(t, with(domain.Fallback{Model: other, On: []domain.Failure{"rain"}}), "fallbacks[0].on[0]: ")
}

// TestRawJSONIsKeptAsItIsWritten: what a state keeps of raw JSON is what is read
// back of it.
func TestRawJSONIsKeptAsItIsWritten(t *testing.T) {
	t.Parallel()
	for raw, kept := range map[string]string{
		`"plain a/b-c_d.e:f"`: `"plain a/b-c_d.e:f"`, `"<"`: `"\u003c"`, `"a&b"`: `"a\u0026b"`, ` true `: `true`, `true`: `true`, `""`: `""`,
	} {
		s := must(idleState().WithMetadata("a", json.RawMessage(raw), after(1)))
		require.Equal(t, kept, string(s.Metadata["a"]), raw)
		message := domain.Message{Role: domain.RoleUser, Parts: []domain.Part{{Type: domain.PartText, Opaque: json.RawMessage(raw), Data: []byte{}}}}
		s = must(s.WithMessages("raw", []domain.Message{message}, after(2)))
		part := s.Context.MessageStore.Section("raw")[0].Parts[0]
		require.Equal(t, kept, string(part.Opaque), raw)
		require.Nil(t, part.Data, "an empty list is none")
	}
	message := domain.Message{Role: domain.RoleUser, Parts: []domain.Part{{Type: domain.PartText, Data: []byte{}}, {Type: domain.PartText, Text: "a"}}}
	s := must(idleState().WithMessages("raw", []domain.Message{message}, after(2)))
	require.Nil(t, s.Context.MessageStore.Section("raw")[0].Parts[0].Data)
	for _, raw := range []string{`"a`, `a"`, `"`, `"a\"`, `nothing`, `"a"b"`} {
		_, err := idleState().WithMetadata("a", json.RawMessage(raw), after(1))
		require.ErrorContains(t, err, "metadata.a: is not valid JSON", raw)
	}
}

func TestResponseFormatsDifferInEachField(t *testing.T) {
	t.Parallel()
	format := domain.ResponseFormat{Type: domain.FormatSchema, Name: "n", Schema: json.RawMessage(`{}`), Mode: domain.OutputTool}
	same := format
	require.True(t, format.Equal(same))
	for _, change := range []func(*domain.ResponseFormat){
		func(f *domain.ResponseFormat) { f.Type = domain.FormatJSON }, func(f *domain.ResponseFormat) { f.Name = "m" },
		func(f *domain.ResponseFormat) { f.Schema = json.RawMessage(`[]`) }, func(f *domain.ResponseFormat) { f.Mode = "" },
	} {
		other := format
		change(&other)
		require.False(t, format.Equal(other))
	}
}

// TestFailuresThatFallbacksTake names each error as fallbacks do, and whether one
// that lists nothing takes over from it.
func TestFailuresThatFallbacksTake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     *domain.Error
		failure domain.Failure
		taken   bool
	}{
		{domain.CodedErrorf(domain.Invalid, domain.CodeQuota, "x"), domain.FailureQuota, true},
		{domain.CodedErrorf(domain.Invalid, domain.CodeContextOverflow, "x"), domain.FailureContextOverflow, false},
		{domain.CodedErrorf(domain.Invalid, domain.CodeFiltered, "x"), domain.FailureFiltered, false},
		{domain.CodedErrorf(domain.Invalid, domain.CodeGivenUp, "x"), domain.FailureUnavailable, true},
		{domain.Errorf(domain.Throttled, "x"), domain.FailureThrottled, true},
		{domain.Invalidf("x"), "", true},
	} {
		failure, ok := domain.FailureOf(c.err)
		require.Equal(t, c.failure, failure)
		require.Equal(t, c.failure != "", ok)
		if ok {
			require.Equal(t, c.taken, domain.Fallback{}.Takes(failure), failure)
			require.True(t, domain.Fallback{On: []domain.Failure{failure}}.Takes(failure))
			require.False(t, domain.Fallback{On: []domain.Failure{"another"}}.Takes(failure))
		}
	}
}
