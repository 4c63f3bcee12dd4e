package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/starter/render"
)

// variablePart makes this test program play a worker; see TestMain.
const variablePart = "EVERSTEP_TEST_PART"

// TestMain lets the test program stand in for the program that it tests.
func TestMain(m *testing.M) {
	switch os.Getenv(variablePart) {
	case "":
		os.Exit(m.Run())
	case "serve": // until standard input ends, as a worker does
		fmt.Fprintf(os.Stderr, "process %d serves with %s\n", os.Getpid(), strings.Join(os.Args[1:], " "))
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Fprintln(os.Stderr, "stopped in good order")
		os.Exit(0)
	case "refuse":
		fmt.Fprintln(os.Stderr, "error: --dir: is \x1b[31mwrong")
		os.Exit(exitUsage)
	case "fall over":
		os.Exit(exitOther)
	}
}

// part returns what starts a worker that plays a part, and what it says.
func part(t *testing.T, part string) (workerSpec, *locked) {
	self, err := os.Executable()
	require.NoError(t, err)
	var said locked
	return workerSpec{
		executable: self, address: "127.0.0.1:1", namespace: "default", taskQueue: "everstep", dir: "/d", storage: "/s",
		state:       filepath.Join(t.TempDir(), "dev.db"),
		environment: append(os.Environ(), variablePart+"="+part), log: &said,
	}, &said
}

const testPatience = 20 * time.Second

func saidSoon(t *testing.T, said *locked, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(said.String(), text) }, testPatience, 5*time.Millisecond, said.String())
}

func TestWorkerProcess(t *testing.T) {
	t.Parallel()
	spec, said := part(t, "serve")
	w, err := startWorker(spec)
	require.NoError(t, err)
	saidSoon(t, said, "process "+strconv.Itoa(w.PID())+" serves with worker --address 127.0.0.1:1 --namespace default --task-queue everstep --dir /d --storage /s --until-stdin-ends")
	require.NoError(t, w.life.Close())
	<-w.Done()
	require.Contains(t, w.Tail(), "stopped in good order")
	require.Equal(t, "exit status 0", w.End())
	require.False(t, w.Refused())

	w, err = startWorker(spec)
	require.NoError(t, err)
	w.Kill()
	require.Equal(t, "signal: killed", w.End())
	w.Stop() // an ended one is stopped already

	spec.executable = filepath.Join(t.TempDir(), "none")
	_, err = startWorker(spec)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestKeeperStartsAnotherWorker(t *testing.T) {
	t.Parallel()
	spec, said := part(t, "serve")
	k, notes := keep(t, spec)
	saidSoon(t, said, "serves")
	require.Eventually(t, k.Serving, testPatience, time.Millisecond)
	var pid int
	_, err := fmt.Sscanf(said.String(), "process %d serves", &pid)
	require.NoError(t, err)
	process, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, process.Kill())
	saidSoon(t, notes, "signal: killed")
	require.Eventually(t, func() bool { return strings.Count(said.String(), " serves ") == 2 }, testPatience, 5*time.Millisecond)
	k.Close()
	require.Empty(t, k.failed)
}

func TestKeeperGivesUp(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{"refuse": "is \x1b[31mwrong", "fall over": "exit status 1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, _ := part(t, name)
			k, _ := keep(t, spec)
			select {
			case err := <-k.failed:
				require.ErrorContains(t, err, says)
			case <-time.After(testPatience):
				require.Fail(t, "the keeper does not give up")
			}
			k.Close()
		})
	}
}

func TestOneProcessServesATaskQueue(t *testing.T) {
	t.Parallel()
	spec, _ := part(t, "serve")
	lock, _, err := takeQueue(spec)
	require.NoError(t, err)
	_, other, err := takeQueue(spec)
	require.ErrorIs(t, err, errServed)
	require.Equal(t, holder{PID: os.Getpid(), Dir: "/d"}, other)

	elsewhere := spec
	elsewhere.taskQueue = "a/../b"
	second, _, err := takeQueue(elsewhere)
	require.NoError(t, err, "another queue has another lock, whatever its name")
	require.NoError(t, second.Close())

	require.True(t, queueServed(spec.state, spec.taskQueue))
	require.Eventually(t, func() bool { return !queueServed(spec.state, elsewhere.taskQueue) }, testPatience, time.Millisecond)
	require.False(t, queueServed(spec.state, "never heard of"))

	// A keeper waits for the queue, and takes over.
	spec.dir = "/elsewhere"
	k, notes := keep(t, spec)
	require.Contains(t, notes.String(), "file tools work in /d")
	require.False(t, k.Serving())
	require.NoError(t, lock.Close())
	saidSoon(t, notes, "this command runs one now, in /elsewhere")
	require.Eventually(t, k.Serving, testPatience, time.Millisecond)
	_, other, err = takeQueue(spec)
	require.ErrorIs(t, err, errServed)
	require.Equal(t, "/elsewhere", other.Dir)
	k.Close()
	// A process that another test is just starting may hold it for a moment.
	require.Eventually(t, func() bool { lock, _, err = takeQueue(spec); return err == nil }, testPatience, time.Millisecond)
	defer lock.Close()

	// A folder that was asked for is not silently another one.
	var notesOf locked
	p := &program{err: render.Plain(&notesOf), env: environment{variables{}}, executable: os.Executable}
	spec.dir = "/third"
	_, err = p.keepWorker(spec, true, io.Discard)
	require.Equal(t, exitRefused, exitCode(err))
	require.ErrorContains(t, err, "in /elsewhere; leave --dir out")
}

// keep keeps a worker that plays a part. Its environment is the test's, since a
// program's own leaves out nothing that matters here.
func keep(t *testing.T, spec workerSpec) (*workerKeeper, *locked) {
	t.Helper()
	var notes locked
	p := &program{
		err: render.Plain(&notes), env: environment{entries(spec.environment)},
		executable: func() (string, error) { return spec.executable, nil },
	}
	k, err := p.keepWorker(spec, false, spec.log)
	require.NoError(t, err)
	t.Cleanup(k.Close)
	return k, &notes
}

// entries are variables as a process gets them.
type entries []string

func (e entries) Environ() []string { return e }
func (e entries) LookupEnv(string) (string, bool) {
	return "", false
}

func TestWorkerEnvironment(t *testing.T) {
	t.Parallel()
	env := environment{variables{
		"TEMPORAL_ADDRESS": "elsewhere:7233", "TEMPORAL_API_KEY": "k", variableTaskQueue: "q", variableDir: "/d",
		variableStorage: "/s", "OPENAI_API_KEY": "key", "GEMINI_API_KEY_FILE": "own/key", "EVERSTEP_LOG_LEVEL": "debug", "HOME": "/root", variablePrices: "own/prices.yaml",
	}}
	here, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, []string{
		"EVERSTEP_LOG_LEVEL=debug", variablePrices + "=" + filepath.Join(here, "own", "prices.yaml"),
		"GEMINI_API_KEY_FILE=" + filepath.Join(here, "own", "key"), "HOME=/root", "OPENAI_API_KEY=key",
	}, env.forWorker())
}

func TestTail(t *testing.T) {
	t.Parallel()
	var end tail
	require.Empty(t, end.String())
	for i := range 1000 {
		_, err := fmt.Fprintf(&end, "line %d\n", i)
		require.NoError(t, err)
	}
	require.Equal(t, tailLines, strings.Count(end.String(), "line "))
	require.True(t, strings.HasSuffix(end.String(), "line 999"))
}
