package agentfile_test

import (
	"strings"

	"everstep/domain"
)

const (
	inYAML     = "a.yaml"
	inMarkdown = "a.md"
)

// A broken is a definition with mistakes, and all that is said of it.
type broken struct {
	name, file, text string
	says             []string
}

// brokenAgents are read in brokenFolder.
func brokenAgents() []broken {
	return []broken{
		{"empty file", inYAML, "", []string{
			"a.yaml: is empty; give it at least `model: PROVIDER/NAME`",
		}},
		{"nothing but comments", inYAML, "# to do\n", []string{
			"a.yaml:1:1: has no keys; give it at least `model: PROVIDER/NAME`",
		}},
		{"a setting of the worker's", inYAML, "model: openai/m\ntools: [shell]\nshell: {network: true}\n", []string{
			"a.yaml:3:1: shell: there is no such key; there are name, description, model, fallbacks, system_prompt, show_trusted, tools, mcp, hooks, approvals, budget, session_budget, guards, response_format, compiler, sections, compaction, retry, timeouts, idle_timeout, subagents, agents, handoffs, subagent_policy",
		}},
		{"null document", inYAML, "---\n", []string{
			"a.yaml:1:1: has no keys; give it at least `model: PROVIDER/NAME`",
		}},
		{"nothing but blanks", inMarkdown, " \n\n", []string{
			"a.md: is empty; give it at least `model: PROVIDER/NAME`",
		}},
		{"UTF-16", inYAML, "\xff\xfem\x00", []string{
			`a.yaml: is in UTF-16; save it as UTF-8`,
		}},
		{"not UTF-8", inYAML, "name: a\ndescription: caf\xe9\n", []string{
			`a.yaml:2:1: is not valid UTF-8; save the file as UTF-8`,
		}},
		{"a second document", inYAML, "name: a\n---\nname: b\n", []string{
			`a.yaml:2:1: begins a second document; keep one agent in a file, and put a system prompt below front matter into a file that ends in .md`,
		}},
		{"front matter in YAML", inYAML, "---\nname: a\n---\nYou review code.\n", []string{
			`a.yaml:3:1: begins a second document; keep one agent in a file, and put a system prompt below front matter into a file that ends in .md`,
		}},
		{"a list at the top", inYAML, "- name: a\n", []string{
			`a.yaml:1:1: is a list, not a mapping of keys to values`,
		}},
		{"a text at the top", inYAML, "reviewer\n", []string{
			`a.yaml:1:1: is a text, not a mapping of keys to values`,
		}},
		{"no front matter", inMarkdown, "You review code.\n", []string{
			"a.md:1:1: has no front matter; let the first line be ---, then keys such as `model: PROVIDER/NAME`, then ---, then the system prompt",
		}},
		{"front matter without an end", inMarkdown, "---\nname: a\nYou review code.\n", []string{
			`a.md:1:1: the front matter has no end; put a line --- below its last key`,
		}},
		{"front matter that is empty", inMarkdown, "---\n---\nYou review code.\n", []string{
			"a.md:1:1: has no keys; give it at least `model: PROVIDER/NAME`",
		}},
		{"a tab", inYAML, "budget:\n\tmax_steps: 3\n", []string{
			`a.yaml:2:1: is indented with a tab; indent with spaces`,
		}},
		{"a tab in a list", inMarkdown, "---\nname: a\ntools:\n\t- read_file\n---\n", []string{
			`a.md:4:1: is indented with a tab; indent with spaces`,
		}},
		{"a tab after spaces", inYAML, "system_prompt: |\n  a\nbudget:\n  max_steps: 3\n  \tmax_tokens: 5\n", []string{
			`a.yaml:5:3: is indented with a tab; indent with spaces`,
		}},
		{"a tab in a text, and an at", inYAML, "system_prompt: |\n  a\n  \tb\nname: @a\n", []string{
			`a.yaml:4:1: is no YAML: found character that cannot start any token; put a text that has a colon or begins with a special character into quotes`,
		}},
		{"a colon in a text", inYAML, "name: a\ndescription: reviews: code\n", []string{
			`a.yaml:2:1: is no YAML: mapping values are not allowed in this context; put a text that has a colon or begins with a special character into quotes`,
		}},
		{"a list without an end", inYAML, "name: a\ntools: [read_file, list_files\nhooks: []\n", []string{
			`a.yaml:2:1: is no YAML from here on: did not find expected ',' or ']'; put a text that has a colon or begins with a special character into quotes`,
		}},
		{"a quote without an end", inMarkdown, "---\nname: a\ndescription: \"reviews\n---\nYou review.\n", []string{
			`a.md:3:1: is no YAML: found unexpected end of stream; put a text that has a colon or begins with a special character into quotes`,
		}},
		{"indentation that fits nothing", inYAML, "budget:\n    max_steps: 3\n  max_tokens: 9\n", []string{
			`a.yaml:3:1: is no YAML from here on: did not find expected key; put a text that has a colon or begins with a special character into quotes`,
		}},
		{"an unknown alias", inYAML, "name: a\nhooks: *others\n", []string{
			`a.yaml:2:8: anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes`,
		}},
		{"a bomb of aliases", inYAML, "hooks: &a [x, x]\nsections: &b [*a, *a]\ntools: [*b, *b]\n", []string{
			`a.yaml:1:8: anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes`,
			`a.yaml:1:15: hooks[1]: the hook "x" is listed twice; keep one`,
			"a.yaml:2:1: sections: has a meaning with `compiler: selected_sections` alone; add that or leave sections out",
			`a.yaml:2:11: anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes`,
			`a.yaml:2:15: anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes`,
			`a.yaml:2:19: anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes`,
			`a.yaml:3:9: anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes`,
			`a.yaml:3:13: anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes`,
		}},
		{"an alias of itself", inYAML, "model: &m\n  options: {a: *m}\n  provider: p\n  name: n\n", []string{
			`a.yaml:1:8: anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes`,
			`a.yaml:2:16: anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes`,
		}},
		{"a merge key", inYAML, "budget:\n  <<: {max_steps: 3}\n", []string{
			`a.yaml:2:3: budget.<<: merge keys are not supported; write the keys out`,
		}},
		{"a tag", inYAML, "name: !secret a\n", []string{
			`a.yaml:1:7: the tag !secret is not supported; write the value alone`,
		}},
		{"nested too deep", inYAML, "model:\n  options: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "\n", []string{
			`a.yaml:2:75: nests deeper than 64 levels; make it flatter`,
		}},
		{"unknown key", inYAML, "namee: a\n", []string{
			`a.yaml:1:1: namee: there is no such key; did you mean name?`,
		}},
		{"unknown key like none", inMarkdown, "---\ncolor: blue\n---\n", []string{
			`a.md:2:1: color: there is no such key; there are name, description, model, fallbacks, system_prompt, show_trusted, tools, mcp, hooks, approvals, budget, session_budget, guards, response_format, compiler, sections, compaction, retry, timeouts, idle_timeout, subagents, agents, handoffs, subagent_policy`,
		}},
		{"a time over a session", inYAML, "session_budget: {max_seconds: 3}\n", []string{
			`a.yaml:1:18: session_budget.max_seconds: there is no such key; there are max_steps, max_tokens, max_cost, max_tool_calls`,
		}},
		{"unknown key inside", inYAML, "budget:\n  max_step: 3\n", []string{
			`a.yaml:2:3: budget.max_step: there is no such key; did you mean max_steps?`,
		}},
		{"a key twice", inYAML, "name: a\nmodel: p/n\nname: b\n", []string{
			`a.yaml:3:1: name: is given twice, first in line 1; keep one`,
		}},
		{"a key twice in options", inYAML, "model:\n  provider: p\n  name: n\n  options: {seed: 1, seed: 2}\n", []string{
			`a.yaml:4:22: model.options.seed: is given twice, first in line 4; keep one`,
		}},
		{"a key that is a list", inYAML, "[a, b]: c\n", []string{
			`a.yaml:1:1: has a key that is a list; keys are texts`,
		}},
		{"a key without a value", inYAML, "name:\nmodel: p/n\n", []string{
			`a.yaml:1:6: name: is empty; give it a value or leave the key out`,
		}},
		{"a number for a text", inYAML, "name: 12\n", []string{
			`a.yaml:1:7: name: is a number, not a text; put it in quotes`,
		}},
		{"a date for a text", inYAML, "description: 2030-01-31\n", []string{
			`a.yaml:1:14: description: is a date, not a text; put it in quotes`,
		}},
		{"a truth for a text", inYAML, "description: true\n", []string{
			`a.yaml:1:14: description: is true or false, not a text; put it in quotes`,
		}},
		{"a list for a text", inYAML, "description: [a]\n", []string{
			`a.yaml:1:14: description: is a list, not a text`,
		}},
		{"an empty text", inYAML, "description: ' '\n", []string{
			`a.yaml:1:14: description: is empty; give it a value or leave the key out`,
		}},
		{"a name with a slash", inYAML, "name: a/b\n", []string{
			`a.yaml:1:7: name: "a/b" is no name; use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first`,
		}},
		{"system prompt twice", inMarkdown, "---\nsystem_prompt: Review.\n---\nReview code.\n", []string{
			`a.md:2:1: system_prompt: belongs below the front matter in Markdown; move its text there`,
		}},
		{"system prompt too long", inMarkdown, "---\nname: a\n---\n\n" + strings.Repeat("x", domain.MaxSystemPrompt+1) + "\n", []string{
			`a.md:5:1: system_prompt: has 262145 bytes; at most 262144 are allowed`,
		}},
		{"a model without provider", inMarkdown, "---\nmodel: sonnet\n---\n", []string{
			`a.md:2:8: model: "sonnet" is no model; write it as PROVIDER/NAME, such as openai-chat/gpt-5-mini`,
		}},
		{"a model without name", inYAML, "model: openai-chat/\n", []string{
			`a.yaml:1:8: model: "openai-chat/" is no model; write it as PROVIDER/NAME, such as openai-chat/gpt-5-mini`,
		}},
		{"a mapping without provider and name", inYAML, "model:\n  temperature: 0.2\n", []string{
			`a.yaml:2:3: model.provider: is missing; a model that is a mapping needs provider and name`,
			`a.yaml:2:3: model.name: is missing; a model that is a mapping needs provider and name`,
		}},
		{"provider with the name", inYAML, "model: {provider: openai-chat/gpt-5-mini, name: x}\n", []string{
			`a.yaml:1:19: model.provider: has a slash; give the provider here, and the model's name as name`,
		}},
		{"an address that is none", inYAML, "model: {provider: p, name: n, base_url: localhost:8000}\n", []string{
			`a.yaml:1:41: model.base_url: "localhost:8000" is no address; give one such as https://models.example.com/v1`,
		}},
		{"a password behind another scheme", inYAML, "model: {provider: p, name: n, base_url: 'ftp://me:secret@host/v1'}\n", []string{
			`a.yaml:1:41: model.base_url: holds a user or password; keys are found on the worker alone, so leave them out`,
		}},
		{"an address with a password", inYAML, "model: {provider: p, name: n, base_url: 'https://me:secret@host/v1'}\n", []string{
			`a.yaml:1:41: model.base_url: holds a user or password; keys are found on the worker alone, so leave them out`,
		}},
		{"tokens in words", inYAML, "model: {provider: p, name: n, max_output_tokens: many}\n", []string{
			`a.yaml:1:50: model.max_output_tokens: "many" is a text, not a whole number`,
		}},
		{"tokens in quotes", inYAML, "model: {provider: p, name: n, max_output_tokens: '100'}\n", []string{
			`a.yaml:1:50: model.max_output_tokens: "100" is a text, not a whole number; leave the quotes out`,
		}},
		{"a window of nothing", inYAML, "model: {provider: p, name: n, context_window: 0}\n", []string{
			`a.yaml:1:47: model.context_window: is 0; give a whole number from 1 to 1000000000, in digits alone`,
		}},
		{"a window in hexadecimal", inYAML, "model: {provider: p, name: n, context_window: 0x3e80}\n", []string{
			`a.yaml:1:47: model.context_window: is 0x3e80; give a whole number from 1 to 1000000000, in digits alone`,
		}},
		{"a temperature below zero", inYAML, "model: {provider: p, name: n, temperature: -1}\n", []string{
			`a.yaml:1:44: model.temperature: is -1; give a number from 0 to 100`,
		}},
		{"a top_p above one", inYAML, "model: {provider: p, name: n, top_p: 1.5}\n", []string{
			`a.yaml:1:38: model.top_p: is 1.5; give a number from 0 to 1`,
		}},
		{"a temperature that is no number", inYAML, "model: {provider: p, name: n, temperature: .nan}\n", []string{
			`a.yaml:1:44: model.temperature: is .nan; give a number from 0 to 100`,
		}},
		{"options that are a list", inYAML, "model: {provider: p, name: n, options: [a]}\n", []string{
			`a.yaml:1:40: model.options: is a list, not a mapping of keys to values`,
		}},
		{"options with infinity", inYAML, "model: {provider: p, name: n, options: {seed: .inf}}\n", []string{
			`a.yaml:1:47: model.options.seed: is .inf, which JSON cannot hold; give another, or put it in quotes`,
		}},
		{"a price without output", inYAML, "model: {provider: p, name: n, price: {input: 3}}\n", []string{
			`a.yaml:1:38: model.price.output: is missing; give dollars for a million tokens, 0 for a free model`,
		}},
		{"a price below zero", inYAML, "model: {provider: p, name: n, price: {input: -3, output: 1}}\n", []string{
			`a.yaml:1:46: model.price.input: is "-3"; a price is 0, or from 0.000000001 to 10000 dollars for a million tokens`,
		}},
		{"a price in the wrong unit", inYAML, "model: {provider: p, name: n, price: {input: 3000000000, output: 1}}\n", []string{
			`a.yaml:1:46: model.price.input: is "3000000000"; a price is 0, or from 0.000000001 to 10000 dollars for a million tokens`,
		}},
		{"a price in words", inYAML, "model: {provider: p, name: n, price: {input: $3, output: 1}}\n", []string{
			`a.yaml:1:46: model.price.input: is "$3"; give dollars for a million tokens as a number, as in 1.25, or 0 for a free model`,
		}},
		{"a price for long calls from nowhere", inYAML, "model: {provider: p, name: n, price: {input: 3, output: 1, long: {input: 6, output: 2}}}\n", []string{
			`a.yaml:1:66: model.price.long.above_tokens: is missing; give the number of input tokens above which these prices hold`,
		}},
		{"a wildcard", inYAML, "tools: [read_*]\n", []string{
			`a.yaml:1:9: tools[0]: "read_*" is a wildcard, which is not supported; name each tool`,
		}},
		{"all of a server as a tool", inYAML, "tools: [shop__*]\n", []string{
			`a.yaml:1:9: tools[0]: "shop__*" is a wildcard, which is not supported; name each tool, or the MCP server under mcp`,
		}},
		{"a server that is none", inYAML, "mcp: [shop__refund]\n", []string{
			`a.yaml:1:7: mcp[0]: "shop__refund" is no name of a server: it begins the names of its tools; use 1 to 24 letters, digits, dashes and single underscores`,
		}},
		{"a server that is to be started", inYAML, "mcp:\n  shop: {command: rm, args: [-rf, /]}\n", []string{
			`a.yaml:2:9: mcp.shop: is no list of tools; how a server is started or reached is in the worker's file (--mcp): an agent starts no programs`,
		}},
		{"a server without tools", inYAML, "mcp:\n  shop:\n  a__b: [x]\n  files: [a, a]\n", []string{
			`a.yaml:2:8: mcp.shop: is empty; give it a value or leave the key out`,
			`a.yaml:3:3: mcp.a__b: "a__b" is no name of a server: it begins the names of its tools; use 1 to 24 letters, digits, dashes and single underscores`,
			`a.yaml:4:14: mcp.files[1]: the tool "a" is listed twice; keep one`,
		}},
		{"a tool with a pattern", inMarkdown, "---\ntools: Read, Bash(git)\n---\n", []string{
			`a.md:2:8: tools: "Bash(git)" is no name of a tool; use 1 to 64 letters, digits, dashes and underscores`,
		}},
		{"a comma too many", inMarkdown, "---\ntools: read_file,, list_files\n---\n", []string{
			`a.md:2:8: tools: has a comma without a name beside it; leave it out`,
		}},
		{"a tool twice", inYAML, "tools:\n  - read_file\n  - list_files\n  - read_file\n", []string{
			`a.yaml:4:5: tools[2]: the tool "read_file" is listed twice; keep one`,
		}},
		{"a tool that is empty", inYAML, "tools: [read_file, ]\nhooks:\n  -\n", []string{
			`a.yaml:3:4: hooks[0]: is empty; give it a value or leave the item out`,
		}},
		{"a tool that is a number", inYAML, "tools: [1]\n", []string{
			`a.yaml:1:9: tools[0]: is a number, not a text; put it in quotes`,
		}},
		{"denied but not allowed", inYAML, "tools:\n  allow: [read_file, list_files]\n  deny: [list_file]\n", []string{
			`a.yaml:3:10: tools.deny: list_file is not allowed in the first place; did you mean list_files?`,
		}},
		{"denied and nothing allowed", inYAML, "tools: {deny: [read_file]}\n", []string{
			`a.yaml:1:8: tools.allow: is missing; an agent has the tools that are allowed, so there is nothing to deny`,
		}},
		{"a comma too many between hooks", inYAML, "hooks: audit,, redact, audit\n", []string{
			`a.yaml:1:8: hooks: has a comma without a name beside it; leave it out`,
			`a.yaml:1:8: hooks: the hook "audit" is listed twice; keep one`,
		}},
		{"a hook twice", inYAML, "hooks: [audit, audit]\n", []string{
			`a.yaml:1:16: hooks[1]: the hook "audit" is listed twice; keep one`,
		}},
		{"steps below zero", inYAML, "budget: {max_steps: -1}\n", []string{
			`a.yaml:1:21: budget.max_steps: is -1; give a whole number from 0 on, in digits alone`,
		}},
		{"steps in halves", inYAML, "budget: {max_steps: 1.5}\n", []string{
			`a.yaml:1:21: budget.max_steps: is 1.5; give a whole number from 0 on, in digits alone`,
		}},
		{"too many tokens", inYAML, "budget: {max_tokens: 9223372036854775808}\n", []string{
			`a.yaml:1:22: budget.max_tokens: is 9223372036854775808; give a whole number from 0 to 9223372036854775807, in digits alone`,
		}},
		{"endless seconds", inYAML, "budget: {max_seconds: .inf}\n", []string{
			`a.yaml:1:23: budget.max_seconds: is .inf; give a number from 0 to 9223372036`,
		}},
		{"seconds with a unit", inYAML, "budget: {max_seconds: 30s}\n", []string{
			`a.yaml:1:23: budget.max_seconds: "30s" is a text, not a number`,
		}},
		{"a cost with a sign", inYAML, "budget: {max_cost: $5}\n", []string{
			`a.yaml:1:20: budget.max_cost: is "$5"; give dollars from 0 on as a plain decimal such as 0.5`,
		}},
		{"a cost with an exponent", inYAML, "budget: {max_cost: 1e3}\n", []string{
			`a.yaml:1:20: budget.max_cost: is "1e3", which is no sum of money; give dollars such as 0.5 or 2`,
		}},
		{"a cost too fine", inYAML, "budget: {max_cost: 0.0000000001}\n", []string{
			`a.yaml:1:20: budget.max_cost: is "0.0000000001", which has more than 9 decimals; round it to a thousand-millionth of a dollar`,
		}},
		{"a cost too large", inYAML, "budget: {max_cost: 99999999999}\n", []string{
			`a.yaml:1:20: budget.max_cost: is "99999999999", which is too much; give at most 9223372036.854775807 dollars`,
		}},
		{"a deadline without a zone", inYAML, "budget: {deadline: 2030-01-31 12:00}\n", []string{
			`a.yaml:1:20: budget.deadline: is "2030-01-31 12:00"; give a time with its zone, such as 2030-01-31T12:00:00Z`,
		}},
		{"a deadline in words", inYAML, "budget: {deadline: tomorrow}\n", []string{
			`a.yaml:1:20: budget.deadline: is "tomorrow"; give a time with its zone, such as 2030-01-31T12:00:00Z`,
		}},
		{"a budget that is a number", inYAML, "budget: 5\n", []string{
			`a.yaml:1:9: budget: is a number, not a mapping of keys to values`,
		}},
		{"a finish reason that is none", inYAML, "guards: {finish_reasons: [lengt]}\n", []string{
			`a.yaml:1:27: guards.finish_reasons[0]: "lengt" is not known; did you mean length?`,
		}},
		{"repeated calls on", inYAML, "guards: {repeated_calls: on}\n", []string{
			`a.yaml:1:26: guards.repeated_calls: is "on"; give off, or a mapping with nudge_after and stop_after`,
		}},
		{"a nudge at once", inYAML, "guards: {repeated_calls: {nudge_after: 1}}\n", []string{
			`a.yaml:1:40: guards.repeated_calls.nudge_after: is 1; give 2 or more, or 0 for never`,
		}},
		{"a nudge after the stop", inYAML, "guards:\n  repeated_calls:\n    nudge_after: 20\n", []string{
			`a.yaml:3:5: guards.repeated_calls: nudge_after is 20 and stop_after 10; the nudge has to come first`,
		}},
		{"too many retries", inYAML, "guards: {output_retries: 101}\n", []string{
			`a.yaml:1:26: guards.output_retries: is 101; give a whole number from 0 to 100, in digits alone`,
		}},
		{"a final answer in words", inYAML, "guards: {final_answer: sure}\n", []string{
			`a.yaml:1:24: guards.final_answer: is a text; give true or false`,
		}},
		{"a format that is none", inYAML, "response_format: json\n", []string{
			`a.yaml:1:18: response_format: "json" is not known; give text, json_object, or a mapping with a schema`,
		}},
		{"a format without a schema", inYAML, "response_format: {name: verdict}\n", []string{
			`a.yaml:1:18: response_format.schema: is missing; give a JSON Schema, or the path of a file that holds one`,
		}},
		{"a format with a space", inYAML, "response_format: {name: my verdict, schema: {type: object}}\n", []string{
			`a.yaml:1:25: response_format.name: "my verdict" is no name of a format; use 1 to 64 letters, digits, dashes and underscores`,
		}},
		{"a mode that is none", inYAML, "response_format: {schema: {type: object}, mode: natve}\n", []string{
			`a.yaml:1:49: response_format.mode: "natve" is not known; did you mean native?`,
		}},
		{"a schema with a type that is none", inYAML, "response_format: {schema: {type: objekt}}\n", []string{
			`a.yaml:1:27: response_format.schema: at /type: is "objekt" and must be one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		}},
		{"a schema that is elsewhere", inYAML, "response_format: {schema: {$ref: 'https://example.com/s.json'}}\n", []string{
			`a.yaml:1:27: response_format.schema: at /$ref: refers to "https://example.com/s.json", outside of the schema; schemas are never fetched: copy it to $defs and write #/$defs/NAME`,
		}},
		{"a schema of numbers", inYAML, "response_format: {schema: {type: 5}}\n", []string{
			`a.yaml:1:27: response_format.schema: at /type: is 5 and must be one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		}},
		{"a schema with a key twice", inYAML, "response_format:\n  schema:\n    type: object\n    type: object\n", []string{
			`a.yaml:4:5: response_format.schema.type: is given twice, first in line 3; keep one`,
		}},
		{"a schema file that is not there", inYAML, "response_format: {schema: verdit.json}\n", []string{
			`a.yaml:1:27: response_format.schema: there is no file verdit.json in the agent file's folder; did you mean verdict.json?`,
		}},
		{"a schema file above", inYAML, "response_format: {schema: ../verdict.json}\n", []string{
			`a.yaml:1:27: response_format.schema: ../verdict.json is outside of the agent file's folder; copy it there and give its path from there`,
		}},
		{"a schema file by its full path", inYAML, "response_format: {schema: /etc/passwd}\n", []string{
			`a.yaml:1:27: response_format.schema: /etc/passwd is outside of the agent file's folder; copy it there and give its path from there`,
		}},
		{"a schema file behind a link", inYAML, "response_format: {schema: link.json}\n", []string{
			`a.yaml:1:27: response_format.schema: link.json cannot be read: path escapes from parent; a link may not lead out of the agent file's folder`,
		}},
		{"a schema file that is a folder", inYAML, "response_format: {schema: schemas}\n", []string{
			`a.yaml:1:27: response_format.schema: schemas is not a regular file; name one that holds a JSON Schema`,
		}},
		{"a schema file that is broken", inYAML, "response_format: {schema: broken.json}\n", []string{
			`a.yaml:1:27: response_format.schema: broken.json:2:11 is no JSON: invalid character 'o' looking for beginning of value`,
		}},
		{"a schema file that is too large", inYAML, "response_format: {schema: large.json}\n", []string{
			`a.yaml:1:27: response_format.schema: large.json has more than 400000 bytes; make it smaller`,
		}},
		{"a compiler that is none", inYAML, "compiler: whole_conversatio\n", []string{
			`a.yaml:1:11: compiler: "whole_conversatio" is too like one of ours; did you mean whole_conversation?`,
		}},
		{"a compiler with a dash", inYAML, "compiler: my-own\n", []string{
			`a.yaml:1:11: compiler: "my-own" is no name of a compiler; use lower-case letters, digits and underscores, 64 at most`,
		}},
		{"sections without their compiler", inYAML, "sections: [summary]\n", []string{
			"a.yaml:1:1: sections: has a meaning with `compiler: selected_sections` alone; add that or leave sections out",
		}},
		{"a compiler without its sections", inYAML, "compiler: selected_sections\n", []string{
			`a.yaml:1:1: sections: is missing; compiler selected_sections needs the names of the sections to show`,
		}},
		{"compaction on", inYAML, "compaction: true\n", []string{
			`a.yaml:1:13: compaction: is "true"; give off, or a mapping with trigger_percent and target_percent`,
		}},
		{"compaction that comes late", inYAML, "compaction: {trigger_percent: 99}\n", []string{
			`a.yaml:1:31: compaction.trigger_percent: is 99; give a whole number from 10 to 95, in digits alone`,
		}},
		{"a target above the trigger", inYAML, "compaction: {trigger_percent: 50, target_percent: 60}\n", []string{
			`a.yaml:1:13: compaction: target_percent is 60 and trigger_percent 50; the target has to be below`,
		}},
		{"no attempt", inYAML, "retry: {attempts: 0}\n", []string{
			`a.yaml:1:19: retry.attempts: is 0; give a whole number from 1 to 1000, in digits alone`,
		}},
		{"a time-out without a unit", inYAML, "timeouts: {inference: 30, tool: -5s}\n", []string{
			`a.yaml:1:23: timeouts.inference: is "30"; give a duration with its unit, such as 30s or 5m`,
			`a.yaml:1:33: timeouts.tool: is "-5s"; give a duration with its unit, such as 30s or 5m`,
		}},
		{"time-outs of a request that are none", inYAML, "timeouts: {connect: -1s, first_byte: 0s, idle: [5s], firstbyte: 5s}\n", []string{
			`a.yaml:1:21: timeouts.connect: is "-1s"; give a duration with its unit, such as 30s or 5m`,
			`a.yaml:1:38: timeouts.first_byte: is "0s"; give a duration with its unit, such as 30s or 5m`,
			`a.yaml:1:48: timeouts.idle: is a list; give a duration with its unit, such as 30s or 5m`,
			`a.yaml:1:54: timeouts.firstbyte: there is no such key; did you mean first_byte?`,
		}},
		{"a fallback that is not in a list", inYAML, "fallbacks: p/n\n", []string{
			`a.yaml:1:12: fallbacks: is a text, not a list; write it as [p/n]`,
		}},
		{"a fallback without a provider", inYAML, "fallbacks: [p/n, gpt-5-mini]\n", []string{
			`a.yaml:1:18: fallbacks[1]: "gpt-5-mini" is no model; write it as PROVIDER/NAME, such as openai-chat/gpt-5-mini`,
		}},
		{"a fallback without a model", inYAML, "fallbacks: [{on: [quota]}]\n", []string{
			`a.yaml:1:13: fallbacks[0].model: is missing; write it as PROVIDER/NAME, such as openai-chat/gpt-5-mini`,
		}},
		{"a fallback whose model has no name", inYAML, "fallbacks: [{model: {provider: p}}]\n", []string{
			`a.yaml:1:21: fallbacks[0].model.name: is missing; a model that is a mapping needs provider and name`,
		}},
		{"a fallback for a failure that is none", inYAML, "fallbacks: [{model: p/n, on: [qouta, rain]}]\n", []string{
			`a.yaml:1:31: fallbacks[0].on[0]: "qouta" is not known; did you mean quota?`,
			`a.yaml:1:38: fallbacks[0].on[1]: "rain" is not known; there are unavailable, throttled, quota, auth, model_not_found, context_overflow, filtered`,
		}},
		{"a fallback for a failure twice", inYAML, "fallbacks: [{model: p/n, on: [quota, quota]}]\n", []string{
			`a.yaml:1:38: fallbacks[0].on[1]: quota is listed twice; keep one`,
		}},
		{"a fallback for nothing", inYAML, "fallbacks: [{model: p/n, on: []}]\n", []string{
			`a.yaml:1:30: fallbacks[0].on: is empty; name a failure or leave the key out`,
		}},
		{"sub-agents", inYAML, "subagents: [helper.yaml]\n", []string{
			`a.yaml:1:12: subagents: is a list, not a mapping of keys to values`,
		}},
		{"a sub-agent without its file", inYAML, "subagents: {other: nowhere.yaml}\n", []string{
			"a.yaml:1:20: subagents.other: there is no such file; `agents list` shows those in ./agents and ./.everstep/agents",
		}},
		{"a sub-agent in a file and here", inYAML, "subagents: {other: {file: nowhere.yaml, system_prompt: Hi.}}\n", []string{
			"a.yaml:1:20: subagents.other: has a file, which says all but the description; leave the other keys out, or file",
		}},
		{"a sub-agent with a name that is none", inYAML, "subagents: {two words: {system_prompt: Hi.}}\n", []string{
			`a.yaml:1:13: subagents.two words: "two words" is no name; use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first`,
		}},
		{"an agent as a tool without its file", inYAML, "agents: [nobody]\n", []string{
			"a.yaml:1:10: agents.nobody: there is no such file; `agents list` shows those in ./agents and ./.everstep/agents",
		}},
		{"an agent as a tool with a name that is none", inYAML, "agents: {two.words: {description: Hi.}}\n", []string{
			`a.yaml:1:10: agents.two.words: "two.words" is no name of a tool; use 1 to 64 letters, digits, dashes and underscores`,
		}},
		{"an agent as a tool, and not", inYAML, "subagents: {helper: {system_prompt: Hi.}}\nagents: {helper: {description: Hi.}}\n", []string{
			`a.yaml:2:10: agents.helper: helper is in subagents, too; name it in one of them`,
		}},
		{"an agent as a tool of which nothing is said", inYAML, "agents: {helper: {system_prompt: Hi.}}\n", []string{
			`a.yaml: agents.helper: has no description, by which the model chooses it; give it one, there or in the agent's own file`,
		}},
		{"an agent as a tool that it is itself", inYAML, "agents: [a.yaml]\n", []string{
			"a.yaml:1:10: agents.a: is this file itself; an agent may start itself as one of subagents, which max_depth bounds",
		}},
		{"an agent with the name of a tool", inYAML, "tools: [read_file]\nagents: {read_file: {description: Hi.}}\n", []string{
			`a.yaml: agents.read_file: has the name of one of the agent's tools; give it another, or leave that out of tools`,
		}},
		{"an agent with the name of what starts others", inYAML, "agents: {spawn_subagent: {description: Hi.}}\n", []string{
			`a.yaml: agents.spawn_subagent: has the name of the tool that starts sub-agents; give it another`,
		}},
		{"a hand-off to nobody", inYAML, "handoffs: [nobody]\n", []string{
			"a.yaml:1:12: handoffs.nobody: there is no such file; `agents list` shows those in ./agents and ./.everstep/agents",
		}},
		{"a hand-off to itself", inYAML, "handoffs: [a.yaml]\n", []string{
			"a.yaml:1:12: handoffs.a: is this file itself, which has the conversation already; leave it out",
		}},
		{"a hand-off of which nothing is said", inYAML, "handoffs: {helper: {system_prompt: Hi.}}\n", []string{
			`a.yaml: handoffs.helper: has no description, by which the model chooses it; give it one, there or in the agent's own file`,
		}},
		{"a hand-off that is a tool", inYAML, "tools: [transfer_to_helper]\nhandoffs: {helper: {description: Hi.}}\n", []string{
			`a.yaml: handoffs.helper: its tool transfer_to_helper has the name of another one of the agent; give one of them another name`,
		}},
		{"sub-agents that are allowed nothing", inYAML, "subagent_policy: {allow: [], max_depth: 11}\n", []string{
			"a.yaml:1:26: subagent_policy.allow: is empty; name a tool, or give sub-agents `tools: []` for none",
			`a.yaml:1:41: subagent_policy.max_depth: is 11; give a whole number from 0 to 10, in digits alone`,
		}},
		{"all at once", inMarkdown, "---\nname: two words\nmodell: openai-chat/gpt-5-mini\ntools: [read_file, read_*]\nbudget:\n  max_steps: ten\n  max_cost: -1\ntimeouts:\n  tool: 5\n---\nYou review code.\n", []string{
			`a.md:2:7: name: "two words" is no name; use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first`,
			`a.md:3:1: modell: there is no such key; did you mean model?`,
			`a.md:4:20: tools[1]: "read_*" is a wildcard, which is not supported; name each tool`,
			`a.md:6:14: budget.max_steps: "ten" is a text, not a whole number`,
			`a.md:7:13: budget.max_cost: is "-1", which is negative; give dollars from 0 on, such as 0.5`,
			`a.md:9:9: timeouts.tool: is "5"; give a duration with its unit, such as 30s or 5m`,
		}},
	}
}
