// Package shell gives agents a tool that runs commands in a folder: shell, which is
// at-most-once. It works on Linux alone.
//
// Its main type is Shell. Its one rule: when a call ends, however it ends, nothing that
// it has started goes on, and neither does anything when the worker is killed. A keeper,
// this program once more, runs each command: orphans become its children wherever they
// went, and it ends them all before it ends itself. See keeper_linux.go, and Family of package warden. Where the system
// has one for it, it is the first process of a namespace, which the kernel ends with it,
// and out of which nothing can be named; elsewhere it runs after what flees, and may
// lose. See namespace_linux.go.
//
// On kernels that have Landlock, commands write nowhere but in the folder and in a
// temporary one of their own; see confine_linux.go. It is no sandbox beyond that: commands read what the worker's user
// may read, but for the files that the configuration hides, and have its network.
package shell
