// Package output checks what models write against JSON Schemas: answers against
// response formats, arguments against the schemas of tools.
//
// Its main types are Schema, and Checker, which Compile makes of a format. Its
// one rule: nothing is ever fetched, and neither a schema nor a text can make it
// panic or work without end. A library reads schemas, decides whether a text
// fits and says where it does not; what is written here puts that in words,
// finds what the library lets pass in a schema, and counts beforehand what it
// would do. The keyword format is an annotation, as in JSON Schema 2020-12, and
// is not checked.
//
// A schema is of draft 2020-12 or, where $schema says so, draft-07. In the
// schema of a response format, keywords that the library or the draft would
// ignore are refused, since a rule that nobody checks looks like one that is
// kept.
//
// Strict says whether a schema lies in the subset that OpenAI's strict mode
// takes. The limits are those of OpenAI's guide "Structured model outputs",
// section "Supported schemas", as of February 2026: at most 5,000 properties, 10
// levels, 1,000 enum values, and 120,000 characters of names and values.
//
// Start reading at Compile.
package output
