package agentfile

import _ "embed" // the schema is a file, so that editors can use it as it is

//go:embed agent.schema.json
var schema []byte

// Schema is the JSON Schema of an agent's file in YAML, for editors. A file
// that fits it may still have problems that only Load finds.
func Schema() []byte { return append([]byte(nil), schema...) }
