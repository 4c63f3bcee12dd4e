//go:build !linux

package shell

import (
	"context"
	"errors"
	"os"
	"time"
)

var errFlood = errors.New("too much output")

var errLinuxOnly = errors.New("the tool shell works on Linux alone: elsewhere nothing sees to it that what a command has started ends")

func (s *Shell) settle() error { return errLinuxOnly }

func (s *Shell) checkHidden() error { return errLinuxOnly }

// A namespace is Linux's.
type namespace string

// Landlock is zero: it is Linux's.
func Landlock() int { return 0 }

const keeperName = ""

// Serve is for Linux.
func Serve() {}

func (s *Shell) run(context.Context, order, *os.File, time.Duration) (ending, error) {
	return ending{}, errLinuxOnly
}
