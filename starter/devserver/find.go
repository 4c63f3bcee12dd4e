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
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"everstep/worker/host/statefile"
)

// A Binary is a temporal CLI whose dev server is new enough.
type Binary struct {
	Path string
	// Version is the server's version, CLI that of the command around it
	// (0.0.0-DEV for one that was built here).
	Version, CLI string
	// Source says where it came from.
	Source string
}

// String says which server it is and where it came from.
func (b Binary) String() string {
	return fmt.Sprintf("temporal server %s (CLI %s) from %s: %s", b.Version, b.CLI, b.Source, b.Path)
}

// Find returns the first dev server that is new enough of: the one configured;
// `temporal` on PATH; the user's cache; Temporal's download; a build with
// `go install`, which takes minutes, once. The last two go to the cache, by one
// process at a time.
func Find(ctx context.Context, cfg Config) (none Binary, _ error) {
	cfg, err := cfg.checked()
	if err != nil {
		return none, err
	}
	f := finder{binary: cfg.Binary, progress: cfg.Progress, lookPath: exec.LookPath, download: download, build: build}
	if cfg.Binary == "" {
		if f.cacheDir, err = defaultCacheDir(); err != nil {
			return none, err
		}
	}
	return f.find(ctx)
}

// A fetcher puts a temporal CLI into a directory and returns its path.
type fetcher func(ctx context.Context, dir string, progress func(string)) (string, error)

type finder struct {
	binary   string
	cacheDir string
	progress func(string)
	lookPath func(string) (string, error)
	download fetcher
	build    fetcher
}

func (f *finder) find(ctx context.Context) (none Binary, _ error) {
	if f.binary != "" {
		b, err := inspect(ctx, f.binary, "configuration")
		if err != nil {
			err = fmt.Errorf("%w: name another temporal CLI, or none to have one found", err)
		}
		return b, err
	}
	if path, err := f.lookPath("temporal"); err == nil {
		b, err := inspect(ctx, path, "PATH")
		if err == nil {
			return b, nil
		}
		f.progress("passing over temporal on PATH: " + err.Error())
	}
	if b, ok := f.cached(ctx); ok {
		return b, nil
	}
	if err := os.MkdirAll(f.cacheDir, 0o750); err != nil {
		return none, fmt.Errorf("make the cache for the dev server: %w", err)
	}
	if err := statefile.CheckWriters(f.cacheDir); err != nil {
		return none, fmt.Errorf("the cache for the dev server: %w: remove it, or set XDG_CACHE_HOME", err)
	}
	lock, err := waitLock(ctx, filepath.Join(f.cacheDir, "lock"), func(waited time.Duration) {
		f.progress(fmt.Sprintf("another process is getting the dev server: waiting, %s", waited))
	})
	if err != nil {
		return none, fmt.Errorf("lock the cache of the dev server: %w", err)
	}
	defer lock.Close()
	if b, ok := f.cached(ctx); ok {
		return b, nil
	}
	f.progress("no temporal CLI with server " + minServer + " or newer on PATH or in the cache: downloading it")
	b, downloadErr := f.fetch(ctx, "download", f.download)
	if downloadErr == nil || ctx.Err() != nil {
		return b, ctx.Err()
	}
	f.progress("download failed (" + downloadErr.Error() + "): building " + module + ", once; this can take minutes")
	b, buildErr := f.fetch(ctx, fromBuild, f.build)
	if buildErr != nil && ctx.Err() == nil {
		return none, fmt.Errorf("get a dev server: download: %w\nbuild: %w\nto do: install the temporal CLI or Go, or give the address of a Temporal server",
			downloadErr, buildErr)
	}
	return b, ctx.Err()
}

// cached returns the newest server in the cache. The pinned one is asked first,
// since it is what is there nearly always and asking costs a process.
func (f *finder) cached(ctx context.Context) (none Binary, _ bool) {
	for _, path := range f.cachedPaths() {
		b, err := inspect(ctx, path, "cache")
		if err == nil {
			return b, true
		}
		f.progress("passing over the cache's temporal: " + err.Error())
	}
	return none, false
}

// Cached are the paths of the servers in the user's cache, the newest first.
func Cached() []string {
	dir, err := defaultCacheDir()
	if err != nil {
		return nil
	}
	return (&finder{cacheDir: dir, progress: func(string) {}}).cachedPaths()
}

// cachedPaths passes over what another user can have put there: it would run as this one.
func (f *finder) cachedPaths() []string {
	paths, _ := filepath.Glob(filepath.Join(f.cacheDir, "[0-9]*", "temporal")) // the pattern is right
	paths = slices.DeleteFunc(paths, func(path string) bool {
		err := cmp.Or(statefile.CheckWriters(f.cacheDir), statefile.CheckWriters(filepath.Dir(path)), statefile.CheckWriters(path))
		if err != nil {
			f.progress("passing over the cache's temporal: " + err.Error())
		}
		return err != nil
	})
	version := func(path string) string { return filepath.Base(filepath.Dir(path)) }
	slices.SortFunc(paths, func(a, b string) int { return compareVersions(version(b), version(a)) })
	return paths
}

// fromBuild is the Source of a server that was built just now.
const fromBuild = "build"

// fetch gets a server in a directory of its own and moves it to its place in
// one step, so that nobody ever sees half of one. The caller holds the lock:
// whatever else lies there is left over from a process that was killed.
func (f *finder) fetch(ctx context.Context, source string, get fetcher) (none Binary, _ error) {
	leftovers, _ := filepath.Glob(filepath.Join(f.cacheDir, "fetch-*"))
	for _, dir := range leftovers {
		_ = os.RemoveAll(dir) // only disk space is lost if this fails
	}
	dir, err := os.MkdirTemp(f.cacheDir, "fetch-")
	if err != nil {
		return none, err
	}
	defer os.RemoveAll(dir)
	path, err := get(ctx, dir, f.progress)
	if err != nil {
		return none, err
	}
	b, err := inspect(ctx, path, source)
	if err != nil {
		return none, err
	}
	version := b.CLI
	if source == fromBuild {
		version = strings.TrimPrefix(moduleVersion, "v")
	}
	b.Path = filepath.Join(f.cacheDir, version, "temporal")
	if err := os.MkdirAll(filepath.Dir(b.Path), 0o750); err != nil {
		return none, err
	}
	return b, os.Rename(path, b.Path)
}

func inspect(ctx context.Context, path string, source string) (none Binary, _ error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	output, err := cmd.Output()
	if err != nil {
		return none, fmt.Errorf("run %s --version: %w", path, err)
	}
	cli, server, err := parseVersion(string(output))
	if err != nil {
		return none, fmt.Errorf("%s --version: %w", path, err)
	}
	if compareVersions(server, minServer) < 0 {
		return none, fmt.Errorf("%s has server %s, too old: %s or newer is needed", path, server, minServer)
	}
	return Binary{Path: path, Version: server, CLI: cli, Source: source}, nil
}

// minServer is the oldest server that has everything the tuning needs.
const minServer = "1.29.0"

// parseVersion reads what `temporal --version` prints, for example
// "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)". A CLI from `go install`
// calls itself 0.0.0-DEV, so only the server's version says how new it is.
func parseVersion(output string) (cli, server string, err error) {
	line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	_, rest, found := strings.Cut(line, "version ")
	cli, rest, named := strings.Cut(rest, " (Server ")
	if !found || !named {
		return "", "", fmt.Errorf("no server version in %q", clean(line))
	}
	server, _, _ = strings.Cut(rest, ")")
	server, _, _ = strings.Cut(server, ",")
	if _, err := numbers(server); err != nil {
		return "", "", err
	}
	return cli, server, nil
}

// compareVersions orders two versions by their three numbers; what follows does
// not count, and what is no version comes first.
func compareVersions(a, b string) int {
	x, _ := numbers(a)
	y, _ := numbers(b)
	return slices.Compare(x[:], y[:])
}

func numbers(version string) (n [3]int, err error) {
	if _, err = fmt.Sscanf(version, "%d.%d.%d", &n[0], &n[1], &n[2]); err != nil || slices.Min(n[:]) < 0 {
		return [3]int{}, fmt.Errorf("version %q does not have three numbers", clean(version))
	}
	return n, nil
}

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
