package whole_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain/hook"
	"everstep/worker/host"
)

// onEach is a hook at each of the triggers, named after it, which notes another number each time or changes nothing.
func onEach(name string, changes bool) []hook.Hook {
	all := []hook.Hook{
		hook.BeforeExecution(name, noting[hook.Nothing](changes)), hook.BeforeStep(name, noting[hook.Nothing](changes)),
		hook.BeforeInference(name, noting[hook.Request](changes)), hook.AfterInference(name, noting[hook.Answer](changes)),
		hook.BeforeToolUse(name, noting[hook.Call](changes)), hook.AfterToolUse(name, noting[hook.Result](changes)),
		hook.AfterStep(name, noting[hook.Nothing](changes)), hook.OnError(name, noting[hook.Failure](changes)),
		hook.OnStop(name, noting[hook.Nothing](changes)), hook.AfterExecution(name, noting[hook.Nothing](changes)),
	}
	for i := range all {
		all[i].Name += string(all[i].Trigger())
	}
	return all
}

func noting[At any](changes bool) func(hook.Context[At]) (hook.Context[At], error) {
	return func(c hook.Context[At]) (hook.Context[At], error) {
		if !changes {
			return c, nil
		}
		return c.Note("steps", c.State.StepCount()+1)
	}
}

// BenchmarkHookReplies prints what a step costs, in bytes and events of history and in time, for each trigger: of an agent without a hook,
// with one that changes nothing, and with one whose reply is another one each time. Executions have 100 steps, 20 with -short.
func BenchmarkHookReplies(b *testing.B) {
	steps := 100
	if testing.Short() {
		steps = 20
	}
	hooks := slices.Concat(onEach("nothing at ", false), onEach("another each time at ", true))
	sets := [][]string{nil}
	for _, h := range hooks {
		sets = append(sets, []string{h.Name})
	}
	s := start(b, host.Config{Tools: []tool.Tool{recite()}, Providers: talkers(0, steps), Hooks: hooks})
	for b.Loop() {
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "hook\tsteps\truns\tevents/step\tbytes/step\tms/step\t")
		for _, names := range sets {
			runs := make([]measured, 0, 3)
			for range cap(runs) {
				runs = append(runs, s.measure(b, steps, names...))
			}
			m := middle(runs, measured.millisPerStep)
			fmt.Fprintf(table, "%s\t%d\t%d\t%.2f\t%.0f\t%.2f\t\n", strings.Join(names, ""), steps, m.runs, float64(m.events)/float64(steps), m.bytesPerStep(), m.millisPerStep())
		}
		require.NoError(b, table.Flush())
	}
}
