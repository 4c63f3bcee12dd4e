// Package shell gives agents a tool that runs commands in a folder: shell, which is
// at-most-once. It works on Linux alone.
//
// Its main type is Shell. It has two rules.
//
// When a call ends, however it ends, nothing that it has started goes on, and neither does
// anything when the worker is killed. A keeper, this program once more, runs each command:
// orphans become its children wherever they went, and it ends them all before it ends
// itself. See keeper_linux.go, and Family of package warden.
//
// A command cannot approve the call that runs it: it reaches no server, no socket of this
// machine, nothing that workers keep and no process beside its own, unless the worker's
// configuration gives it the network. Where the system has them the keeper is the first
// process of namespaces (namespace_linux.go), which the kernel ends with it, and sees the
// files as enclose_linux.go shows them. Landlock keeps what is written in the folder
// (confine_linux.go), and a filter of system calls refuses what leads out
// (seccomp_linux.go). Where there are no namespaces those two are all: the filter then
// refuses every socket, and every change of a file's mode, owner and times. What forks
// fast enough may flee there. [Hold] says what a machine has.
package shell
