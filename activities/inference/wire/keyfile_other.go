//go:build !unix

package wire

import "io/fs"

// checkOwner has nothing to check: the file's mode says nothing here.
func checkOwner(fs.FileInfo, bool) error { return nil }
