package hook_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// given makes a hook at before_step.
func given(name string, version, priority int, always bool) hook.Hook {
	h := hook.BeforeStep(name, same[hook.Nothing])
	h.Version, h.Priority, h.Always = version, priority, always
	return h
}

func setOf(t *testing.T, hooks ...hook.Hook) hook.Set {
	t.Helper()
	set, err := hook.NewSet(hooks...)
	require.NoError(t, err)
	return set
}

func TestNewSetReportsAll(t *testing.T) {
	t.Parallel()
	_, err := hook.NewSet(
		given("a", 1, 0, false), given("", 1, 0, false), given("a", 1, 5, true), given("b", 0, 0, false), given("a", 2, 0, false),
		hook.AfterStep("a", same[hook.Nothing]), hook.IO(domain.TriggerBeforeStep, "a", nothing),
	)
	require.ErrorContains(t, err, "name: is empty")
	require.ErrorContains(t, err, `hook "b": version: is 0`)
	require.ErrorContains(t, err, `hook "a": version 1 is registered twice for before_step; give one another version or name`)
	require.NotContains(t, err.Error(), "after_step", "one name at two triggers is fine")
	require.NotContains(t, err.Error(), "version 2")
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	require.Len(t, joined.Unwrap(), 4)
	setOf(t)
	setOf(t, every()...)
}

func TestResolve(t *testing.T) {
	t.Parallel()
	set := setOf(
		t, given("low", 1, -1, false), given("first", 1, 0, false), given("second", 1, 0, false), given("high", 3, 9, false),
		given("high", 1, 99, false), hook.AfterStep("first", same[hook.Nothing]), given("all", 1, 0, true),
		given("once", 1, 0, true), given("once", 2, 0, false), given("later", 1, 0, false), given("later", 2, 0, true),
	)
	type row struct {
		name    string
		version int
		at      domain.Trigger
	}
	step, after := domain.TriggerBeforeStep, domain.TriggerAfterStep
	always := []row{{"all", 1, step}, {"later", 2, step}}
	for name, c := range map[string]struct {
		names []string
		want  []row
	}{
		"nothing listed: those for all": {nil, always},
		"by priority, then registration": {[]string{"second", "low", "first", "high"}, []row{
			{"high", 3, step}, {"first", 1, step}, {"second", 1, step}, {"first", 1, after}, {"all", 1, step}, {"later", 2, step}, {"low", 1, step},
		}},
		"listed twice, and for all besides": {[]string{"all", "all"}, always},
		"the newest alone":                  {[]string{"once"}, []row{{"all", 1, step}, {"once", 2, step}, {"later", 2, step}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			specs, err := set.Resolve(c.names)
			require.NoError(t, err)
			var got []row
			for _, s := range specs {
				got = append(got, row{s.Name, s.Version, s.Trigger})
				h, err := set.Find(s)
				require.NoError(t, err)
				require.Equal(t, s, h.Spec())
			}
			require.Equal(t, c.want, got)
		})
	}
	specs, err := setOf(t).Resolve(nil)
	require.NoError(t, err)
	require.Empty(t, specs)
}

func TestResolveUnknown(t *testing.T) {
	t.Parallel()
	_, err := setOf(t, given("a", 1, 0, false), given("a", 2, 0, false), given("b", 1, 0, false)).Resolve([]string{"a", "c", "d"})
	require.EqualError(t, err, "hooks: this worker has no c, d; it has: a, b")
	require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
	_, err = setOf(t).Resolve([]string{"c"})
	require.EqualError(t, err, "hooks: this worker has no c; it has: none")
	_, err = hook.Set{}.Resolve([]string{"c"})
	require.EqualError(t, err, "hooks: this worker has no c; it has: none")
}

func TestFind(t *testing.T) {
	t.Parallel()
	set := setOf(t, given("a", 1, 0, false), given("a", 3, 5, false), hook.IO(domain.TriggerOnStop, "io", nothing))
	for name, spec := range map[string]contract.HookSpec{
		"an old version":   {Name: "a", Version: 1, Trigger: domain.TriggerBeforeStep},
		"another priority": {Name: "a", Version: 3, Trigger: domain.TriggerBeforeStep, Priority: -7},
		"an activity":      {Name: "io", Version: 1, Trigger: domain.TriggerOnStop, IO: true, Attempts: 9},
	} {
		h, err := set.Find(spec)
		require.NoError(t, err, name)
		require.Equal(t, spec.Version, h.Version, name)
		require.Equal(t, spec.Trigger, h.Trigger(), name)
	}
	for fault, spec := range map[string]contract.HookSpec{
		`hook "a", version 2, at before_step: the execution uses it, and this worker has version 1, 3; run a worker that has it`: {Name: "a", Version: 2, Trigger: domain.TriggerBeforeStep},
		`hook "a", version 1, at after_step: the execution uses it, and this worker has none of that name there`:                 {Name: "a", Version: 1, Trigger: domain.TriggerAfterStep},
		`hook "b", version 1, at before_step: the execution uses it, and this worker has none`:                                   {Name: "b", Version: 1, Trigger: domain.TriggerBeforeStep},
		`hook "io", version 1, at on_stop: the execution uses it inside the workflow`:                                            {Name: "io", Version: 1, Trigger: domain.TriggerOnStop},
		`hook "a", version 1, at before_step: the execution uses it as an activity`:                                              {Name: "a", Version: 1, Trigger: domain.TriggerBeforeStep, IO: true},
	} {
		_, err := set.Find(spec)
		require.ErrorContains(t, err, fault)
		require.Equal(t, domain.CodeHookFailed, domain.AsError(err).Code)
	}
}
