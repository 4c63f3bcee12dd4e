package devserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ output, cli, server string }{
		"released":       {"temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)\n", "1.5.1", "1.29.1"},
		"go install":     {"temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)", "0.0.0-DEV", "1.29.1"},
		"server only":    {"temporal version 1.0.0 (Server 1.24.2)", "1.0.0", "1.24.2"},
		"cloud build":    {"temporal version 1.6.0 (Server 1.32.0-152.3, UI 2.45.0)\nmore", "1.6.0", "1.32.0-152.3"},
		"before 1.0":     {"temporal version 0.13.0 (server 1.24.0) (ui 2.26.2)", "", ""},
		"another tool":   {"temporal 2.0, the time travel toolkit", "", ""},
		"not a number":   {"temporal version 1 (Server 1.x.1, UI 2)", "", ""},
		"two numbers":    {"temporal version 1 (Server 1.29, UI 2)", "", ""},
		"negative":       {"temporal version 1 (Server 1.-29.1, UI 2)", "", ""},
		"nothing":        {"", "", ""},
		"control on tty": {"\x1b[2Jtemporal", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli, server, err := parseVersion(c.output)
			if c.server == "" {
				require.Error(t, err)
				require.NotContains(t, err.Error(), "\x1b")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.cli, cli)
			require.Equal(t, c.server, server)
		})
	}
}

func TestCompareVersions(t *testing.T) {
	t.Parallel()
	ordered := []string{"none", "1.2.3", "1.9.0", "1.29.0", "1.29.1", "1.30.0", "2.0.0"}
	for i, a := range ordered {
		for j, b := range ordered {
			require.Equal(t, min(1, max(-1, i-j)), compareVersions(a, b), "%s and %s", a, b)
		}
	}
	require.Zero(t, compareVersions("1.30.0-rc.1", "1.30.0"))
}

const (
	oldVersion = "temporal version 1.2.0 (Server 1.26.2, UI 2.34.0)"
	newVersion = "temporal version 1.6.0 (Server 1.30.0, UI 2.44.0)"
	ownVersion = "temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)"
)

// A finding has nothing on PATH, nothing in the cache, no network and no Go
// until a test gives it some.
func finding(t *testing.T) (*finder, *[]string) {
	t.Helper()
	var lines []string
	none := func(what string) fetcher {
		return func(context.Context, string, func(string)) (string, error) { return "", errors.New(what) }
	}
	return &finder{
		cacheDir: filepath.Join(t.TempDir(), "cache"),
		progress: func(line string) { lines = append(lines, line) },
		lookPath: func(string) (string, error) { return "", os.ErrNotExist },
		download: none("no network"),
		build:    none("no go"),
	}, &lines
}

// delivers makes a fetcher that gets a temporal CLI of the given version.
func delivers(t *testing.T, version string) fetcher {
	t.Helper()
	made := script(t, version, "exit 0")
	return func(_ context.Context, dir string, _ func(string)) (string, error) {
		path := filepath.Join(dir, "temporal")
		return path, os.Link(made, path)
	}
}

func (f *finder) keep(t *testing.T, dir, version string) string {
	t.Helper()
	path := filepath.Join(f.cacheDir, dir, "temporal")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.Rename(script(t, version, "exit 0"), path))
	return path
}

func TestFindInOrder(t *testing.T) {
	t.Parallel()
	f, lines := finding(t)
	_, err := f.find(t.Context())
	require.ErrorContains(t, err, "download: no network")
	require.ErrorContains(t, err, "build: no go")
	require.ErrorContains(t, err, "install the temporal CLI or Go, or give the address")

	f.build = delivers(t, ownVersion)
	b, err := f.find(t.Context())
	require.NoError(t, err)
	require.Equal(t, Binary{filepath.Join(f.cacheDir, "1.5.1", "temporal"), "1.29.1", "0.0.0-DEV", "build"}, b)
	require.Contains(t, *lines, "download failed (no network): building "+module+", once; this can take minutes")
	b, err = f.find(t.Context())
	require.NoError(t, err)
	require.Equal(t, "cache", b.Source)
	left, err := filepath.Glob(filepath.Join(f.cacheDir, "fetch-*"))
	require.NoError(t, err)
	require.Empty(t, left)

	f, _ = finding(t)
	f.download, f.build = delivers(t, newVersion), delivers(t, ownVersion)
	b, err = f.find(t.Context())
	require.NoError(t, err)
	require.Equal(t, Binary{filepath.Join(f.cacheDir, "1.6.0", "temporal"), "1.30.0", "1.6.0", "download"}, b)

	f, _ = finding(t)
	f.download, f.build = delivers(t, oldVersion), delivers(t, ownVersion)
	b, err = f.find(t.Context())
	require.NoError(t, err)
	require.Equal(t, "build", b.Source, "a download that is too old does not count")

	f, _ = finding(t)
	f.keep(t, "1.2.0", oldVersion)
	f.keep(t, "1.5.1", ownVersion)
	newest := f.keep(t, "1.10.0", newVersion)
	b, err = f.find(t.Context())
	require.NoError(t, err)
	require.Equal(t, Binary{newest, "1.30.0", "1.6.0", "cache"}, b)
	path := script(t, ownVersion, "exit 0")
	f.lookPath = func(string) (string, error) { return path, nil }
	b, err = f.find(t.Context())
	require.NoError(t, err)
	require.Equal(t, Binary{path, "1.29.1", "0.0.0-DEV", "PATH"}, b)

	f, lines = finding(t)
	f.keep(t, "1.5.1", ownVersion)
	path = script(t, oldVersion, "exit 0")
	f.lookPath = func(string) (string, error) { return path, nil }
	b, err = f.find(t.Context())
	require.NoError(t, err)
	require.Equal(t, "cache", b.Source)
	require.Equal(t, []string{"passing over temporal on PATH: " + path + " has server 1.26.2, too old: 1.29.0 or newer is needed"}, *lines)

	f, _ = finding(t)
	f.binary = path
	_, err = f.find(t.Context())
	require.ErrorContains(t, err, "too old")
}

// Of many that need one, one gets it; what a killed one left is cleared away.
func TestFindFetchesOnce(t *testing.T) {
	t.Parallel()
	first, _ := finding(t)
	leftover := filepath.Join(first.cacheDir, "fetch-killed")
	require.NoError(t, os.MkdirAll(leftover, 0o755))
	var (
		mu      sync.Mutex
		waited  int
		fetched int
		callers sync.WaitGroup
		errs    [4]error
	)
	built := delivers(t, ownVersion)
	ready := make(chan struct{})
	for i := range errs {
		f := *first
		f.progress = func(line string) {
			mu.Lock()
			defer mu.Unlock()
			if line == "another process is getting the dev server: waiting, 0s" {
				if waited++; waited == len(errs)-1 {
					close(ready)
				}
			}
		}
		f.build = func(ctx context.Context, dir string, progress func(string)) (string, error) {
			<-ready // until all the others wait
			mu.Lock()
			defer mu.Unlock()
			fetched++
			return built(ctx, dir, progress)
		}
		callers.Go(func() { _, errs[i] = f.find(t.Context()) })
	}
	callers.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	require.Equal(t, 1, fetched)
	require.NoDirExists(t, leftover)
}
