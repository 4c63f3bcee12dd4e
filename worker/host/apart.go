package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"everstep/domain"
)

// Apart makes sure that agents, who read and write the files of dir, reach nothing that workers keep: neither the storage
// nor the records may lie in it, nor it in them, through no link. A folder that does not exist yet lies where it would be
// made. Its error names the field and both places; empty names and buckets lie nowhere.
func Apart(dir, storage, records string) error {
	if dir == "" {
		return nil
	}
	for _, kept := range []struct{ field, variable, name, holds string }{
		{"storage", "EVERSTEP_STORAGE", storage, "conversations and whole results"},
		{"records", RecordsVariable, records, "the executions that have ended"},
	} {
		path, err := storagePath(kept.name)
		if kept.name == "" || path == "" || err != nil {
			continue // whoever opens it says what is wrong with it
		}
		how := "lies in"
		switch {
		case below(path, dir):
		case below(dir, path):
			how = "holds"
		default:
			continue
		}
		return domain.Errorf(domain.Invalid, "%s: %s %s %s, where agents read and write files, so they would reach %s; name another folder with --%s (%s), or let them work in another with --dir (EVERSTEP_DIR)",
			kept.field, path, how, dir, kept.holds, kept.field, kept.variable)
	}
	return nil
}

// below reports whether one folder is another or in it. Where it cannot be told, it is.
func below(path, folder string) bool {
	path, bad := placeOf(path)
	folder, worse := placeOf(folder)
	rest, err := filepath.Rel(folder, path)
	if bad != nil || worse != nil || err != nil {
		return true
	}
	return filepath.IsLocal(rest)
}

// placeOf is where a path leads, of which the end need not exist.
func placeOf(path string) (string, error) {
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
		return placeOf(target)
	}
	parent, err = placeOf(parent)
	return filepath.Join(parent, filepath.Base(path)), err
}
