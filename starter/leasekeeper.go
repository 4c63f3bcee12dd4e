package main

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"everstep/starter/devserver"
)

// A leaseKeeper holds a lease on the dev server, and has it started again on
// the same ports when it dies.
type leaseKeeper struct {
	server devserver.Server
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// lease joins the dev server of ours, or starts it. Fields of cfg that say
// where things are, are set here.
func (p *program) lease(ctx context.Context, cfg devserver.Config) (*leaseKeeper, error) {
	cfg.StateFile, cfg.Binary = p.stateFile(), p.env.value(variableTemporal)
	cfg.Progress = func(line string) { p.say("%s", line) }
	executable, err := p.executable()
	if err != nil {
		return nil, err
	}
	cfg.Supervisor = []string{executable, devserver.SupervisorCommand}
	lease, err := devserver.Acquire(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil, &exitError{code: exitDetached, text: "interrupted; nothing was started", cause: ctx.Err()}
		}
		return nil, err
	}
	background, cancel := context.WithCancel(context.Background())
	k := &leaseKeeper{server: lease.Server(), cancel: cancel}
	cfg.StateFile = k.server.StateFile
	cfg.Port, cfg.UIPort = portOf(k.server.Address), portOfURL(k.server.UIURL)
	k.ended.Go(func() { k.keep(background, p, lease, cfg) })
	return k, nil
}

// Server is the server as it was first met; its ports stay the same.
func (k *leaseKeeper) Server() devserver.Server { return k.server }

// Close gives the lease up.
func (k *leaseKeeper) Close() {
	k.cancel()
	k.ended.Wait()
}

func (k *leaseKeeper) keep(ctx context.Context, p *program, lease *devserver.Lease, cfg devserver.Config) {
	for {
		select {
		case <-ctx.Done():
			_ = lease.Close() // nothing is left to do with it
			return
		case <-lease.Done():
		}
		p.say("the dev server is gone; starting it again")
		for {
			again, err := devserver.Acquire(ctx, cfg)
			if err == nil {
				lease = again
				break
			}
			if !sleep(ctx, restartDelay) {
				return
			}
			p.say("the dev server does not come back: %s; trying again", err)
			if !sleep(ctx, 5*time.Second) {
				return
			}
		}
	}
}

// sleep waits, and reports whether ctx lasted.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func portOf(address string) int {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return port
}

func portOfURL(text string) int {
	u, err := url.Parse(text)
	if err != nil {
		return 0
	}
	return portOf(u.Host)
}
