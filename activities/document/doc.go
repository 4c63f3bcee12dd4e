// Package document reads files that people write in YAML or JSON: agents,
// scripts, prices. It is for files whose every key is known; what has no fixed
// form is read by encoding/json.
//
// Its main type is Reader. Its one rule: nothing in a file is ignored, and
// whatever is wrong with it is said at once, each problem with its line and
// field. A kind of file is a table of Keys, whose Values read what stands there,
// say as JSON Schema what they take, and show what is held as a file would have it
// (Keys.Shown), so that the three cannot differ.
//
// No file makes a Reader work without end: values nest to a depth, and aliases,
// where a Form has them, stand for so many values at most.
//
// Start reading at Keys, then at Reader.Read.
package document
