//go:build !unix

package devserver

import (
	"errors"
	"os"
	"syscall"
)

func supported() error {
	return errors.New("a dev server of our own needs unix: run `temporal server start-dev` and give its address")
}

func ownedByMe(os.FileInfo) bool       { return false }
func ownSession() *syscall.SysProcAttr { return nil }
func keepFilesPrivate()                {}
func keepFromChildren(*os.File)        {}
func killed(*os.ProcessState) bool     { return false }
