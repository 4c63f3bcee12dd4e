package shell

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// PlaceOf is where a path leads through links, absolute. The end of it need not exist.
func PlaceOf(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	parent := filepath.Dir(path)
	if !errors.Is(err, fs.ErrNotExist) || parent == path {
		return real, err
	}
	if target, err := os.Readlink(path); err == nil { // it leads to where nothing is yet
		if !filepath.IsAbs(target) {
			target = filepath.Join(parent, target)
		}
		return PlaceOf(target)
	}
	parent, err = PlaceOf(parent)
	return filepath.Join(parent, filepath.Base(path)), err
}
