package devserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
)

const (
	modulePath    = "github.com/temporalio/cli/cmd/temporal"
	moduleVersion = "v1.5.1"
	module        = modulePath + "@" + moduleVersion
	buildTags     = "-tags=disable_grpc_modules"

	progressEvery = 3 * time.Second
)

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
	// No setting of the user's changes the build. An empty GOFLAGS would fall back to the one that `go env -w` has stored, so it gets
	// a flag that is given anyway.
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS="+buildTags, "GOWORK=off", "GO111MODULE=on", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
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

// downloadPatience is how long a download may stand still, its beginning
// included. Short, since a build is at hand where there is no network.
const downloadPatience = 10 * time.Second

// download has the SDK fetch the CLI that it was released with. The SDK only
// offers that together with starting it; an address without a port makes it
// give up in between, so success is the file and not the error.
func download(ctx context.Context, dir string, progress func(string)) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := stallWatch{dir: dir, progress: progress, began: time.Now(), moved: time.Now()}
	err := whileRunning(func() error {
		_, err := testsuite.StartDevServer(ctx, testsuite.DevServerOptions{
			CachedDownload: testsuite.CachedDownload{DestDir: dir},
			ClientOptions: &client.Options{
				HostPort: "not-to-be-started",
				Logger:   log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
			},
			Stdout: io.Discard,
			Stderr: io.Discard,
		})
		return err
	}, func(now time.Time) {
		if err := stall.look(now); err != nil {
			cancel(err)
		}
	})
	files, globErr := filepath.Glob(filepath.Join(dir, "temporal-cli-go-sdk-*"))
	if globErr == nil && len(files) == 1 {
		return files[0], nil
	}
	err = cmp.Or(context.Cause(ctx), err)
	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err // less the long URL
	}
	return "", err
}

// A stallWatch reports how a download grows and notices when it does not.
type stallWatch struct {
	dir          string
	progress     func(string)
	began, moved time.Time
	size         int64
}

func (w *stallWatch) look(now time.Time) error {
	var size int64
	files, _ := filepath.Glob(filepath.Join(w.dir, "*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			size += info.Size()
		}
	}
	if size > w.size {
		w.size, w.moved = size, now
		w.progress(fmt.Sprintf("downloading the dev server: %d MB, %s", size>>20, now.Sub(w.began).Round(time.Second)))
	}
	if now.Sub(w.moved) >= downloadPatience {
		return errors.New("no data in " + downloadPatience.String())
	}
	return nil
}
