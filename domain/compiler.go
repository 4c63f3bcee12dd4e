package domain

import (
	"fmt"
	"slices"
)

// A Compiler chooses what of the transcript the model sees. It only reads: the
// transcript is never pruned by it. The zero value is CurrentTrace. Beside the
// ones below a worker can have others, by name.
type Compiler string

const (
	// CurrentTrace shows the whole conversation, but of the traces (what the
	// agent did on its way to its answers) only those of the current execution
	// and of the executions it goes on from.
	CurrentTrace Compiler = "current_trace"
	// AllSections shows everything.
	AllSections Compiler = "all_sections"
	// SelectedSections shows the sections that the definition lists, in its
	// order, and nothing else.
	SelectedSections Compiler = "selected_sections"
)

// Compilers lists every compiler.
func Compilers() []Compiler { return []Compiler{CurrentTrace, AllSections, SelectedSections} }

// ShowsTraces reports whether the traces of earlier executions are shown too.
func (c Compiler) ShowsTraces() bool { return c != CurrentTrace && c != "" }

// Builtin reports whether the compiler is one of ours; others are a worker's.
func (c Compiler) Builtin() bool { return c == "" || slices.Contains(Compilers(), c) }

// MaxCompilerName is the longest name of a compiler, in bytes.
const MaxCompilerName = 64

// UnmarshalText accepts any name of lower-case letters, digits and underscores,
// and reads the empty text as CurrentTrace. Whether there is such a compiler is
// known to the worker.
func (c *Compiler) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = CurrentTrace
		return nil
	}
	if len(text) > MaxCompilerName {
		return fmt.Errorf("compiler: the name has %d bytes; at most %d are allowed", len(text), MaxCompilerName)
	}
	for _, r := range string(text) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return fmt.Errorf("compiler: %q is no name of one; use lower-case letters, digits and '_'", string(text))
		}
	}
	*c = Compiler(text)
	return nil
}
