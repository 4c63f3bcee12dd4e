// Package kill kills the worker of an agent on purpose and has another one take over. The command demo shows a kill, and the
// proofs of testsuite/proof make them by the hundred.
//
// Its main type is [Controller]. Its one rule: the controller knows processes alone. Whoever has one watches the agent,
// calls [Controller.Kill] at the point where the worker is to die, and [Kill.GoesOn] at the first thing that the agent does
// afterwards.
package kill

import (
	"fmt"
	"os"
	"sync"
	"time"

	"everstep/starter/process"
)

// A Controller has one worker process at a time. It is safe for concurrent use.
type Controller struct {
	start func() (*process.Process, error)
	lost  func(*os.ProcessState)

	mu     sync.Mutex
	worker *process.Process // nil when the controller is closed
}

// Start starts the first worker. start is called for each worker. lost is called where one ends that nobody has killed, and
// not while start is. That a worker runs says nothing of whether it serves.
func Start(start func() (*process.Process, error), lost func(*os.ProcessState)) (*Controller, error) {
	c := &Controller{start: start, lost: lost}
	return c, c.next()
}

// next starts a worker in place of the one before. The lock is the caller's, where others know the controller.
func (c *Controller) next() (err error) {
	c.worker = nil
	worker, err := c.start()
	if err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	c.worker = worker
	go func() {
		<-worker.Done
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.worker == worker {
			c.lost(worker.State())
		}
	}()
	return nil
}

// PID is the process of the worker that serves now; zero: there is none.
func (c *Controller) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.worker == nil {
		return 0
	}
	return c.worker.PID
}

// Kill kills the worker with SIGKILL, and starts the next when it is gone. The kill is told also where no other worker can
// be started.
func (c *Controller) Kill() (*Kill, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	worker := c.worker
	k := &Kill{PID: worker.PID, At: time.Now()}
	c.worker = nil // its end is expected
	worker.Kill()
	if err := c.next(); err != nil {
		return k, err
	}
	k.TookOver = c.worker.PID
	return k, nil
}

// Close kills the worker, and starts no other.
func (c *Controller) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if worker := c.worker; worker != nil {
		c.worker = nil
		worker.Kill()
	}
}

// A Kill is one SIGKILL of a worker.
type Kill struct {
	// PID is the process that was killed, and TookOver the one that was started in its place.
	PID, TookOver int
	At            time.Time
	// WentOn is the time from the kill to the first thing that the agent did afterwards; zero: nothing yet.
	WentOn time.Duration
}

// GoesOn is told of what the agent can only have done with the next worker. It reports whether it is the first such thing.
func (k *Kill) GoesOn() bool {
	if k.WentOn > 0 {
		return false
	}
	k.WentOn = time.Since(k.At)
	return true
}
