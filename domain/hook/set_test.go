package hook_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// given makes a hook at before_step.
func given(name string, priority int, always bool) hook.Hook {
	h := hook.BeforeStep(name, same[hook.Nothing])
	h.Priority, h.Always = priority, always
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
		given("a", 0, false), given("", 0, false), given("a", 5, true), given("b", 0, false),
		hook.AfterStep("a", same[hook.Nothing]), hook.IO(domain.TriggerBeforeStep, "a", nothing),
	)
	require.ErrorContains(t, err, "name: is empty")
	require.ErrorContains(t, err, `hook "a": is registered twice for before_step; give one another name`)
	require.NotContains(t, err.Error(), "after_step", "one name at two triggers is fine")
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	require.Len(t, joined.Unwrap(), 3)
	setOf(t)
	setOf(t, every()...)
}

func TestResolve(t *testing.T) {
	t.Parallel()
	set := setOf(
		t, given("low", -1, false), given("first", 0, false), given("second", 0, false), given("high", 9, false),
		hook.AfterStep("first", same[hook.Nothing]), given("all", 0, true), given("other", 99, false),
	)
	type row struct {
		name string
		at   domain.Trigger
	}
	step, after := domain.TriggerBeforeStep, domain.TriggerAfterStep
	always := []row{{"all", step}}
	for name, c := range map[string]struct {
		names []string
		want  []row
	}{
		"nothing listed: those for all": {nil, always},
		"by priority, then registration": {[]string{"second", "low", "first", "high"}, []row{
			{"high", step}, {"first", step}, {"second", step}, {"first", after}, {"all", step}, {"low", step},
		}},
		"listed twice, and for all besides": {[]string{"all", "all"}, always},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			specs, err := set.Resolve(c.names)
			require.NoError(t, err)
			var got []row
			for _, s := range specs {
				got = append(got, row{s.Name, s.Trigger})
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
	_, err := setOf(t, given("a", 0, false), hook.AfterStep("a", same[hook.Nothing]), given("b", 0, false)).Resolve([]string{"a", "c", "d"})
	require.EqualError(t, err, "hooks: this worker has no c, d; it has: a, b")
	require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
	_, err = setOf(t).Resolve([]string{"c"})
	require.EqualError(t, err, "hooks: this worker has no c; it has: none")
	_, err = hook.Set{}.Resolve([]string{"c"})
	require.EqualError(t, err, "hooks: this worker has no c; it has: none")
}

func TestFind(t *testing.T) {
	t.Parallel()
	set := setOf(t, given("a", 5, false), hook.IO(domain.TriggerOnStop, "io", nothing))
	for name, spec := range map[string]contract.HookSpec{
		"another priority": {Name: "a", Trigger: domain.TriggerBeforeStep, Priority: -7},
		"an activity":      {Name: "io", Trigger: domain.TriggerOnStop, IO: true, Attempts: 9},
	} {
		h, err := set.Find(spec)
		require.NoError(t, err, name)
		require.Equal(t, spec.Trigger, h.Trigger(), name)
	}
	for fault, spec := range map[string]contract.HookSpec{
		`hook "a" at after_step: the execution uses it, and this worker has none of that name there; run a worker that has it`: {Name: "a", Trigger: domain.TriggerAfterStep},
		`hook "b" at before_step: the execution uses it, and this worker has none`:                                             {Name: "b", Trigger: domain.TriggerBeforeStep},
		`hook "io" at on_stop: the execution uses it inside the workflow, and this worker has it as an activity`:               {Name: "io", Trigger: domain.TriggerOnStop},
		`hook "a" at before_step: the execution uses it as an activity, and this worker has it inside the workflow`:            {Name: "a", Trigger: domain.TriggerBeforeStep, IO: true},
	} {
		_, err := set.Find(spec)
		require.ErrorContains(t, err, fault)
		require.Equal(t, domain.CodeHookFailed, domain.AsError(err).Code)
	}
}
