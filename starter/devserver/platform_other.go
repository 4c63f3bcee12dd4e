//go:build !unix

package devserver

import (
	"os"
	"syscall"
)

func ownSession() *syscall.SysProcAttr                  { return nil }
func socketOfOne(string, string, syscall.RawConn) error { return nil }
func keepFilesPrivate()                                 {}
func keepFromChildren(*os.File)                         {}
func killed(*os.ProcessState) bool                      { return false }
