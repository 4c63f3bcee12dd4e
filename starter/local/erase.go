package local

import (
	"context"
	"errors"
	"os"

	"everstep/starter/client"
	"everstep/worker/host"
)

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
