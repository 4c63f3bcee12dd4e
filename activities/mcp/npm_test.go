package mcp

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// packages is the folder with the published MCP servers, and the suite of clients, which .ci/npm installs.
func packages(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".ci", "cache", "npm"))
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(dir, "installed")); err != nil {
		t.Skip("SKIPPED: the published MCP servers are not tried: .ci/npm installs them")
	}
	return dir
}

// npx is a server as people configure it: by the launcher, which starts a shell and node.
func npx(t *testing.T, name string, more ...string) Server {
	t.Helper()
	return Server{Name: "s", Command: "npx", Args: append([]string{"--offline", name}, more...), Dir: packages(t)}
}

func TestThePublishedServerThatHasEverything(t *testing.T) {
	t.Parallel()
	s := openServers(t, Options{}, npx(t, "mcp-server-everything"))
	report, err := s.Examine(t.Context(), "s")
	require.NoError(t, err)
	require.NotEmpty(t, report.Tools)
	for _, one := range report.Tools {
		require.Empty(t, one.Problem, one.Name)
	}
	require.NotEmpty(t, report.Resources)
	require.NotEmpty(t, report.Templates)
	require.NotEmpty(t, report.Prompts)
	require.Empty(t, report.Problems)
	found, err := s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
	result, err := found.Call(t.Context(), `{"message":"hello"}`)
	require.NoError(t, err)
	require.Equal(t, "Echo: hello", result.Content)

	found, err = s.Find(t.Context(), "s__get-tiny-image")
	require.NoError(t, err)
	result, err = found.Call(t.Context(), `{}`)
	require.NoError(t, err)
	require.Contains(t, result.Content, "MCP logo")
	require.Len(t, result.Parts, 1)
	require.Equal(t, "image/png", result.Parts[0].MediaType)
	require.True(t, bytes.HasPrefix(result.Parts[0].Data, []byte("\x89PNG")))

	found, err = s.Find(t.Context(), "s__get-env")
	require.NoError(t, err)
	result, err = found.Call(t.Context(), `{}`)
	require.NoError(t, err)
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if name != "HOME" && name != "PATH" && name != "PWD" && name != "SHLVL" && name != "_" && len(value) > 12 && !strings.HasPrefix(name, "npm_") {
			require.NotContains(t, result.Content, `"`+name+`"`)
		}
	}

	// It dies in the middle of a call, with the shell and the launcher around it.
	found, err = s.Find(t.Context(), "s__trigger-long-running-operation")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := found.Call(t.Context(), `{"duration":600,"steps":5}`)
		ended <- err
	}()
	process := s.all["s"].live.program.process
	require.Eventually(t, func() bool { return len(below(process.PID())) >= 2 }, patience, 10*time.Millisecond)
	all := below(process.PID())
	require.NoError(t, syscall.Kill(all[len(all)-1], syscall.SIGKILL))
	requireUnknown(t, <-ended)
	for _, pid := range append(all, process.PID()) {
		requireGone(t, pid)
	}
	_, err = s.Find(t.Context(), "s__echo")
	require.NoError(t, err)
}

// below are the processes that a process has started, and those that they have.
func below(pid int) (all []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range folders {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " ")
		fields := strings.Fields(rest)
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			all = append(append(all, child), below(child)...)
		}
	}
	return all
}

func TestThePublishedServerOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("in it"), 0o600))
	server := npx(t, "mcp-server-filesystem", dir)
	server.Effect = domain.Idempotent
	s := openServers(t, Options{Root: dir}, server)
	for name, c := range map[string]struct {
		arguments, want string
		effect          domain.Effect
	}{
		"s__read_text_file": {`{"path":"` + filepath.Join(dir, "a.txt") + `"}`, "in it", domain.Idempotent},
		"s__write_file":     {`{"path":"` + filepath.Join(dir, "b.txt") + `","content":"new"}`, "Successfully wrote", domain.Idempotent},
		"s__edit_file":      {`{"path":"` + filepath.Join(dir, "a.txt") + `","edits":[{"oldText":"in","newText":"out of"}],"dryRun":true}`, "+out of it", domain.AtMostOnce},
	} {
		found, err := s.Find(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, c.effect, found.Spec().Effect, "%s: its own hints say so", name)
		result, err := found.Call(t.Context(), c.arguments)
		require.NoError(t, err)
		require.Contains(t, result.Content, c.want)
	}
	found, err := s.Find(t.Context(), "s__read_text_file")
	require.NoError(t, err)
	_, err = found.Call(t.Context(), `{"path":"/etc/passwd"}`)
	require.ErrorContains(t, err, "Access denied")
}

func TestThePublishedServerThatRemembers(t *testing.T) {
	t.Parallel()
	server := npx(t, "mcp-server-memory")
	server.Env = []Variable{{"MEMORY_FILE_PATH", filepath.Join(t.TempDir(), "memory.jsonl")}}
	s := openServers(t, Options{}, server)
	found, err := s.Find(t.Context(), "s__create_entities")
	require.NoError(t, err)
	_, err = found.Call(t.Context(), `{"entities":[{"name":"Ada","entityType":"person","observations":["counts"]}]}`)
	require.NoError(t, err)
	process := s.all["s"].live.program.process
	require.NoError(t, syscall.Kill(process.PID(), syscall.SIGKILL))
	requireGone(t, process.PID())
	found, err = s.Find(t.Context(), "s__read_graph")
	require.NoError(t, err)
	result, err := found.Call(t.Context(), `{}`)
	require.NoError(t, err)
	require.Contains(t, result.Content, "counts", "it keeps what it knows in its file")
}

func TestThePublishedServerOfThoughts(t *testing.T) {
	t.Parallel()
	s := openServers(t, Options{}, npx(t, "mcp-server-sequential-thinking"))
	found, err := s.Find(t.Context(), "s__sequentialthinking")
	require.NoError(t, err)
	result, err := found.Call(t.Context(), `{"thought":"one","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`)
	require.NoError(t, err)
	require.Contains(t, result.Content, `"thoughtNumber"`)
}
