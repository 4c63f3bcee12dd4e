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
	ended := make(chan error, 1)
	go func() { ended <- cmd.Run() }()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			if err != nil {
				return "", fmt.Errorf("go install %s: %w\n%s", module, err, output.tail())
			}
			path := filepath.Join(dir, "temporal")
			if _, err := os.Stat(path); err != nil {
				return "", fmt.Errorf("go install %s made no binary: %w", module, err)
			}
			return path, nil
		case now := <-ticker.C:
			progress(fmt.Sprintf("building the dev server: %s, %s", output.progress(), now.Sub(began).Round(time.Second)))
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

// progress says what was needed; where caches are warm that is nothing.
func (o *buildOutput) progress() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.modules > 0 && o.compiled > 0:
		return fmt.Sprintf("%d modules downloaded, %d packages compiled", o.modules, o.compiled)
	case o.compiled > 0:
		return fmt.Sprintf("%d packages compiled", o.compiled)
	case o.modules > 0:
		return fmt.Sprintf("%d modules downloaded", o.modules)
	}
	return "from what is cached"
}

// tail is the last of what was neither a download nor a package.
func (o *buildOutput) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return clean(strings.TrimSpace(strings.Join(append(o.last, o.rest), "\n")))
}
