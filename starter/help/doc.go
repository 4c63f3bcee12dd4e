// Package help holds what users read beyond the README: a page of Markdown for
// each topic, embedded, so that it cannot part from the program that it explains.
//
// Its main type is [Topic]. Its one rule: a page is a file of this folder, and
// nothing else knows of it; whoever adds a file has added a topic. The first
// line of a page is its heading, which is also its line in the list. Tests hold
// each page to what it names: commands, flags, variables, keys, Go names, tests.
//
// Start reading at [Topics].
package help
