package whole_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/worker/host"
)

// A hookSet is hooks that an agent is measured with.
type hookSet struct {
	name  string
	hooks []hook.Hook
}

// names are what a definition lists.
func (s hookSet) names() []string {
	seen := map[string]bool{}
	var names []string
	for _, h := range s.hooks {
		if !seen[h.Name] {
			seen[h.Name] = true
			names = append(names, h.Name)
		}
	}
	return names
}

func allHooks(sets []hookSet) []hook.Hook {
	var all []hook.Hook
	for _, set := range sets {
		all = append(all, set.hooks...)
	}
	return all
}

// hookSets are no hooks, ten in Go at all triggers, ten at one of them, and one
// that is an activity. None changes anything: what is measured is the loop's part.
func hookSets() []hookSet {
	sets := []hookSet{{name: "none"}, {name: "all-triggers", hooks: looksOn("bench")}, {name: "ten-before_step"}}
	for n := range 10 {
		sets[2].hooks = append(sets[2].hooks, hook.BeforeStep(fmt.Sprintf("bench-%d", n), looks[hook.Nothing]))
	}
	asks := func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{}, nil
	}
	return append(sets, hookSet{name: "io-before_step", hooks: []hook.Hook{hook.IO(domain.TriggerBeforeStep, "bench-io", asks)}})
}

// looksOn is a hook at each of the triggers.
func looksOn(name string) []hook.Hook {
	return []hook.Hook{
		hook.BeforeExecution(name, looks[hook.Nothing]), hook.BeforeStep(name, looks[hook.Nothing]),
		hook.BeforeInference(name, looks[hook.Request]), hook.AfterInference(name, looks[hook.Answer]),
		hook.BeforeToolUse(name, looks[hook.Call]), hook.AfterToolUse(name, looks[hook.Result]),
		hook.AfterStep(name, looks[hook.Nothing]), hook.OnError(name, looks[hook.Failure]),
		hook.OnStop(name, looks[hook.Nothing]), hook.AfterExecution(name, looks[hook.Nothing]),
	}
}

// looks reads what most hooks read.
func looks[At any](c hook.Context[At]) (hook.Context[At], error) {
	if c.State.StepCount() < 0 || len(c.State.Messages()) == 0 {
		return c, domain.Errorf(domain.Internal, "an execution without messages")
	}
	return c, nil
}

// BenchmarkHooks prints what a step costs as BenchmarkHistory does, with
// each of hookSets: in executions of 100 and 500 steps with messages of 2 KB; of
// 20 with -short.
func BenchmarkHooks(b *testing.B) {
	sizes, pairs := []int{100, 500}, 3
	if testing.Short() {
		sizes, pairs = []int{20}, 1
	}
	providers := map[string]inference.Provider{}
	for _, n := range sizes {
		providers[fmt.Sprintf("talker%d", n)] = &talker{steps: n}
	}
	sets := hookSets()
	s := startOn(b, "plain", nil, host.Config{Tools: []tool.Tool{recite()}, Providers: providers, Hooks: allHooks(sets)})
	for b.Loop() {
		s.measure(b, sizes[0]) // warm
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "hooks\tsteps\truns\tevents/step\tbytes/step\tbytes/step beyond its messages\tms/step\t")
		for _, n := range sizes {
			runs := make([][]measured, len(sets))
			for range pairs {
				for i, set := range sets { // in turn, so that all meet the same machine
					runs[i] = append(runs[i], s.measure(b, n, set.names()...))
				}
			}
			for i, set := range sets {
				m := middle(runs[i])
				fmt.Fprintf(table, "%s\t%d\t%d\t%.1f\t%.0f\t%.0f\t%.2f\t\n", set.name, n, m.runs, float64(m.events)/float64(n),
					m.bytesPerStep(), m.bytesPerStep()-2*kilobytes2, m.millisPerStep())
				b.ReportMetric(m.bytesPerStep(), fmt.Sprintf("B/step@%d/%s", n, set.name))
				b.ReportMetric(m.millisPerStep(), fmt.Sprintf("ms/step@%d/%s", n, set.name))
			}
		}
		require.NoError(b, table.Flush())
	}
}

// BenchmarkHookReplies prints what a step costs, in bytes and events of history and in time, for each trigger: of an agent without a hook,
// with one that changes nothing, and with one whose reply is another one each time. Executions have 100 steps, 20 with -short.
func BenchmarkHookReplies(b *testing.B) {
	steps := 100
	if testing.Short() {
		steps = 20
	}
	sets := []hookSet{{name: "none"}}
	idle, changing := looksOn("idle"), notesOn("changing")
	for i, h := range idle {
		trigger := string(h.Trigger())
		idle[i].Name, changing[i].Name = "idle-"+trigger, "changing-"+trigger
		sets = append(sets, hookSet{"nothing at " + trigger, idle[i : i+1]}, hookSet{"another each time at " + trigger, changing[i : i+1]})
	}
	providers := map[string]inference.Provider{fmt.Sprintf("talker%d", steps): &talker{steps: steps}}
	s := startOn(b, "plain", nil, host.Config{Tools: []tool.Tool{recite()}, Providers: providers, Hooks: allHooks(sets)})
	for b.Loop() {
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "hook\tsteps\truns\tevents/step\tbytes/step\tms/step\t")
		for _, set := range sets {
			runs := make([]measured, 0, 3)
			for range cap(runs) {
				runs = append(runs, s.measure(b, steps, set.names()...))
			}
			m := middle(runs)
			fmt.Fprintf(table, "%s\t%d\t%d\t%.2f\t%.0f\t%.2f\t\n", set.name, steps, m.runs, float64(m.events)/float64(steps), m.bytesPerStep(), m.millisPerStep())
		}
		require.NoError(b, table.Flush())
	}
}

// notesOn is a hook at each of the triggers that notes another number each time.
func notesOn(name string) []hook.Hook {
	return []hook.Hook{
		hook.BeforeExecution(name, notes[hook.Nothing]), hook.BeforeStep(name, notes[hook.Nothing]),
		hook.BeforeInference(name, notes[hook.Request]), hook.AfterInference(name, notes[hook.Answer]),
		hook.BeforeToolUse(name, notes[hook.Call]), hook.AfterToolUse(name, notes[hook.Result]),
		hook.AfterStep(name, notes[hook.Nothing]), hook.OnError(name, notes[hook.Failure]),
		hook.OnStop(name, notes[hook.Nothing]), hook.AfterExecution(name, notes[hook.Nothing]),
	}
}

func notes[At any](c hook.Context[At]) (hook.Context[At], error) {
	return c.Note("steps", c.State.StepCount()+1)
}
