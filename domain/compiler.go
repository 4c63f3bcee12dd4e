package domain

// A Compiler chooses what of the transcript the model sees. It only reads: the
// transcript is never pruned by it. The zero value is CurrentTrace.
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
func (c Compiler) ShowsTraces() bool { return c == AllSections || c == SelectedSections }

// UnmarshalText accepts the known compilers, and reads the empty text as CurrentTrace.
func (c *Compiler) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = CurrentTrace
		return nil
	}
	return decodeEnum(c, text, Compilers(), "compiler")
}
