package conversation

// NoteTokens is what the note in place of a cleared result takes.
const NoteTokens = noteTokens
