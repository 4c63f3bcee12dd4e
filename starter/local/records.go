package local

import (
	"context"
	"sync"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// Records opens the store of records that the environment names.
func (m *Machine) Records(ctx context.Context) (*record.Store, error) {
	if err := m.NamesRecords(); err != nil {
		return nil, err
	}
	return host.FindRecords(ctx, m.Env.Value(host.RecordsVariable))
}

// NamesRecords says what to do where the environment names no store of records.
func (m *Machine) NamesRecords() error {
	if m.Env.Value(host.RecordsVariable) == "" {
		return &client.Error{Class: client.Invalid, Message: "records: no store is named; name the workers' with " + host.RecordsVariable + ", a directory or the URL of a bucket"}
	}
	return nil
}

// records are opened when they are first asked for: most commands never do. Nil: the environment names none.
func (m *Machine) records() client.Records {
	if m.Env.Value(host.RecordsVariable) == "" {
		return nil
	}
	return lazyRecords{sync.OnceValues(func() (*record.Store, error) { return m.Records(context.Background()) })}
}

type lazyRecords struct{ open func() (*record.Store, error) }

// Agents is record.Store's.
func (l lazyRecords) Agents(ctx context.Context) ([]domain.AgentID, error) {
	store, err := l.open()
	if err != nil {
		return nil, err
	}
	return store.Agents(ctx)
}

// List is record.Store's.
func (l lazyRecords) List(ctx context.Context, agent domain.AgentID) ([]record.Ref, error) {
	store, err := l.open()
	if err != nil {
		return nil, err
	}
	return store.List(ctx, agent)
}

// Parts is record.Store's.
func (l lazyRecords) Parts(ctx context.Context, ref record.Ref) ([]record.Part, error) {
	store, err := l.open()
	if err != nil {
		return nil, err
	}
	return store.Parts(ctx, ref)
}

// Get is record.Store's.
func (l lazyRecords) Get(ctx context.Context, ref record.Ref) (record.Record, error) {
	store, err := l.open()
	if err != nil {
		return record.Record{}, err
	}
	return store.Get(ctx, ref)
}
