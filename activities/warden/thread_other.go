//go:build !linux

package warden

// onFirstThread is for Linux, where threads can be in other namespaces than their process.
func onFirstThread() bool { return false }
