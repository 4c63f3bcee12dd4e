package files

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"everstep/activities/tool"
)

const (
	asidePrefix = ".everstep-"
	asideSuffix = ".tmp"
)

// temporary names the file in which an attempt of a call writes. It follows
// from the call, so that a later attempt finds what a killed one left behind.
func temporary(call tool.Call, attempt int) string {
	return fmt.Sprintf("%s%s-%d%s", asidePrefix, call.ID, attempt, asideSuffix)
}

// isTemporary reports whether a name is one that temporary gives: no tool shows
// such files.
func isTemporary(name string) bool {
	return strings.HasPrefix(name, asidePrefix) && strings.HasSuffix(name, asideSuffix)
}

// putAside writes a file and waits until the disk has it. Without permissions
// to keep, it gets those that the process gives new files.
func (r *Root) putAside(name, text string, perm fs.FileMode) error {
	mode := perm
	if perm == 0 {
		mode = 0o666
	}
	file, err := r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err == nil && perm != 0 {
		err = file.Chmod(perm)
	}
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
