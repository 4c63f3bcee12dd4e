package devserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	modulePath    = "github.com/temporalio/cli/cmd/temporal"
	moduleVersion = "v1.5.1"
	module        = modulePath + "@" + moduleVersion

	progressEvery = 3 * time.Second
)

// build installs the pinned temporal CLI with the user's Go.
func build(ctx context.Context, dir string, progress func(string)) (string, error) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("there is no go command on PATH")
	}
	return buildWith(ctx, goCommand, dir, progress)
}

func buildWith(ctx context.Context, goCommand, dir string, progress func(string)) (string, error) {
	var output buildOutput
	cmd := exec.CommandContext(ctx, goCommand, "install", "-v", "-tags", "disable_grpc_modules", "-ldflags=-s -w", module)
	cmd.Dir = dir // no module around it
	cmd.Env = buildEnvironment(dir)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = time.Second // compilers of a cancelled build still hold the pipe
	began := time.Now()
	err := whileRunning(cmd.Run, func(now time.Time) {
		progress(fmt.Sprintf("building the dev server: %s, %s", output.progress(), now.Sub(began).Round(time.Second)))
	})
	path := filepath.Join(dir, "temporal")
	switch _, missing := os.Stat(path); {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("go install %s: %w\n%s", module, err, output.tail())
	case missing != nil:
		return "", fmt.Errorf("go install %s made no binary: %w", module, missing)
	}
	return path, nil
}

// whileRunning returns what a piece of work ends with, and looks at it every few
// seconds until it does.
func whileRunning(work func() error, look func(now time.Time)) error {
	ended := make(chan error, 1)
	go func() { ended <- work() }()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case now := <-ticker.C:
			look(now)
		}
	}
}

// buildOutput counts what `go install -v` reports while it goes on: a line for
// each module that is downloaded and one for each package that is compiled.
type buildOutput struct {
	mu                sync.Mutex
	rest              string
	modules, compiled int
	last              []string
}

// Write takes any part of the output. Safe for concurrent use.
func (o *buildOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rest += string(p)
	for {
		line, rest, found := strings.Cut(o.rest, "\n")
		if !found {
			return len(p), nil
		}
		o.rest = rest
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			o.modules++
		case line != "" && !strings.ContainsAny(line, " :"):
			o.compiled++
		default:
			o.last = append(o.last, line)
			o.last = o.last[max(0, len(o.last)-tailLines):]
		}
	}
}

// progress says what was needed so far.
func (o *buildOutput) progress() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return fmt.Sprintf("%d modules downloaded, %d packages compiled", o.modules, o.compiled)
}

// tail is the last of what was neither a download nor a package.
func (o *buildOutput) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return clean(strings.TrimSpace(strings.Join(append(o.last, o.rest), "\n")))
}
