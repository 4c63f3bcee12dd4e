// Package script holds the command line to what users rely on, by scripts: files of testdata, each one conversation with
// the programs starter and worker, built once and run as they are.
//
// A script says what a command exits with, what is on standard output and what on standard error, the keys of its JSON,
// and the gist of its text by a short pattern. It names no private form and no whole sentence, so that it fails where a
// user would notice.
//
// testdata/shared has the scripts that share one dev server with one worker, at $ADDRESS, of which the worker's folder
// holds note.txt; testdata/alone those with a state file, and so with a dev server, of their own. Ids begin with $A, or
// end with it, which no other script and no other run of the script has. $OWN is a folder for what agents must not see.
//
// Beside the commands of testscript there are these verbs:
//
//	starter COMMAND [ARG…]           run it to its end; its exit code is 0
//	exits CODE starter COMMAND …     the same, with another exit code
//	soon starter COMMAND …           run it until its exit code is 0
//	reads FILE                       the next such command reads the file as its standard input
//	begins NAME starter|worker …     start it beside the script
//	terminal NAME starter COMMAND …  the same, on a terminal of its own
//	types NAME TEXT [PATTERN]        type on that terminal; each second anew until it draws what matches
//	hangs-up NAME                    close that terminal
//	waits-for NAME PATTERN           wait until it has written what matches
//	waits-for-file FILE              wait until a file is there
//	signal INT|TERM|HUP|KILL NAME    send it a signal
//	ends NAME CODE|killed            wait for its end; what it has written is then stdout and stderr
//	agent ID CONDITION…              wait until `status ID --json` fits
//	json CONDITION…                  stdout is one JSON value, and fits
//	jsonl CONDITION…                 stdout is JSON values, a list, and fits
//	keep NAME [KEY]                  set a variable to stdout, or to what its JSON has there
//	ordered FILE PATTERN…            the patterns match one after the other
//	set NAME=VALUE…                  set variables; testscript's own env does not reach begins, terminal and agent
//
// A condition is KEY, which has to be there, KEY=VALUE or KEY~PATTERN. A key is a path such as steps.0.number, where * is
// any item of a list, and len their number. `! json` requires that no condition holds.
//
// Commands are written under the names of the table names, where those are others than the words of the command line: a
// command that is renamed is one line there.
//
// Each command of `starter --help` has to occur in a script, and each promise of `starter help promises` has to be named
// by a comment `# Promise: …` of one, which has words of that row, or to stand in testdata/not_shown.txt with the reason.
package script
