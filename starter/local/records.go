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
