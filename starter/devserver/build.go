package devserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	modulePath    = "github.com/temporalio/cli/cmd/temporal"
	moduleVersion = "v1.5.1"
	module        = modulePath + "@" + moduleVersion
	buildTags     = "-tags=disable_grpc_modules"

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
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, goCommand, "install", buildTags, "-ldflags=-s -w", module)
	cmd.Dir = dir // no module around it
	cmd.Env = buildEnvironment(dir)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = time.Second // compilers of a cancelled build still hold the pipe
	began := time.Now()
	err := whileRunning(cmd.Run, func(now time.Time) {
		progress(fmt.Sprintf("building the dev server: %s", now.Sub(began).Round(time.Second)))
	})
	path := filepath.Join(dir, "temporal")
	switch _, missing := os.Stat(path); {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("go install %s: %w\n%s", module, err, strings.Join(lastWords(clean(output.String())), "\n"))
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
