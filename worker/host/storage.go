package host

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/memblob" // storage mem://, for tests
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
