package progress

// A Given says what an execution began with beside its prompt and trusted values.
type Given struct {
	// Messages counts what was said before the prompt.
	Messages int
	// Metadata are the names of notes, sorted.
	Metadata []string
}
