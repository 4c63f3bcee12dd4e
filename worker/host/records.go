package host

import (
	"context"
	"errors"
	"path/filepath"

	"gocloud.dev/blob"

	"everstep/activities/record"
)

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
