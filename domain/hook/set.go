package hook

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Set is the hooks that a worker has. It never changes. Several versions of
// one hook may stand beside each other: new executions take the highest, those
// under way the one that they recorded.
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
		k := keyOf(h.Spec())
		if seen[k] {
			wrong = append(wrong, domain.Errorf(domain.Invalid, "hook %q: version %d is registered twice for %s; give one another version or name", h.Name, h.Version, h.trigger))
		}
		seen[k] = true
	}
	return Set{slices.Clone(hooks)}, errors.Join(wrong...)
}

type key struct {
	name    string
	version int
	trigger domain.Trigger
}

func keyOf(s contract.HookSpec) key { return key{s.Name, s.Version, s.Trigger} }

// Resolve returns what an agent that lists names uses: the newest version of
// each, and of those for all agents, sorted as they run. It fails where the
// worker has no hook of a name.
func (s Set) Resolve(names []string) ([]contract.HookSpec, error) {
	var unknown []string
	for _, name := range names {
		if !slices.ContainsFunc(s.hooks, func(h Hook) bool { return h.Name == name }) {
			unknown = append(unknown, domain.Shorten(name, 64))
		}
	}
	if len(unknown) > 0 {
		return nil, domain.Errorf(domain.Invalid, "hooks: this worker has no %s; it has: %s",
			domain.Shorten(strings.Join(unknown, ", "), 500), s.names())
	}
	newest := make(map[key]int)
	for _, h := range s.hooks {
		k := key{name: h.Name, trigger: h.trigger}
		newest[k] = max(newest[k], h.Version)
	}
	var specs []contract.HookSpec
	for _, h := range s.hooks {
		wanted := h.Always || slices.Contains(names, h.Name)
		if wanted && h.Version == newest[key{name: h.Name, trigger: h.trigger}] {
			specs = append(specs, h.Spec())
		}
	}
	slices.SortStableFunc(specs, func(a, b contract.HookSpec) int { return cmp.Compare(b.Priority, a.Priority) })
	return specs, nil
}

// Find returns the hook that an execution recorded. Its error says what the
// worker has instead.
func (s Set) Find(spec contract.HookSpec) (Hook, error) {
	uses, has := "", "this worker has none of that name there"
	var versions []string
	for _, h := range s.hooks {
		if h.Name != spec.Name || h.trigger != spec.Trigger {
			continue
		}
		if h.Version == spec.Version && (h.io != nil) == spec.IO {
			return h, nil
		}
		if h.Version == spec.Version {
			uses, has = " inside the workflow", "this worker has it as an activity; give that another version"
			if spec.IO {
				uses, has = " as an activity", "this worker has it inside the workflow; give that another version"
			}
			break
		}
		versions = append(versions, strconv.Itoa(h.Version))
		has = "this worker has version " + strings.Join(versions, ", ")
	}
	return Hook{}, domain.CodedErrorf(domain.Invalid, domain.CodeHookFailed,
		"hook %q, version %d, at %s: the execution uses it%s, and %s; "+WantsAnother, spec.Name, spec.Version, spec.Trigger, uses, has)
}

// WantsAnother ends the error of a worker that lacks a hook, where another worker may have it.
const WantsAnother = "run a worker that has it"

func (s Set) names() string {
	var names []string
	for _, h := range s.hooks {
		if !slices.Contains(names, h.Name) {
			names = append(names, h.Name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
