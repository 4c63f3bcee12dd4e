package activities_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"gocloud.dev/blob/memblob"

	"everstep/activities"
	"everstep/activities/inference"
	"everstep/activities/modelfacts"
	"everstep/activities/tool"
	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// checker is a provider that only knows whether a model can be used.
type checker struct {
	inference.Provider
	refusal error
}

func (c checker) Check(_ context.Context, config domain.LLMConfig) error { return c.refusal }
func (c checker) MinOutputTokens() int64                                 { return 16 }

// providing is a worker that has a provider, p.
func providing(tools ...tool.Tool) activities.Config {
	return activities.Config{Providers: map[string]inference.Provider{"p": checker{}}, Tools: tools}
}

// agentWith is one that asks the provider p and has tools.
func agentWith(tools ...string) domain.Definition {
	return domain.Definition{Model: domain.LLMConfig{Provider: "p", Model: "m"}, Tools: tools}
}

func named(name string) tool.Tool {
	return tool.New(name, "does "+name, domain.ReadOnly, func(context.Context, struct{}) (string, error) { return "", nil })
}

func listTools(t *testing.T, config activities.Config, definition domain.Definition) (contract.Resolved, error) {
	t.Helper()
	return answerOf(t, config, contract.ResolveRequest{Definition: definition})
}

// listed is what a worker resolves a definition to.
func listed(t *testing.T, config activities.Config, definition domain.Definition) contract.Resolved {
	t.Helper()
	resolved, err := listTools(t, config, definition)
	require.NoError(t, err)
	return resolved
}

func answerOf(t *testing.T, config activities.Config, request contract.ResolveRequest) (contract.Resolved, error) {
	t.Helper()
	config.Transcripts = &transcript.Source{}
	a, err := activities.New(config)
	require.NoError(t, err)
	return outcomeOf(t, plainEnvironment(), a, contract.ListTools, request)
}

func TestListTools(t *testing.T) {
	t.Parallel()
	config, definition := providing(named("a"), named("b"), named("c")), agentWith("c", "a", "c")
	catalog := listed(t, config, definition)
	require.Equal(t, []domain.ToolSpec{named("c").Spec(), named("a").Spec()}, catalog.Tools, "in the order of the definition, each once")
	require.False(t, catalog.Storage)
	require.EqualValues(t, 16, catalog.MinOutputTokens)
	require.False(t, catalog.Digest.IsZero())

	again := listed(t, config, definition)
	require.Equal(t, catalog, again)

	other := domain.DigestOf([]byte("what the session made of it"))
	for known, request := range map[bool]contract.ResolveRequest{
		true: {Definition: definition, Listed: catalog.Digest}, false: {Definition: definition, Listed: other},
	} {
		answer, err := answerOf(t, config, request)
		require.NoError(t, err)
		require.Equal(t, known, answer.Unchanged, "what the worker itself has said counts")
	}

	config.Timing = contract.TimingOf(false)
	timed := listed(t, config, definition)
	require.Equal(t, config.Timing, timed.Timing, "the worker says what fits its way to the server")
	require.Equal(t, catalog.Digest, timed.Digest)

	config.Storage = memblob.OpenBucket(nil)
	stored := listed(t, config, definition)
	require.True(t, stored.Storage)

	definition.SystemPrompt = "be brief"
	prompted := listed(t, config, definition)

	config.Tools[0] = tool.New("a", "does something else", domain.ReadOnly, func(context.Context, struct{}) (string, error) { return "", nil })
	changed := listed(t, config, definition)
	digests := map[domain.Digest]bool{catalog.Digest: true, stored.Digest: true, prompted.Digest: true, changed.Digest: true}
	require.Len(t, digests, 4, "whatever decides how the agent runs is in the digest")
}

// slow is a provider whose key is long in coming.
type slow struct {
	checker
	until <-chan struct{}
}

func (w slow) Check(context.Context, domain.LLMConfig) error {
	select {
	case <-w.until:
		return nil
	case <-time.After(time.Minute):
		return domain.Errorf(domain.Unavailable, "nothing was heard of it")
	}
}

// TestListToolsSaysThatItIsAtIt: a server that hears nothing gives it up for lost.
func TestListToolsSaysThatItIsAtIt(t *testing.T) {
	t.Parallel()
	heard := make(chan struct{})
	a, err := activities.New(activities.Config{
		Transcripts: &transcript.Source{}, Providers: map[string]inference.Provider{"p": slow{until: heard}},
	})
	require.NoError(t, err)
	env := plainEnvironment()
	var once sync.Once
	env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { once.Do(func() { close(heard) }) })
	_, err = outcomeOf(t, env, a, contract.ListTools, contract.ResolveRequest{Definition: agentWith()})
	require.NoError(t, err)
}

// TestWhatToolsAreWaitedForIsTold with the heartbeats, without the worker's secrets.
func TestWhatToolsAreWaitedForIsTold(t *testing.T) {
	t.Parallel()
	toolbox := &box{spec: remote("echoes", `{"type":"object"}`, domain.ReadOnly), says: "MCP server s is silent: " + canary, heard: make(chan struct{})}
	a, err := activities.New(activities.Config{
		Providers: map[string]inference.Provider{"p": checker{}}, Toolbox: toolbox, Transcripts: &transcript.Source{}, Secrets: oneSecret{},
	})
	require.NoError(t, err)
	env := plainEnvironment()
	var once sync.Once
	var beat contract.Heartbeat
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		once.Do(func() {
			err = details.Get(&beat)
			close(toolbox.heard)
		})
	})
	_, unlisted := outcomeOf(t, env, a, contract.ListTools, contract.ResolveRequest{Definition: agentWith("s__echo")})
	require.NoError(t, cmp.Or(err, unlisted))
	require.Equal(t, &contract.Progress{Tool: "tools", Text: "MCP server s is silent: [hidden]"}, beat.Progress)
}

// hooks is a set with hooks of the names, at one trigger each.
func hooks(t *testing.T, names ...string) hook.Set {
	t.Helper()
	var all []hook.Hook
	for _, name := range names {
		all = append(all, hook.BeforeStep(name, func(p hook.Point) (hook.Point, error) { return p, nil }))
	}
	set, err := hook.NewSet(all...)
	require.NoError(t, err)
	return set
}

// all is a compiler of one's own.
func all(entries []domain.Entry) []domain.Message {
	var messages []domain.Message
	for _, e := range entries {
		messages = append(messages, e.Message)
	}
	return messages
}

func TestListToolsResolves(t *testing.T) {
	t.Parallel()
	known := modelfacts.Facts{Price: &domain.Price{Input: 5, Output: 10}, ContextWindow: 1000, MaxOutputTokens: 100}
	config := providing()
	config.Hooks, config.Compilers = hooks(t, "gate", "audit"), map[string]activities.Compiler{"mine": all}
	config.Facts = func(model domain.LLMConfig) (modelfacts.Facts, bool) { return known, model.Model == "known" }
	catalog := listed(t, config, domain.Definition{
		Model: domain.LLMConfig{Provider: "p", Model: "known"}, Hooks: []string{"audit"}, Compiler: "mine",
		Guards: domain.Guards{OutputRetries: new(0)}, Compaction: domain.Compaction{TriggerPercent: 50},
	})
	require.Equal(t, []contract.HookSpec{{Name: "audit", Trigger: domain.TriggerBeforeStep}}, catalog.Hooks)
	require.Equal(t, domain.Guards{Repetition: &domain.Repetition{Nudge: 5, Stop: 10}, OutputRetries: new(0)}, *catalog.Guards, "defaults are recorded")
	require.Equal(t, domain.Compaction{TriggerPercent: 50, TargetPercent: 25}, *catalog.Compaction)
	require.Equal(t, known.Price, catalog.Price)
	require.EqualValues(t, 1000, catalog.ContextWindow)
	require.EqualValues(t, 100, catalog.MaxOutputTokens)
	require.Empty(t, catalog.OutputMode, "there is no response format")

	own := domain.LLMConfig{Provider: "p", Model: "known", Price: &domain.Price{}, ContextWindow: 8, MaxOutputTokens: 4}
	given := listed(t, config, domain.Definition{Model: own})
	require.Equal(t, &domain.Price{}, given.Price, "what the definition says comes first, a price of nothing too")
	require.EqualValues(t, 8, given.ContextWindow)
	require.EqualValues(t, 4, given.MaxOutputTokens)

	unknown := listed(t, config, domain.Definition{Model: domain.LLMConfig{Provider: "p", Model: "unknown"}})
	require.Nil(t, unknown.Price, "never guessed")
	require.Zero(t, unknown.ContextWindow)
	require.Len(t, map[domain.Digest]bool{catalog.Digest: true, given.Digest: true, unknown.Digest: true}, 3)
}

func TestListToolsRefuses(t *testing.T) {
	t.Parallel()
	var huge []tool.Tool
	var names []string
	for i := range 4 {
		name := fmt.Sprintf("huge%d", i)
		huge = append(huge, tool.FromSpec(domain.ToolSpec{Name: name, Description: strings.Repeat("x", 400_000)}, func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{}, nil
		}))
		names = append(names, name)
	}
	refusing := func(err error) activities.Config {
		return activities.Config{Providers: map[string]inference.Provider{"p": checker{refusal: err}}}
	}
	for _, c := range []struct {
		name       string
		config     activities.Config
		definition domain.Definition
		kind       domain.Kind
		code       domain.Code
		text       string
	}{
		{"unknown tools", activities.Config{Tools: []tool.Tool{named("a"), named("b")}}, domain.Definition{Tools: []string{"x", "a", "y"}},
			domain.Invalid, domain.CodeUnknownTool, "tools: this worker has no x, y; it has: a, b"},
		{"no tools at all", activities.Config{}, domain.Definition{Tools: []string{"x"}},
			domain.Invalid, domain.CodeUnknownTool, "tools: this worker has no x; it has: none"},
		{"unknown provider", activities.Config{Providers: map[string]inference.Provider{"q": checker{}, "p": checker{}}}, domain.Definition{Model: domain.LLMConfig{Provider: "r"}},
			domain.Unavailable, domain.CodeModelNotFound, `model: no provider "r" on this worker; the providers are: p, q`},
		{"refused model", refusing(domain.CodedErrorf(domain.Denied, domain.CodeAuth, "no key")), agentWith(),
			domain.Denied, domain.CodeAuth, "no key"},
		{"a vault that is down", refusing(domain.Errorf(domain.Unavailable, "vault is down")), agentWith(),
			domain.Unavailable, "", "vault is down"},
		{"unknown hooks", activities.Config{Hooks: hooks(t, "audit", "gate")}, domain.Definition{Hooks: []string{"gaet", "audit"}},
			domain.Unavailable, "", "hooks: this worker has no gaet; it has: audit, gate"},
		{"unknown compiler", activities.Config{Compilers: map[string]activities.Compiler{"newest": all, "mine": all}}, domain.Definition{Compiler: "newst"},
			domain.Unavailable, "", `compiler: this worker has no "newst"; it has: whole_conversation, current_trace, selected_sections, mine, newest`},
		{"tools too large", providing(huge...), agentWith(names...),
			domain.TooLarge, "", "the definition and its 4 tools take 1600"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := listTools(t, c.config, c.definition)
			app, own := failureOf(t, err)
			lacks := strings.HasPrefix(c.name, "unknown") && c.code != domain.CodeUnknownTool
			require.Equal(t, !c.kind.Retryable() || lacks, app.NonRetryable(), "the workflow asks another worker")
			require.Equal(t, string(c.kind), app.Type())
			require.Equal(t, c.code, own.Code)
			require.Equal(t, lacks, own.Lacking)
			require.Equal(t, lacks, strings.HasPrefix(own.Message, "worker "))
			require.Contains(t, own.Message, c.text)
		})
	}
}

// TestListToolsApprovals says which approvals hold where the definition has none, as the worker was told.
func TestListToolsApprovals(t *testing.T) {
	t.Parallel()
	config, definition := providing(), agentWith()
	catalog := listed(t, config, definition)
	require.Equal(t, domain.DefaultApprovals(), catalog.Approvals)
	config.Approvals = domain.ApprovalsOf("allow")
	catalog = listed(t, config, definition)
	require.Equal(t, domain.ApprovalsOf("allow"), catalog.Approvals)
	definition.Approvals = domain.ApprovalsOf("ask")
	catalog = listed(t, config, definition)
	require.Nil(t, catalog.Approvals, "the definition's own hold")
}
