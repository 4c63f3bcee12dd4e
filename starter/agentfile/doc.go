// Package agentfile reads agents from files: YAML, or Markdown with YAML front
// matter, whose text below the front matter is the system prompt.
//
// Its main type is File, which Load makes. Its one rule: a file is read whole or
// not at all, and whatever is wrong with it is said at once, each problem with
// its line and field. Nothing in a file is ignored: a key that is unknown is a
// problem, and so is one that this version cannot obey.
//
// What an execution runs is the domain.Definition that was read when it began,
// so that editing the file never changes a running agent. Keys of providers are
// never in a file.
//
// The keys, of which only a model has to be there, or be given by a flag:
//
//	name, description   texts; the name is the file's unless given
//	model               PROVIDER/NAME, or provider, name, base_url,
//	                    max_output_tokens, context_window, temperature, top_p,
//	                    options (sent as they are), price
//	model.price         input, output, cache_read, cache_write in dollars for a
//	                    million tokens, and long: {above_tokens, input, …}
//	fallbacks           a list of models that take over where one fails, in this
//	                    order: PROVIDER/NAME, or {model, on}, its model as
//	                    above; on lists the failures: unavailable, throttled,
//	                    quota, auth, model_not_found (these unless given),
//	                    context_overflow, filtered
//	system_prompt       a text; in Markdown the text below the front matter
//	tools               a list, a text with commas, or {allow, deny}
//	hooks               a list of hooks of the worker
//	budget              max_steps, max_tokens, max_cost (dollars), max_seconds,
//	                    max_tool_calls, deadline (RFC 3339); no limit unless given
//	guards              finish_reasons (a list), repeated_calls ({nudge_after,
//	                    stop_after} or off; 5 and 10), output_retries (2),
//	                    final_answer (false)
//	response_format     text, json_object, or {name, schema, mode}; the schema in
//	                    place or as the path of a file, mode native, tool or
//	                    instruction
//	compiler            current_trace (unless given), all_sections,
//	                    selected_sections, or a worker's own
//	sections            those that selected_sections shows
//	compaction          {trigger_percent, target_percent} of the context window,
//	                    or off; 80 and 40
//	retry               {attempts}; 12
//	timeouts            {inference, tool}, such as 30s; 15m and 5m; and of each
//	                    request, fallbacks included: connect, first_byte, idle
//	                    (the longest pause in an answer), the worker's unless given
//
// There are no anchors, aliases, tags or second documents, and at most 1 MiB. A
// script (scripted/FILE) and a schema are found from the file's folder on; a
// schema may not lie outside of it. Schema is all of this as JSON Schema.
//
// Start reading at Load; the keys are in definition.go.
package agentfile
