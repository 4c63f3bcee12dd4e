// Package process runs programs that end with this one: what the dev server, its workers
// and the proof need alike of the operating system.
//
// Its main type is [Process]. Its one rule: nothing here outlives the process
// that started it, as far as the system can see to that.
package process
