package local

import (
	"context"
	"errors"
	"os"

	"everstep/starter/client"
	"everstep/worker/host"
	"everstep/worker/host/statefile"
)

// A Reach is what of the workers' can be deleted from here, beside what the server has. What is nil cannot.
type Reach struct {
	Storage client.Storage
	Records client.RecordStore

	closes []func() error
}

// Reach opens the storage and the records that the environment names, as workers are given them, or the storage beside the
// state of a dev server of ours.
func (m *Machine) Reach(ctx context.Context, s *Stack) (r Reach, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	named := m.Env.Value(variableStorage)
	if named == "" && s.local != nil {
		named = statefile.StorageDir(s.local.StateFile)
		if _, missing := os.Stat(named); os.IsNotExist(missing) {
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
	if m.Env.Value(host.RecordsVariable) != "" {
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
