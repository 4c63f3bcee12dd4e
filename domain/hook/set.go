package hook

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Set is the hooks that a worker has. It never changes.
type Set struct{ hooks []Hook }

// NewSet checks hooks and reports all that is wrong with them.
func NewSet(hooks ...Hook) (Set, error) {
	var wrong []error
	seen := make(map[key]bool, len(hooks))
	for _, h := range hooks {
		if err := h.Check(); err != nil {
			wrong = append(wrong, err)
			continue
		}
		k := key{h.Name, h.trigger}
		if seen[k] {
			wrong = append(wrong, domain.Invalidf("hook %q: is registered twice for %s; give one another name", h.Name, h.trigger))
		}
		seen[k] = true
	}
	return Set{slices.Clone(hooks)}, errors.Join(wrong...)
}

type key struct {
	name    string
	trigger domain.Trigger
}

// Resolve returns what an agent that lists names uses: those hooks, and those for
// all agents, sorted as they run. It fails where the worker has no hook of a name.
func (s Set) Resolve(names []string) ([]contract.HookSpec, error) {
	var unknown []string
	for _, name := range names {
		if !slices.ContainsFunc(s.hooks, func(h Hook) bool { return h.Name == name }) {
			unknown = append(unknown, domain.Shorten(name, 64))
		}
	}
	if len(unknown) > 0 {
		var has []string
		for _, h := range s.hooks {
			if !slices.Contains(has, h.Name) {
				has = append(has, h.Name)
			}
		}
		return nil, domain.Invalidf("hooks: this worker has no %s; it has: %s",
			domain.Shorten(strings.Join(unknown, ", "), 500), cmp.Or(strings.Join(has, ", "), "none"))
	}
	var specs []contract.HookSpec
	for _, h := range s.hooks {
		if h.Always || slices.Contains(names, h.Name) {
			specs = append(specs, h.Spec())
		}
	}
	slices.SortStableFunc(specs, func(a, b contract.HookSpec) int { return cmp.Compare(b.Priority, a.Priority) })
	return specs, nil
}

// Find returns the hook that an execution recorded. Its error says what the worker has instead.
func (s Set) Find(spec contract.HookSpec) (Hook, error) {
	uses, has := "", "this worker has none of that name there"
	for _, h := range s.hooks {
		switch {
		case h.Name != spec.Name || h.trigger != spec.Trigger:
			continue
		case (h.io != nil) == spec.IO:
			return h, nil
		case spec.IO:
			uses, has = " as an activity", "this worker has it inside the workflow"
		default:
			uses, has = " inside the workflow", "this worker has it as an activity"
		}
	}
	return Hook{}, domain.CodedErrorf(domain.Invalid, domain.CodeHookFailed,
		"hook %q at %s: the execution uses it%s, and %s; run a worker that has it", spec.Name, spec.Trigger, uses, has)
}
