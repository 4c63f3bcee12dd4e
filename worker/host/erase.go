package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"everstep/activities/artifact"
	"everstep/domain"
	"everstep/domain/contract"
)

// A Storage is that of workers, as whoever deletes an agent reaches it.
type Storage struct {
	bucket *blob.Bucket
	// name is for people, and path the directory, where it is one.
	name, path string
}

// FindStorage opens the storage that Config.Storage of workers names. A directory has to be there. The caller closes it.
func FindStorage(ctx context.Context, name string) (*Storage, error) {
	path, err := storagePath(name)
	if err == nil && path != "" {
		_, err = os.Stat(path)
	}
	var bucket *blob.Bucket
	if err == nil {
		bucket, err = openBucket(ctx, name)
	}
	if err != nil {
		return nil, invalid("storage: %s: %s; name that of the workers with EVERSTEP_STORAGE", Shown(name), withoutSecrets(name, err.Error()))
	}
	return &Storage{bucket, Shown(name), path}, nil
}

// Name is the storage's, for people.
func (s *Storage) Name() string { return s.name }

// DeleteSegments deletes the segments of a workflow's transcript, and returns their names. It may be done again.
func (s *Storage) DeleteSegments(ctx context.Context, workflowID string) (names []string, err error) {
	return s.delete(ctx, contract.SegmentsOf(workflowID))
}

// DeleteArtifacts deletes the long results and images that are kept of a workflow's tools, and counts them. It may be
// done again.
func (s *Storage) DeleteArtifacts(ctx context.Context, workflowID string) (int, error) {
	names, err := s.delete(ctx, artifact.Of(workflowID))
	return len(names), err
}

// Close ends the use of the storage.
func (s *Storage) Close() error { return s.bucket.Close() }

// delete deletes what lies in a folder, that too which workers that died have left half-written, and names it.
func (s *Storage) delete(ctx context.Context, folder string) (names []string, _ error) {
	all, failed := s.bucket.List(&blob.ListOptions{Prefix: folder}).All(ctx)
	for object := range all {
		names = append(names, object.Key)
	}
	if err := failed(); err != nil {
		return nil, s.failed("list", folder, err)
	}
	for _, name := range names {
		if err := s.bucket.Delete(ctx, name); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return nil, s.failed("delete", name, err)
		}
	}
	return names, s.prune(folder)
}

// prune removes the directories that are left empty, which name the agent.
func (s *Storage) prune(folder string) error {
	if s.path == "" {
		return nil
	}
	root, err := os.OpenRoot(s.path)
	if err != nil {
		return s.failed("open", folder, err)
	}
	defer func() { _ = root.Close() }()
	var dirs []string
	err = fs.WalkDir(root.FS(), strings.TrimSuffix(folder, "/"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil // what cannot be read is left
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.failed("read", folder, err)
	}
	for _, dir := range slices.Backward(dirs) {
		_ = root.Remove(filepath.FromSlash(dir)) // one that is not empty has come to be of use again
	}
	return nil
}

func (s *Storage) failed(doing, name string, err error) error {
	return domain.Errorf(domain.Unavailable, "storage: cannot %s %s of %s: %v", doing, name, s.name, err)
}
