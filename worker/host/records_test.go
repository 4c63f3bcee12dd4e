package host_test

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"everstep/domain"
	"everstep/testsuite/stores" //nolint:depguard // a sample of a record, for the test alone
	"everstep/worker/host"
)

func TestRecordsPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	here, err := filepath.Abs("kept")
	require.NoError(t, err)
	for name, test := range map[string]struct{ storage, records, want string }{
		"nothing":               {"", "", ""},
		"a directory":           {dir, "", filepath.Join(dir, "records")},
		"with a slash":          {dir + "/", "", filepath.Join(dir, "records")},
		"a relative directory":  {"kept/", "", filepath.Join(here, "records")},
		"a directory's URL":     {"file://" + dir + "/", "", filepath.Join(dir, "records")},
		"another place":         {dir, "s3://other", "s3://other"},
		"records alone":         {"", dir, dir},
		"off":                   {dir, host.RecordsOff, ""},
		"off without a storage": {"", host.RecordsOff, ""},
		"a folder called off":   {dir, "./off", "./off"},
		"a bucket":              {"s3://bucket?prefix=a/&region=x", "", "s3://bucket?prefix=a/&region=x"},
	} {
		require.Equal(t, test.want, host.RecordsPlace(test.storage, test.records), name)
	}
}

// TestRecordsBelowABucket under the prefix of its URL, where storage has its own objects.
func TestRecordsBelowABucket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	scheme := "shelf" + strings.ToLower(filepath.Base(filepath.Dir(dir))) // another one at each run of the test
	blob.DefaultURLMux().RegisterBucket(scheme, shelf(dir))
	storage := scheme + "://user:sesame@bucket?prefix=team/&token=sesame"
	bucket, err := host.OpenStorage(t.Context(), storage)
	require.NoError(t, err)
	require.NoError(t, bucket.WriteAll(t.Context(), "segments/x", []byte("x"), nil))
	require.NoError(t, bucket.Close())

	store, err := host.OpenRecords(t.Context(), host.RecordsPlace(storage, ""))
	require.NoError(t, err)
	one := stores.Sample(t, "ann", 1)[0]
	require.NoError(t, store.Record(t.Context(), one))
	require.NotContains(t, store.Name(), "sesame")
	require.Contains(t, store.Name(), "bucket?prefix=team/")
	require.NoError(t, store.Close())
	require.FileExists(t, filepath.Join(dir, "team", "segments", "x"))
	found, err := filepath.Glob(filepath.Join(dir, "team", "records", one.AgentID.String(), "*"))
	require.NoError(t, err)
	require.Len(t, found, 1)
}

// A shelf is a bucket in a directory, whose URL holds credentials.
type shelf string

func (s shelf) OpenBucketURL(context.Context, *url.URL) (*blob.Bucket, error) {
	return fileblob.OpenBucket(string(s), &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
}

// TestBadPlacesOfRecords are told with both variables that may name them, and without credentials.
func TestBadPlacesOfRecords(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"file://relative", "nosuch://user:sesame@bucket", "nosuch://bucket?token=sesame", "http://sesame:a b@c"} {
		_, err := host.FindRecords(t.Context(), host.RecordsPlace(storage, ""))
		require.Equal(t, domain.Invalid, domain.AsError(err).Kind, storage)
		require.Contains(t, err.Error(), "EVERSTEP_STORAGE")
		require.Contains(t, err.Error(), host.RecordsVariable)
		require.NotContains(t, err.Error(), "sesame")
		_, err = host.OpenStorage(t.Context(), storage)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "sesame")
		_, err = host.FindStorage(t.Context(), storage)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "sesame")
		_, err = read(t, host.Config{}, variables{"EVERSTEP_STORAGE": storage})
		require.ErrorContains(t, err, "EVERSTEP_STORAGE: ")
		require.NotContains(t, err.Error(), "sesame")
	}
}
