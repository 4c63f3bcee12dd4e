package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

// errLeft is the error of a command that was left while it waited for what it is to work with.
var errLeft = &exitError{code: exitDetached, text: "left before all of it was read; nothing was done", cause: context.Canceled}

// orLeft does what may never end, until the person leaves: it then ends with the process.
func orLeft[T any](ctx context.Context, do func() (T, error)) (value T, err error) {
	if ctx.Err() != nil { // what was left may still be under way
		return value, errLeft
	}
	type made struct {
		value T
		err   error
	}
	done := make(chan made, 1)
	go func() {
		value, err := do()
		done <- made{value, err}
	}()
	select {
	case <-ctx.Done():
		return value, errLeft
	case m := <-done:
		return m.value, m.err
	}
}

type reading func(into []byte) (int, error)

func (r reading) Read(into []byte) (int, error) { return r(into) }

// untilLeft reads what comes in until the person leaves. Nothing but its other end ends the read of a pipe.
func untilLeft(ctx context.Context, in io.Reader) io.Reader {
	buffer := make([]byte, 32<<10) // that of a read that was left is never anybody else's
	return reading(func(into []byte) (int, error) {
		part := buffer[:min(len(into), len(buffer))]
		n, err := orLeft(ctx, func() (int, error) { return in.Read(part) })
		return copy(into, part[:n]), err
	})
}

// openGiven opens a file that was named. A FIFO does not open before somebody writes to it.
func openGiven(ctx context.Context, name string) (*os.File, error) {
	return orLeft(ctx, func() (*os.File, error) { return os.Open(name) })
}

// readGiven reads all that comes in, and a little more than there may be.
func readGiven(ctx context.Context, in io.Reader, most int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(untilLeft(ctx, in), most+1))
}

// readNamed reads a file that was named, which may be a pipe.
func readNamed(ctx context.Context, name string, most int64) ([]byte, error) {
	file, err := openGiven(ctx, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := readGiven(ctx, file, most)
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d bytes; give less", name, most)
	}
	return text, err
}
