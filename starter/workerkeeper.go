package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// A workerKeeper sees to it that a task queue of the dev server has a worker
// for as long as a command lasts.
//
// One process of ours serves a queue at a time, since the root of the file
// tools is the worker's: that process holds the queue's lock. The others wait
// for it, and take over when it ends.
type workerKeeper struct {
	// failed delivers why no worker can be kept. There is at most one.
	failed chan error

	spec    workerSpec
	serving atomic.Bool
	say     func(string, ...any)
	cancel  context.CancelFunc
	ended   sync.WaitGroup
}

const (
	// shortLife is how soon a worker ends that cannot serve.
	shortLife = 5 * time.Second
	// shortLives is how many in a row are too many.
	shortLives = 3
)

// keepWorker starts to keep a worker. Where the queue is already served from
// another folder it says so, and refuses where the folder was asked for. log
// gets what the worker logs; nil keeps its end for when it fails.
func (p *program) keepWorker(spec workerSpec, folderAsked bool, log io.Writer) (*workerKeeper, error) {
	var err error
	if spec.executable, err = p.executable(); err != nil {
		return nil, err
	}
	spec.storage, spec.environment, spec.log = p.storage(spec.state), p.env.forWorker(), log
	lock, holder, err := takeQueue(spec)
	if err != nil && !errors.Is(err, errServed) {
		return nil, err
	}
	if lock == nil {
		switch {
		case holder.Dir == spec.dir:
			p.say("process %d already runs a worker for task queue %s", holder.PID, spec.taskQueue)
		case folderAsked:
			return nil, &exitError{code: exitRefused, text: fmt.Sprintf(
				"dir: process %d already runs a worker for task queue %s, in %s; leave --dir out to use it, or end it first",
				holder.PID, spec.taskQueue, holder.Dir)}
		default:
			p.say("process %d already runs a worker for task queue %s: file tools work in %s", holder.PID, spec.taskQueue, holder.Dir)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &workerKeeper{failed: make(chan error, 1), spec: spec, say: p.say, cancel: cancel}
	k.ended.Go(func() { k.keep(ctx, lock) })
	return k, nil
}

// Serving reports whether the worker of the queue is this process's.
func (k *workerKeeper) Serving() bool { return k.serving.Load() }

// Close stops the worker gracefully, and returns when it has ended.
func (k *workerKeeper) Close() {
	k.cancel()
	k.ended.Wait()
}

func (k *workerKeeper) keep(ctx context.Context, lock io.Closer) {
	for lock == nil {
		if !sleep(ctx, restartDelay) {
			return
		}
		taken, _, err := takeQueue(k.spec)
		if errors.Is(err, errServed) {
			continue
		}
		if err != nil {
			k.failed <- err
			return
		}
		k.say("the other worker is gone; this command runs one now, in %s", k.spec.dir)
		lock = taken
	}
	defer lock.Close()
	k.serving.Store(true)
	if err := k.serve(ctx); err != nil {
		k.failed <- err
	}
}

// serve runs one worker after another until ctx ends.
func (k *workerKeeper) serve(ctx context.Context) error {
	for short := 0; ; {
		began := time.Now()
		w, err := startWorker(k.spec)
		if err != nil {
			return fmt.Errorf("worker: cannot be started: %w", err)
		}
		select {
		case <-ctx.Done():
			w.Stop()
			return nil
		case <-w.Done():
		}
		if time.Since(began) > shortLife {
			short = 0
		}
		if short++; short >= shortLives || w.Refused() {
			return fmt.Errorf("worker: does not stay up: %s%s", w.End(), w.Tail())
		}
		k.say("the worker has ended (%s); starting another", w.End())
		if !sleep(ctx, restartDelay) {
			return nil
		}
	}
}
