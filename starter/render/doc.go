// Package render is what people read of the command line: tables, the story of
// a run, a status, an explanation, and the JSON that scripts read in their place.
//
// Its main type is [Output]: where text goes, with what is known of who reads it.
// Values of everstep/starter/client come in, text goes out; nothing here asks a
// server, reads the environment or decides anything.
//
// Its one rule: whoever wrote a text, it goes through [Clean] or [OneLine] before
// it is printed, so that no model, tool or user controls the reader's terminal.
//
// Start reading with story.go, which puts events into words; view.go and
// liveview.go show them, into a file and on a terminal.
package render
