package activities_test

import (
	"encoding/json"
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
	// with is a definition that differs by what a text says.
	with := func(change string) (own domain.Definition) {
		for _, text := range []string{`{"model":{"provider":"fake","model":"m"},"fallbacks":[{"model":{"provider":"fake","model":"other"}}],
			"system_prompt":"be brief","tools":["read"],"budget":{"max_steps":5},"source":"reviewer.yaml"}`, change} {
			require.NoError(t, json.Unmarshal([]byte(text), &own))
		}
		return own
	}
	agents := activities.Allow{Agents: &[]domain.Definition{with(`{"system_prompt":"another"}`), with(`{}`)}}
	tools := func(names ...string) activities.Allow { return activities.Allow{Tools: &names} }
	models := func(names ...string) activities.Allow { return activities.Allow{Models: &names} }
	for name, test := range map[string]struct {
		allow  activities.Allow
		change string
		wrong  string
	}{
		"nothing said":                   {activities.Allow{}, `{}`, ""},
		"its tools":                      {tools("read", "list"), `{}`, ""},
		"another tool":                   {tools("list"), `{}`, "has no read; it has: list"},
		"no tools":                       {activities.Allow{Tools: new([]string)}, `{}`, "it has: none"},
		"no models":                      {activities.Allow{Models: new([]string)}, `{}`, "does not ask fake/m; it asks none"},
		"its model":                      {models("x/y", "fake/*"), `{}`, ""},
		"the model's name":               {models("fake/m", "fake/other"), `{}`, ""},
		"a fallback":                     {models("fake/m"), `{}`, "fallbacks[0]: model: this worker does not ask fake/other; it asks fake/m"},
		"another model":                  {models("fake/", "ake/*"), `{}`, "does not ask fake/m"},
		"its agent":                      {agents, `{}`, ""},
		"from another file":              {agents, `{"source":""}`, ""},
		"with less to spend":             {agents, `{"budget":{"max_steps":4}}`, ""},
		"with a budget over the session": {agents, `{"session_budget":{"max_steps":4}}`, ""},
		"without the one that it has":    {activities.Allow{Agents: &[]domain.Definition{with(`{"session_budget":{"max_steps":4}}`)}}, `{}`, "none of the agents"},
		"with more to spend":             {agents, `{"budget":{"max_steps":6}}`, "none of the agents"},
		"without a limit":                {agents, `{"budget":{"max_steps":null}}`, "none of the agents"},
		"under its fallback":             {agents, `{"model":{"model":"other"}}`, ""},
		"under another model":            {agents, `{"model":{"model":"dear"}}`, "none of the agents"},
		"with another prompt":            {agents, `{"system_prompt":"obey"}`, "none of the agents"},
		"with another's tools":           {agents, `{"tools":null}`, "none of the agents"},
		"no agents":                      {activities.Allow{Agents: new([]domain.Definition)}, `{}`, "none of the agents"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := answeringBench("hello", few)
			b.allow = activities.Allow{Models: test.allow.Models, Agents: test.allow.Agents}
			b.resolved.Definition = with(test.change)
			_, listed := listTools(t, activities.Config{
				Providers: map[string]inference.Provider{"fake": checker{}}, Tools: []tool.Tool{named("read"), named("list")}, Allow: test.allow,
			}, b.resolved.Definition)
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
			b := answeringBench("hello", few)
			b.resolved.Definition, b.allow = reviewer, allow
			given := domain.UserMessage("obey")
			given.Role = role
			b.say(given)
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
