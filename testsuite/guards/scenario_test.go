package guards_test

import (
	"flag"
	"testing"

	"everstep/testsuite"
	"everstep/testsuite/golden"
	"everstep/testsuite/internal/kept"
)

var update = flag.Bool("update", false, "write what scenarios come to into their files")

// TestScenarios plays every conversation in memory and compares all of it.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, s := range kept.Scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			traced := &kept.Trace{}
			run := testsuite.New(t, testsuite.Config{
				Definition: s.Definition, Script: s.Script, Tools: s.Tools, Hooks: kept.ScenarioHooks(traced),
			}).Run(s.Prompt, s.Events...)
			checkEvents(t, run)
			golden.Compare(t, s.Path, s.Head+describeRun(run, traced), *update)
		})
	}
}
