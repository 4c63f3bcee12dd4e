package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities"
	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/contract"
)

// What a worker is for holds at each of its doors: whoever reaches the namespace may
// schedule an activity without having asked what a definition means.
func TestWorkerDoesWhatItIsForOnly(t *testing.T) {
	t.Parallel()
	model := domain.LLMConfig{Provider: "fake", Model: "m"}
	reviewer := domain.Definition{
		Model: model, Fallbacks: []domain.Fallback{{Model: domain.LLMConfig{Provider: "fake", Model: "other"}}},
		SystemPrompt: "be brief", Tools: []string{"read"}, Budget: domain.ExecutionBudget{MaxSteps: new(int64(5))}, Source: "reviewer.yaml",
	}
	changed := func(change func(*domain.Definition)) domain.Definition {
		own := reviewer
		change(&own)
		return own
	}
	agents := activities.Allow{Agents: &[]domain.Definition{{Model: model, SystemPrompt: "another"}, reviewer}}
	for name, test := range map[string]struct {
		allow      activities.Allow
		definition domain.Definition
		wrong      string
	}{
		"nothing said":                   {definition: reviewer},
		"its tools":                      {allow: activities.Allow{Tools: &[]string{"read", "list"}}, definition: reviewer},
		"another tool":                   {allow: activities.Allow{Tools: &[]string{"list"}}, definition: reviewer, wrong: "has no read; it has: list"},
		"no tools":                       {allow: activities.Allow{Tools: &[]string{}}, definition: reviewer, wrong: "it has: none"},
		"no models":                      {allow: activities.Allow{Models: new([]string)}, definition: reviewer, wrong: "does not ask fake/m; it asks none"},
		"its model":                      {allow: activities.Allow{Models: &[]string{"x/y", "fake/*"}}, definition: reviewer},
		"the model's name":               {allow: activities.Allow{Models: &[]string{"fake/m", "fake/other"}}, definition: reviewer},
		"a fallback":                     {allow: activities.Allow{Models: &[]string{"fake/m"}}, definition: reviewer, wrong: "fallbacks[0]: model: this worker does not ask fake/other; it asks fake/m"},
		"another model":                  {allow: activities.Allow{Models: &[]string{"fake/", "ake/*"}}, definition: reviewer, wrong: "does not ask fake/m"},
		"its agent":                      {allow: agents, definition: reviewer},
		"from another file":              {allow: agents, definition: changed(func(d *domain.Definition) { d.Source = "" })},
		"with less to spend":             {allow: agents, definition: changed(func(d *domain.Definition) { d.Budget.MaxSteps = new(int64(4)) })},
		"with a budget over the session": {allow: agents, definition: changed(func(d *domain.Definition) { d.SessionBudget.MaxSteps = new(int64(4)) })},
		"without the one that it has": {allow: activities.Allow{Agents: &[]domain.Definition{changed(func(d *domain.Definition) { d.SessionBudget.MaxSteps = new(int64(4)) })}},
			definition: reviewer, wrong: "none of the agents"},
		"with more to spend":   {allow: agents, definition: changed(func(d *domain.Definition) { d.Budget.MaxSteps = new(int64(6)) }), wrong: "none of the agents"},
		"without a limit":      {allow: agents, definition: changed(func(d *domain.Definition) { d.Budget = domain.ExecutionBudget{} }), wrong: "none of the agents"},
		"under its fallback":   {allow: agents, definition: changed(func(d *domain.Definition) { d.Model = d.Fallbacks[0].Model })},
		"under another model":  {allow: agents, definition: changed(func(d *domain.Definition) { d.Model.Model = "dear" }), wrong: "none of the agents"},
		"with another prompt":  {allow: agents, definition: changed(func(d *domain.Definition) { d.SystemPrompt = "obey" }), wrong: "none of the agents"},
		"with another's tools": {allow: agents, definition: changed(func(d *domain.Definition) { d.Tools = nil }), wrong: "none of the agents"},
		"no agents":            {allow: activities.Allow{Agents: new([]domain.Definition)}, definition: reviewer, wrong: "none of the agents"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := answeringBench("hello", domain.Usage{InputTokens: 1, OutputTokens: 1})
			b.allow = activities.Allow{Models: test.allow.Models, Agents: test.allow.Agents}
			b.resolved.Definition = test.definition
			_, listed := listTools(t, activities.Config{
				Providers: map[string]inference.Provider{"fake": checker{}}, Tools: []tool.Tool{named("read"), named("list")}, Allow: test.allow,
			}, test.definition)
			if test.wrong == "" {
				require.NoError(t, listed)
				b.reply(t)
				return
			}
			require.ErrorContains(t, listed, test.wrong)
			if test.allow.Tools == nil && name != "a fallback" {
				failed, own := b.failure(t)
				require.True(t, failed.NonRetryable())
				require.Equal(t, domain.Denied, own.Kind)
				require.Contains(t, own.Message, test.wrong)
				require.Empty(t, b.called.Messages, "nothing is sent")
			}
		})
	}

	for name, allow := range map[string]activities.Allow{"by its name": {Tools: &[]string{"list"}}, "by the agents": agents} {
		b := benchOf(named("write"), named("list"), named("read"))
		b.config.Allow = allow
		request := contract.ToolRequest{Name: "write", Effect: domain.ReadOnly, Arguments: "{}"}
		reply, err := b.call(t, request)
		require.NoError(t, err, name)
		require.Equal(t, domain.CodeUnknownTool, reply.Error.Code, name)
		require.NotContains(t, reply.Content, "write,", name)
	}
	_, err := activities.New(activities.Config{Transcripts: &transcript.Source{}, Allow: activities.Allow{Tools: &[]string{"raed"}}, Tools: []tool.Tool{named("read")}})
	require.ErrorContains(t, err, `--allow-tools (EVERSTEP_ALLOW_TOOLS): there is no "raed"; the tools are: read`)
	require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
}

// Whoever starts an agent may give it messages, and so could instruct it past its definition.
func TestOnlyItsDefinitionInstructsAnAgentThatIsServed(t *testing.T) {
	t.Parallel()
	reviewer := domain.Definition{Model: domain.LLMConfig{Provider: "fake", Model: "m"}, SystemPrompt: "be brief"}
	for _, role := range []domain.Role{domain.RoleUser, domain.RoleSystem, domain.RoleDeveloper} {
		for name, allow := range map[string]activities.Allow{"all": {}, "this agent": {Agents: &[]domain.Definition{reviewer}}} {
			b := answeringBench("hello", domain.Usage{InputTokens: 1, OutputTokens: 1})
			b.resolved.Definition, b.allow = reviewer, allow
			given := domain.UserMessage("obey")
			given.Role = role
			b.log = b.log.Append("", given, domain.DigestOf([]byte(role)))
			if role == domain.RoleUser || name == "all" {
				b.reply(t)
				continue
			}
			failed, own := b.failure(t)
			require.True(t, failed.NonRetryable())
			require.Equal(t, domain.Denied, own.Kind)
			require.Contains(t, own.Message, "is of role "+string(role))
			require.Empty(t, b.called.Messages, "nothing is sent")
		}
	}
}
