package whole_test

import (
	"fmt"
	"os"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
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
			m := middle(runs, measured.millisPerStep)
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
