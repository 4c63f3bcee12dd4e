package record

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A directory keeps objects as files, and never leaves its root, whatever links stand in it.
type directory struct{ root *os.Root }

// OpenDirectory is the store in a directory, which is made where it does not exist.
func OpenDirectory(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Store{timely{func() (objects, error) { return directory{root}, nil }}, dir}, nil
}

// begun begins the names of files that are being written.
const begun = ".writing-"

// write writes beside, has the disk take it, and renames, or links where nothing is to be replaced: who reads finds the old file or
// the new one.
func (d directory) write(ctx context.Context, key string, object []byte, over overwrite) error {
	folder := path.Dir(key)
	beside := folder + "/" + begun + uuid.NewString()
	file, err := d.begin(beside)
	if errors.Is(err, fs.ErrNotExist) { // removeOne has just taken the empty folder away
		file, err = d.begin(beside)
	}
	if err != nil {
		return cause(err)
	}
	d.sweep(folder)
	_, err = file.Write(object)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = context.Cause(ctx) // who has left may have undone it
	}
	if err == nil && over == replaces {
		err = d.root.Rename(beside, key)
	} else if err == nil {
		err = d.root.Link(beside, key)
	}
	if err != nil || over == creates {
		_ = d.root.Remove(beside) // what remains is swept later
	}
	if err != nil {
		return cause(err)
	}
	for _, folder := range []string{folder, "."} {
		if opened, err := d.root.Open(folder); err == nil {
			_ = opened.Sync() // not every file system can
			_ = opened.Close()
		}
	}
	return nil
}

func (d directory) begin(file string) (*os.File, error) {
	if err := d.root.MkdirAll(path.Dir(file), 0o700); err != nil {
		return nil, err
	}
	return d.root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// sweep removes what processes that died have left half-written.
func (d directory) sweep(folder string) {
	entries, _ := fs.ReadDir(d.root.FS(), folder) // what cannot be listed is not swept
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), begun) && time.Since(info.ModTime()) > time.Hour {
			_ = d.root.Remove(folder + "/" + e.Name())
		}
	}
}

// errNoFile is the error of what stands in a record's place and is a link, a pipe or a folder.
var errNoFile = errors.New("is no regular file; put the file itself there, or delete it")

// read takes files only: to open what else may stand there could wait for ever.
func (d directory) read(_ context.Context, key string) ([]byte, error) {
	info, err := d.root.Lstat(key)
	if err != nil {
		return nil, cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	file, err := d.root.Open(key)
	if err != nil {
		return nil, cause(err)
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxObject))
}

// list takes folders only: to open what else may stand there could wait for ever.
func (d directory) list(_ context.Context, folder string) ([]string, error) {
	info, err := d.root.Stat(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cause(err)
	}
	if !info.IsDir() {
		return nil, errors.New("it is no folder")
	}
	entries, err := fs.ReadDir(d.root.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) { // it was deleted meanwhile
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, cause(err)
}

func (d directory) folders(context.Context) (names []string, _ error) {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, cause(err)
}

func (d directory) remove(_ context.Context, key string) error {
	if err := d.root.RemoveAll(key); err != nil {
		return cause(err)
	}
	_ = d.root.Remove(path.Dir(key)) // only an empty folder can be removed
	return nil
}

func (d directory) close() error { return d.root.Close() }

// cause is an error without the path, which who reports it knows.
func cause(err error) error {
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return failed.Err
	}
	if failed, ok := errors.AsType[*os.LinkError](err); ok {
		return failed.Err
	}
	return err
}
