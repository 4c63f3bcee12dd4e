// Package output checks what models write against JSON Schemas: answers against
// response formats, arguments against the schemas of tools.
//
// Its main types are Schema, and Checker, which Compile makes of a format. Its
// one rule: nothing is ever fetched, and neither a schema nor a text can make it
// panic or work without end. A library decides whether a text fits and where it
// does not; what is written here puts that in words, finds what the library lets
// pass in a schema, and counts beforehand what it would do.
//
// A schema is of draft 2020-12 or, where $schema says so, draft-07. In the
// schema of a response format, keywords that would be ignored are refused, since
// a rule that nobody checks looks like one that is kept. The keyword format is
// an annotation in both.
//
// Start reading at Compile.
package output
