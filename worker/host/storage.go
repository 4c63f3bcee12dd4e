package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/memblob" // storage mem://, for tests
	"gocloud.dev/gcerrors"

	"everstep/activities/artifact"
	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/contract"
)

// OpenStorage opens what Config.Storage names and proves that it can be written,
// read and deleted. The empty name is no storage: nil. The caller closes it.
//
// A directory is made where it does not exist. Schemes beside file:// are those
// of the gocloud.dev drivers that a worker imports.
func OpenStorage(ctx context.Context, name string) (*blob.Bucket, error) {
	if name == "" {
		return nil, nil
	}
	bucket, err := openBucket(ctx, name)
	if err != nil {
		return nil, storageError(name, "open", err)
	}
	if doing, err := probe(ctx, bucket); err != nil {
		return nil, errors.Join(storageError(name, doing, err), bucket.Close())
	}
	return bucket, nil
}

func openBucket(ctx context.Context, name string) (*blob.Bucket, error) {
	path, err := storagePath(name)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return blob.OpenBucket(ctx, name)
	}
	// Temporary files beside the objects, so that a rename never crosses file
	// systems and is atomic.
	return fileblob.OpenBucket(path, &fileblob.Options{
		CreateDir: true, DirFileMode: 0o700, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
}

// storagePath is the directory that a storage names, or nothing for a bucket. The error says what is wrong with the name, as far
// as it tells.
func storagePath(name string) (string, error) {
	scheme, _, isURL := strings.Cut(name, "://")
	parsed, err := url.Parse(name)
	wrong := func(what string) error {
		return fmt.Errorf("%q %s; give a directory or the URL of a bucket", Shown(name), what)
	}
	switch {
	case strings.TrimSpace(name) == "":
		return "", errors.New("is empty; give a directory or the URL of a bucket")
	case !isURL:
		return filepath.Abs(name)
	case err != nil:
		return "", wrong("is no URL")
	case scheme == "file" && (parsed.Host != "" || parsed.Path == "" || parsed.RawQuery != ""):
		return "", wrong("is not of the form file:///a/directory")
	case scheme == "file":
		return filepath.FromSlash(parsed.Path), nil
	case !blob.DefaultURLMux().ValidBucketScheme(scheme):
		return "", fmt.Errorf("%q: no driver for %s:// is linked into this worker; give a directory, or import gocloud.dev's driver in a worker of your own", Shown(name), scheme)
	}
	return "", nil
}

// probe writes, reads and deletes a small object. It says what failed.
func probe(ctx context.Context, bucket *blob.Bucket) (doing string, err error) {
	key, want := "probe/"+uuid.NewString(), "everstep"
	if err := bucket.WriteAll(ctx, key, []byte(want), &blob.WriterOptions{ContentType: "text/plain"}); err != nil {
		return "write to", err
	}
	got, err := bucket.ReadAll(ctx, key)
	if err == nil && string(got) != want {
		err = fmt.Errorf("%d bytes were written and %d others came back", len(want), len(got))
	}
	if err != nil {
		return "read from", err
	}
	return "delete from", bucket.Delete(ctx, key)
}

func storageError(name, doing string, err error) error {
	return invalid("storage: cannot %s %s: %s; make it writable, or name another with --storage (EVERSTEP_STORAGE)", doing, Shown(name), withoutSecrets(name, err.Error()))
}

// Shown is the name of a storage or of records for people: a URL without its credentials.
func Shown(name string) string { return withoutSecrets(name, name) }

// withoutSecrets hides in a text what the URL of a bucket may hold of credentials: the user, and all values of the query
// but the prefix.
func withoutSecrets(name, text string) string {
	_, rest, _ := strings.Cut(name, "://")
	place, query, _ := strings.Cut(rest, "?")
	var replaced []string
	if end := strings.LastIndex(place, "@"); end > 0 {
		replaced = append(replaced, place[:end], "…")
	}
	for pair := range strings.SplitSeq(query, "&") {
		if key, value, _ := strings.Cut(pair, "="); value != "" && key != "prefix" {
			replaced = append(replaced, pair, key+"=…")
		}
	}
	return strings.NewReplacer(replaced...).Replace(text)
}

// RecordsVariable names where executions are recorded when they have ended, to workers and to those who read there.
const RecordsVariable = "EVERSTEP_RECORDS"

// RecordsOff is the value of Config.Records by which nothing is recorded.
const RecordsOff = "off"

// RecordsPlace is where executions are recorded, for workers and for those who read there: the place that records names,
// none where it is RecordsOff, and where it is empty records/ below the storage. Empty: nothing is recorded.
func RecordsPlace(storage, records string) string {
	switch {
	case records == RecordsOff:
		return ""
	case records != "" || storage == "":
		return records
	}
	path, err := storagePath(storage)
	if err != nil || path == "" {
		return storage // records lie in records/ of every bucket; whoever opens it says what is wrong with the name
	}
	return filepath.Join(path, "records")
}

// OpenRecords opens the place of records, as FindRecords does, and proves that it can be written, read and deleted.
func OpenRecords(ctx context.Context, name string) (*record.Store, error) {
	store, err := FindRecords(ctx, name)
	if err != nil || store == nil {
		return nil, err
	}
	if err = store.Probe(ctx); err != nil {
		return nil, errors.Join(recordsError(name, err), store.Close())
	}
	return store, nil
}

// FindRecords opens a store of records for those who may only read it. The empty name is none: nil. A directory is made
// where it does not exist. The caller closes it.
func FindRecords(ctx context.Context, name string) (*record.Store, error) {
	if name == "" {
		return nil, nil
	}
	path, err := storagePath(name)
	var store *record.Store
	switch {
	case err != nil:
	case path != "":
		store, err = record.OpenDirectory(path)
	default:
		var bucket *blob.Bucket
		if bucket, err = blob.OpenBucket(ctx, name); err == nil {
			store = record.InBucket(bucket, Shown(name))
		}
	}
	if err != nil {
		return nil, recordsError(name, err)
	}
	return store, nil
}

func recordsError(name string, err error) error {
	return invalid("records: %s: %s; make it writable, or name another with --records (%s), or the storage that they lie in with EVERSTEP_STORAGE", Shown(name), withoutSecrets(name, err.Error()), RecordsVariable)
}

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
