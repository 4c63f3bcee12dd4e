package local

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"everstep/starter/process"
)

// A holder is the process that runs the worker of a task queue.
type holder struct {
	PID int    `json:"pid"`
	Dir string `json:"dir"`
}

// takeQueue takes the lock of a task queue, which ends with this process
// however it ends. Where another process has it the error is process.ErrLocked, and the
// holder says which.
func takeQueue(spec WorkerSpec) (io.Closer, holder, error) {
	file, err := os.OpenFile(lockOf(spec.state, spec.TaskQueue), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, holder{}, fmt.Errorf("lock task queue %s: %w", spec.TaskQueue, err)
	}
	if err := process.Lock(file); err != nil {
		other := readHolder(file)
		_ = file.Close() // nothing was written
		if errors.Is(err, process.ErrLocked) {
			return nil, other, err
		}
		return nil, other, fmt.Errorf("lock task queue %s: %w", spec.TaskQueue, err)
	}
	if err := writeHolder(file, holder{PID: os.Getpid(), Dir: spec.Dir}); err != nil {
		_ = file.Close() // it only holds the lock
		return nil, holder{}, fmt.Errorf("lock task queue %s: %w", spec.TaskQueue, err)
	}
	return file, holder{}, nil
}

// queueServed reports whether a process of ours runs a worker for a task queue.
func queueServed(stateFile, taskQueue string) bool {
	file, err := os.Open(lockOf(stateFile, taskQueue))
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(process.Lock(file), process.ErrLocked)
}

// lockOf is the file that stands for a task queue of a state file's server. A
// queue may have any name, so its digest is taken.
func lockOf(stateFile, taskQueue string) string {
	digest := sha256.Sum256([]byte(taskQueue))
	return strings.TrimSuffix(stateFile, ".db") + ".worker-" + hex.EncodeToString(digest[:8]) + ".lock"
}

// readHolder reads who has the lock. What cannot be read is nobody: it is only
// told to users.
func readHolder(file *os.File) holder {
	var h holder
	data, err := io.ReadAll(io.LimitReader(file, 64<<10))
	if err != nil || json.Unmarshal(data, &h) != nil {
		return holder{}
	}
	return h
}

func writeHolder(file *os.File, h holder) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt(data, 0)
	return err
}
