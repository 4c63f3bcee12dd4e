package local

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/starter/process"
)

// A LeaseKeeper holds a lease on the dev server, and has it started again on
// the same ports when it dies.
type LeaseKeeper struct {
	server devserver.Server
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// Lease joins the dev server of ours, or starts it. Fields of cfg that say
// where things are, are set here.
func (m *Machine) Lease(ctx context.Context, cfg devserver.Config) (*LeaseKeeper, error) {
	cfg.StateFile = m.stateFile()
	cfg, err := m.ours(cfg)
	if err != nil {
		return nil, err
	}
	lease, err := devserver.Acquire(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil, &client.Error{Class: client.Cancelled, Message: "interrupted; nothing was started", Err: ctx.Err()}
		}
		return nil, err
	}
	background, cancel := context.WithCancel(context.Background())
	k := &LeaseKeeper{server: lease.Server(), cancel: cancel}
	cfg.StateFile = k.server.StateFile
	cfg.Port, cfg.UIPort = portOf(k.server.Address), portOf(k.server.UIURL)
	k.ended.Go(func() { k.keep(background, m, lease, cfg) })
	return k, nil
}

// ours says how a dev server is started from this program.
func (m *Machine) ours(cfg devserver.Config) (devserver.Config, error) {
	executable, err := m.Executable()
	cfg.Binary, cfg.Progress = m.Env.Value(VariableTemporal), m.Progress
	cfg.Supervisor = []string{executable, devserver.SupervisorCommand}
	return cfg, err
}

// Throwaway is a dev server for one command alone, which nobody joins by
// chance. It goes with this process at the latest.
func (m *Machine) Throwaway(ctx context.Context, stateFile string, dynamic map[string]string) (*devserver.Lease, error) {
	cfg, err := m.ours(devserver.Config{StateFile: stateFile, Dynamic: dynamic})
	if err != nil {
		return nil, err
	}
	return devserver.Acquire(ctx, cfg)
}

// Server is the server as it was first met; its ports stay the same.
func (k *LeaseKeeper) Server() devserver.Server { return k.server }

// Close gives the lease up.
func (k *LeaseKeeper) Close() {
	k.cancel()
	k.ended.Wait()
}

func (k *LeaseKeeper) keep(ctx context.Context, m *Machine, lease *devserver.Lease, cfg devserver.Config) {
	for {
		select {
		case <-ctx.Done():
			_ = lease.Close() // nothing is left to do with it
			return
		case <-lease.Done():
		}
		m.Say("the dev server is gone; starting it again")
		for {
			again, err := devserver.Acquire(ctx, cfg)
			if err == nil {
				lease = again
				break
			}
			if process.Pause(ctx, restartDelay) != nil {
				return
			}
			m.Say("the dev server does not come back: %s; trying again", err)
			if process.Pause(ctx, 5*time.Second) != nil {
				return
			}
		}
	}
}

// portOf is the port of an address or a URL; zero, any, where it has none.
func portOf(address string) int {
	port, _ := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	return port
}
