// Package output checks answers of models against response formats.
//
// Its main type is Checker, which Compile makes of a format. Its one rule:
// nothing is ever fetched, and neither a schema nor an answer can make it panic
// or work without end. The library decides whether an answer fits; what is
// written here says where it does not, for the library names no place in the
// answer. The keyword format is an annotation, as in JSON Schema 2020-12, and
// is not checked.
//
// A schema is of draft 2020-12 or, where $schema says so, draft-07. Keywords
// that the library or the draft would ignore are refused, since a rule that
// nobody checks looks like one that is kept.
//
// Strict says whether a schema lies in the subset that OpenAI's strict mode
// takes. The limits are those of OpenAI's guide "Structured model outputs",
// section "Supported schemas", as of February 2026: at most 5,000 properties, 10
// levels, 1,000 enum values, and 120,000 characters of names and values.
//
// Start reading at Compile.
package output
