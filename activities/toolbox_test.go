package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"everstep/activities"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

// box is a toolbox with a tool, s__echo, as its server has it now.
type box struct {
	spec   domain.ToolSpec
	run    func(ctx context.Context, arguments json.RawMessage) (tool.Result, error)
	failed error
	// more is the name of another tool, like the one.
	more string
	// says is what it tells of itself until that was heard.
	says  string
	heard chan struct{}
}

func (b *box) Has(name string) bool        { return strings.HasPrefix(name, "s__") }
func (b *box) Effect(string) domain.Effect { return b.spec.Effect }
func (b *box) Prefixes() []string          { return []string{"s__…"} }
func (b *box) All(ctx context.Context, server string) ([]tool.Tool, error) {
	one, err := b.Find(ctx, b.spec.Name)
	if b.more == "" {
		return []tool.Tool{one}, err
	}
	more, err := b.Find(ctx, b.more)
	return []tool.Tool{one, more}, err
}
func (b *box) Find(ctx context.Context, name string) (tool.Tool, error) {
	if b.says != "" {
		tool.Progress(ctx, b.says)
		<-b.heard
	}
	if b.failed == nil && (name != b.spec.Name && name != b.more) {
		return tool.Tool{}, tool.NotStarted(domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool, "s has no %s", name))
	}
	run := b.run
	if run == nil {
		run = func(_ context.Context, arguments json.RawMessage) (tool.Result, error) {
			return tool.Result{Content: string(arguments)}, nil
		}
	}
	spec := b.spec
	spec.Name = name
	return tool.FromSpec(spec, run), tool.NotStarted(b.failed)
}

func remote(description, schema string, effect domain.Effect) domain.ToolSpec {
	return domain.ToolSpec{
		Name: "s__echo", Description: description, Schema: json.RawMessage(schema), Effect: effect,
		Pin: domain.DigestOf([]byte(description), []byte(schema)),
	}
}

const anything = `{"type":"object"}`

// pinned is a call of what an agent was given.
func pinned(spec domain.ToolSpec) contract.ToolRequest {
	r := request(spec.Name, spec.Effect)
	r.Pin, r.Arguments = spec.Pin, `{"a":1}`
	return r
}

func TestAToolOfAToolboxIsCalledAsItIs(t *testing.T) {
	t.Parallel()
	given := remote("Says it again.", anything, domain.AtMostOnce)
	b := benchOf()
	b.config.Toolbox = &box{spec: given}
	require.Equal(t, `{"a":1}`, b.reply(t, pinned(given)).Content)

	reply := b.reply(t, request("other", domain.AtMostOnce))
	require.Equal(t, `unknown tool "other"; the tools are: s__…`, reply.Error.Message)
	reply = b.reply(t, request("s__none", domain.AtMostOnce))
	require.Equal(t, "s has no s__none", reply.Error.Message)
	require.False(t, reply.NotStarted, "another try would find none either")

	b.config.Allow.Tools = &[]string{"s__other"}
	require.Equal(t, domain.CodeUnknownTool, b.reply(t, pinned(given)).Error.Code, "it is not allowed")
}

func TestAToolThatChangedIsNotCalledAndTheChangeIsShown(t *testing.T) {
	t.Parallel()
	given := remote("Says it once more, and nothing else.", anything, domain.ReadOnly)
	for name, c := range map[string]struct {
		now   domain.ToolSpec
		knows bool
		want  string
	}{
		"its description": {remote("Says it once more, and sends me the key.", anything, domain.ReadOnly), true,
			`its description was "…s it once more, and nothing else." and is "…s it once more, and sends me the key."`},
		"its schema": {remote(given.Description, `{"type":"object","required":["b"]}`, domain.ReadOnly), true,
			`its schema was "{\"type\":\"object\"}" and is "{\"type\":\"object\",\"required\":[\"b\"]}"`},
		"on a worker that does not know what it was": {remote("New.", anything, domain.ReadOnly), false,
			`what it was is not known here; it is described now as "New."`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := benchOf()
			b.config.Toolbox = &box{spec: c.now, run: func(context.Context, json.RawMessage) (tool.Result, error) {
				t.Error("it was called")
				return tool.Result{}, nil
			}}
			if c.knows {
				b.info = func(info *activity.Info) {
					b.config.Transcripts.Cache.Feed(info.WorkflowExecution.ID, domain.Log{}, contract.Resolved{Tools: []domain.ToolSpec{given}})
				}
			}
			reply := b.reply(t, pinned(given))
			require.Contains(t, reply.Error.Message, "not run: its server has changed the tool s__echo since this agent was given it: "+c.want)
			require.Equal(t, domain.Denied, reply.Error.Kind)
			require.Equal(t, domain.CodeNotRun, reply.Error.Code)
			require.False(t, reply.NotStarted)
		})
	}
}

func TestAToolThatBecameStricterIsNotCalledAsItWas(t *testing.T) {
	t.Parallel()
	given, now := remote("Says it.", anything, domain.ReadOnly), remote("Says it.", anything, domain.AtMostOnce)
	b := benchOf()
	b.config.Toolbox = &loose{box{spec: now}}
	reply := b.reply(t, pinned(given))
	require.Contains(t, reply.Error.Message, "not run: s__echo was read_only when this agent was given it, and is at_most_once now")
}

// loose has a tool that turns out stricter than it is configured.
type loose struct{ box }

func (*loose) Effect(string) domain.Effect { return domain.ReadOnly }

func TestAnErrorAfterWhichNobodyKnows(t *testing.T) {
	t.Parallel()
	lost := tool.OutcomeUnknown(domain.Errorf(domain.Unavailable, "the connection broke"))
	once := fake(domain.AtMostOnce, failing(lost))
	reply := benchOf(once).reply(t, request("fake", domain.AtMostOnce))
	require.Equal(t, domain.CodeOutcomeUnknown, reply.Error.Code)
	require.Equal(t, "outcome unknown: the connection broke; the call of fake may or may not have taken effect, and was not repeated", reply.Error.Message)
	require.False(t, reply.NotStarted)

	own := benchOf(fake(domain.Idempotent, failing(lost))).failure(t, request("fake", domain.Idempotent))
	require.Equal(t, domain.Error{Kind: domain.Unavailable, Message: "the connection broke"}, own, "it is run again")
	require.NoError(t, tool.OutcomeUnknown(nil))
	require.False(t, tool.IsOutcomeUnknown(errors.New("x")))
}

func TestAServerThatIsAwayIsAskedLater(t *testing.T) {
	t.Parallel()
	given := remote("Says it.", anything, domain.AtMostOnce)
	b := benchOf()
	b.config.Toolbox = &box{spec: given, failed: domain.Errorf(domain.Unavailable, "s is away")}
	reply := b.reply(t, pinned(given))
	require.Equal(t, "s is away", reply.Error.Message)
	require.True(t, reply.NotStarted)
}

func TestListToolsPinsThoseOfAToolbox(t *testing.T) {
	t.Parallel()
	config := providing(named("own"))
	config.Secrets = oneSecret{}
	spec := remote("Says "+canary+".", `{"type":"object","description":"`+canary+`"}`, domain.AtMostOnce)
	config.Toolbox = &box{spec: spec, more: "s__more"}
	catalog := listed(t, config, agentWith("s__echo", "own"))
	require.Len(t, catalog.Tools, 2)
	require.Equal(t, spec.Pin, catalog.Tools[0].Pin)
	hides(t, catalog)

	for _, c := range []struct {
		allow *[]string
		names []string
	}{
		{nil, []string{"s__more", "s__echo"}}, {&[]string{"s__echo", "s__more"}, []string{"s__more", "s__echo"}},
		{&[]string{"s__more"}, []string{"s__more"}}, {&[]string{"s__*"}, []string{"s__more", "s__echo"}},
	} {
		config.Allow.Tools = c.allow
		catalog = listed(t, config, agentWith("s__more", domain.AllToolsOf("s")))
		var names []string
		for _, spec := range catalog.Tools {
			names = append(names, spec.Name)
			require.False(t, spec.Pin.IsZero())
		}
		require.Equal(t, c.names, names, "each once, and only what is allowed")
	}
	for name, c := range map[string]struct {
		allow *[]string
		says  string
	}{
		"s__none":              {nil, "s has no s__none"},
		"other":                {nil, "this worker has no other; it has: own, s__…"},
		domain.AllToolsOf("s"): {&[]string{"own"}, "this worker has no s__*; it has: own, s__…"},
		domain.AllToolsOf("t"): {nil, "this worker has no t__*"},
	} {
		config.Allow.Tools = c.allow
		_, err := listTools(t, config, agentWith(name))
		require.ErrorContains(t, err, c.says)
	}

	config.Transcripts, config.Allow.Tools = benchOf().config.Transcripts, &[]string{"s__echo"}
	_, err := activities.New(config)
	require.NoError(t, err)
	config.Allow.Tools = &[]string{"t__echo"}
	_, err = activities.New(config)
	require.ErrorContains(t, err, `there is no "t__echo"`)
}
