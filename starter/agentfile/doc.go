// Package agentfile reads agents from files: YAML, or Markdown with YAML front
// matter, whose text below the front matter is the system prompt.
//
// Its main type is File, which Load makes. Its one rule: a file is read whole or
// not at all, nothing in it is ignored, and whatever is wrong with it is said at
// once, each problem with its line and field.
//
// Files of other tools (Claude Code, opencode, GitHub Copilot, VS Code, Gemini CLI, Cursor, Qwen Code) are read as they are, into the same File: dialect.go
// tells them from ours, foreignfront.go makes YAML of their front matter, and foreign.go has the table of their keys; opencodejson.go finds agents in a file of settings. There
// what has no meaning is ignored, and named in one of File.Notes. Such a file never widens what the worker allows.
//
// What an execution runs is the domain.Definition that was read when it began,
// so that editing the file never changes a running agent. Keys of providers are
// never in a file.
//
// There are no anchors, aliases, tags or second documents, and at most 1 MiB. A
// script (scripted/FILE) and a schema are found from the file's folder on; a
// schema may not lie outside of it. Schema is all of this as JSON Schema.
//
// Start reading at Load; the keys, with what each is for, are in file.go: that table reads a file, is its schema with the
// defaults, and shows an agent (File.Resolve).
package agentfile
