package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"everstep/activities/record"
	"everstep/starter/client"
	"everstep/worker/host"
)

// ErrNoRecords says what to do where no store of records is known.
var ErrNoRecords = invalid("records: there is no store here; name the workers' with %s, a directory or the URL of a bucket, or with %s the storage that they lie in", host.RecordsVariable, variableStorage)

// recordsPlace is where the workers' records are, as far as it is known here. Empty: it is not, or there are none.
func (m *Machine) recordsPlace() string {
	return host.RecordsPlace(m.knownStorage(), m.Env.Value(host.RecordsVariable))
}

// Records opens the workers' store of records, and makes it where there is none yet.
func (m *Machine) Records(ctx context.Context) (*record.Store, error) {
	place := m.recordsPlace()
	if place == "" {
		return nil, ErrNoRecords
	}
	return host.FindRecords(ctx, place)
}

// HasRecords reports whether there is a store of records to read. The one below a storage is there once a worker has used it.
func (m *Machine) HasRecords() bool {
	place := m.recordsPlace()
	if m.Env.Value(host.RecordsVariable) == "" && !strings.Contains(place, "://") {
		_, err := os.Stat(place)
		return !errors.Is(err, fs.ErrNotExist)
	}
	return place != ""
}

// records are opened when they are first asked for: most commands never do. Nil: there are none to read.
func (m *Machine) records() client.Records {
	if !m.HasRecords() {
		return nil
	}
	return record.Later(host.Shown(m.recordsPlace()), func() (*record.Store, error) { return m.Records(context.Background()) })
}

// A Reach is what of the workers' can be deleted from here, beside what the server has. What is nil cannot.
type Reach struct {
	Storage client.Storage
	Records client.RecordStore

	closes []func() error
}

// Reach opens the storage and the records of the workers, as far as they are known here.
func (m *Machine) Reach(ctx context.Context) (r Reach, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	named := m.knownStorage()
	if m.Env.Value(variableStorage) == "" {
		if _, missing := os.Stat(named); named != "" && os.IsNotExist(missing) {
			r.Storage, named = noStorage(named), ""
		}
	}
	if named != "" {
		storage, err := host.FindStorage(ctx, named)
		if err != nil {
			return r, err
		}
		r.Storage, r.closes = storage, append(r.closes, storage.Close)
	}
	if m.HasRecords() {
		records, err := m.Records(ctx)
		if err != nil {
			return r, err
		}
		r.Records, r.closes = records, append(r.closes, records.Close)
	}
	return r, nil
}

// Close ends its use.
func (r Reach) Close() (err error) {
	for _, one := range r.closes {
		err = errors.Join(err, one())
	}
	return err
}

// noStorage is one that no worker has needed yet.
type noStorage string

func (n noStorage) Name() string { return string(n) }

func (n noStorage) DeleteSegments(context.Context, string) ([]string, error) { return nil, nil }

func (n noStorage) DeleteArtifacts(context.Context, string) (int, error) { return 0, nil }
