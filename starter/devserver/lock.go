package devserver

import (
	"context"
	"errors"
	"os"
	"time"
)

// errLocked means that another process holds the lock.
var errLocked = errors.New("locked by another process")

// openLock takes the lock that a file stands for, or returns errLocked. It is
// held until the file is closed here and in every process that inherited it,
// and ends with them however they end.
func openLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(file); err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return file, nil
}

// waitLock takes a lock as soon as it is free. It tells waiting at once that it
// has to wait, and then every few seconds for how long it has.
func waitLock(ctx context.Context, path string, waiting func(waited time.Duration)) (*os.File, error) {
	began := time.Now()
	said := began.Add(-progressEvery)
	for {
		file, err := openLock(path)
		if !errors.Is(err, errLocked) {
			return file, err
		}
		if now := time.Now(); now.Sub(said) >= progressEvery {
			waiting(now.Sub(began).Round(time.Second))
			said = now
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// pause waits before something is tried again.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
