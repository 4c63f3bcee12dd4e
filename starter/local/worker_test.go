package local

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"everstep/starter/client"
	"everstep/starter/devserver"
	"github.com/stretchr/testify/require"

	"everstep/worker/host"
	"everstep/worker/host/statefile"
)

// variablePart makes this test program play a worker; see TestMain.
const variablePart = "EVERSTEP_TEST_PART"

// TestMain lets the test program stand in for the program that it tests.
func TestMain(m *testing.M) {
	host.Begin()
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
		os.Exit(refusedCode)
	case "fall over":
		os.Exit(1)
	}
}

// part returns what starts a worker that plays a part, and what it says.
func part(t *testing.T, part string) (WorkerSpec, *notes) {
	self, err := os.Executable()
	require.NoError(t, err)
	var said notes
	return WorkerSpec{
		holder:     holder{PID: os.Getpid(), Dir: "/d"},
		executable: self, address: "127.0.0.1:1", namespace: "default", TaskQueue: "everstep", Storage: "/s",
		state:       filepath.Join(t.TempDir(), "dev.db"),
		environment: append(os.Environ(), variablePart+"="+part), log: &said,
	}, &said
}

const testPatience = 2 * time.Minute

func saidSoon(t *testing.T, said *notes, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(said.String(), text) }, testPatience, 5*time.Millisecond, said.String())
}

func TestWorkerProcess(t *testing.T) {
	t.Parallel()
	spec, said := part(t, "serve")
	w, err := StartWorker(spec)
	require.NoError(t, err)
	saidSoon(t, said, "process "+strconv.Itoa(w.PID)+" serves with worker --address 127.0.0.1:1 --namespace default --task-queue everstep --dir /d --storage /s --until-stdin-ends")
	require.NoError(t, w.Input.Close())
	<-w.Done
	require.Contains(t, w.Tail(), "stopped in good order")
	require.Equal(t, "exit status 0", w.State().String())
	require.NotEqual(t, refusedCode, w.State().ExitCode())

	w, err = StartWorker(spec)
	require.NoError(t, err)
	w.Kill()
	require.Equal(t, "signal: killed", w.State().String())
	w.Stop() // an ended one is stopped already

	spec.executable = filepath.Join(t.TempDir(), "none")
	_, err = StartWorker(spec)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestKeeperStartsAnotherWorker(t *testing.T) {
	t.Parallel()
	spec, said := part(t, "serve")
	k, told := keep(t, spec)
	saidSoon(t, said, "serves")
	require.Eventually(t, k.serving.Load, testPatience, time.Millisecond)
	var pid int
	_, err := fmt.Sscanf(said.String(), "process %d serves", &pid)
	require.NoError(t, err)
	process, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, process.Kill())
	saidSoon(t, told, "signal: killed")
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
	lock, err := takeQueue(spec)
	require.NoError(t, err)
	_, err = takeQueue(spec)
	require.ErrorIs(t, err, statefile.ErrLocked)
	other, served := queueHolder(spec.state, spec.TaskQueue)
	require.True(t, served)
	require.Equal(t, holder{PID: os.Getpid(), Dir: "/d"}, other)

	elsewhere := spec
	elsewhere.TaskQueue = "a/../b"
	second, err := takeQueue(elsewhere)
	require.NoError(t, err, "another queue has another lock, whatever its name")
	require.NoError(t, second.Close())

	require.Eventually(t, func() bool { return !queueServed(spec.state, elsewhere.TaskQueue) }, testPatience, time.Millisecond)
	require.False(t, queueServed(spec.state, "never heard of"))

	// A keeper waits for the queue, and takes over.
	spec.Dir = "/elsewhere"
	k, told := keep(t, spec)
	require.Contains(t, told.String(), "file tools work in /d")
	require.False(t, k.serving.Load())
	require.NoError(t, lock.Close())
	saidSoon(t, told, "this command runs one now, in /elsewhere")
	require.Eventually(t, k.serving.Load, testPatience, time.Millisecond)
	other, _ = queueHolder(spec.state, spec.TaskQueue)
	require.Equal(t, "/elsewhere", other.Dir)
	k.Close()
	// A process that another test is just starting may hold it for a moment.
	require.Eventually(t, func() bool { lock, err = takeQueue(spec); return err == nil }, testPatience, time.Millisecond)
	defer lock.Close()

	// A folder that was asked for is not silently another one.
	spec.Dir = "/third"
	_, err = new(Machine).keepWorker(t.Context(), spec, true)
	require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	require.ErrorContains(t, err, "in /elsewhere; leave --dir out")

	s := Stack{}
	s.worker, _ = keep(t, spec)
	_, folder := s.Spec()
	require.Equal(t, "/elsewhere", folder, "where files are served, for whoever asks nothing")
}

// keep keeps a worker that plays a part.
func keep(t *testing.T, spec WorkerSpec) (*workerKeeper, *notes) {
	t.Helper()
	var said notes
	m := &Machine{Say: func(format string, args ...any) { _, _ = fmt.Fprintf(&said, format+"\n", args...) }}
	k, err := m.keepWorker(t.Context(), spec, false)
	require.NoError(t, err)
	t.Cleanup(k.Close)
	return k, &said
}

// notes is a buffer that goroutines share.
type notes struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (n *notes) Write(text []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buffer.Write(text)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buffer.String()
}

// memory is an environment in memory.
type memory map[string]string

func (m memory) LookupEnv(name string) (string, bool) { value, ok := m[name]; return value, ok }
func (m memory) Environ() []string {
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		entries = append(entries, name+"="+m[name])
	}
	return entries
}

func TestWorkerEnvironment(t *testing.T) {
	t.Parallel()
	env := Environment{memory{
		"TEMPORAL_ADDRESS": "elsewhere:7233", "TEMPORAL_API_KEY": "k", VariableTaskQueue: "q", VariableDir: "/d",
		variableStorage: "/s", "OPENAI_API_KEY": "key", "GEMINI_API_KEY_FILE": "own/key", "EVERSTEP_LOG_LEVEL": "debug", "HOME": "/root", VariablePrices: "own/prices.yaml",
	}}
	here, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, []string{
		"EVERSTEP_LOG_LEVEL=debug", VariablePrices + "=" + filepath.Join(here, "own", "prices.yaml"),
		"GEMINI_API_KEY_FILE=" + filepath.Join(here, "own", "key"), "HOME=/root", "OPENAI_API_KEY=key",
	}, env.forWorker())
}

func TestTail(t *testing.T) {
	t.Parallel()
	var end logTail
	require.Empty(t, end.String())
	for i := range 1000 {
		_, err := fmt.Fprintf(&end, "line %d\n", i)
		require.NoError(t, err)
	}
	require.Equal(t, tailLines, strings.Count(end.String(), "line "))
	require.True(t, strings.HasSuffix(end.String(), "line 999"))
}

// In a home folder agents would read what every agent keeps.
func TestAFolderAroundWhatIsKeptGetsNoWorker(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	server := devserver.Server{StateFile: filepath.Join(home, ".local", "state", "everstep", "dev.db")}
	m := &Machine{Env: Environment{memory{}}, Executable: os.Executable}
	_, err := m.WorkerSpec(server, "everstep", home)
	require.ErrorContains(t, err, "storage: "+filepath.Join(home, ".local", "state", "everstep", "dev.storage")+" lies in "+home)
	_, err = m.WorkerSpec(server, "everstep", filepath.Join(home, "project"))
	require.NoError(t, err)
	m = &Machine{Executable: os.Executable, Env: Environment{memory{host.RecordsVariable: filepath.Join(home, "project", "records")}}}
	_, err = m.WorkerSpec(server, "everstep", filepath.Join(home, "project"))
	require.ErrorContains(t, err, "records: ")
	m = &Machine{Executable: os.Executable, Env: Environment{memory{host.RecordsVariable: host.RecordsOff}}}
	spec, err := m.WorkerSpec(server, "everstep", filepath.Join(home, "project"))
	require.NoError(t, err)
	require.Contains(t, spec.environment, host.RecordsVariable+"="+host.RecordsOff, "no folder of that name")
}

// Where the environment names nothing, the records are below the storage of the dev server, and nowhere where another
// server is named: its storage is not known here.
func TestWhereRecordsAre(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, "dev.db")
	for _, test := range []struct {
		values memory
		place  string
		has    bool
	}{
		{memory{VariableState: state}, filepath.Join(dir, "dev.storage", "records"), false},
		{memory{VariableState: state, variableStorage: dir}, filepath.Join(dir, "records"), false},
		{memory{VariableState: state, VariableAddress: "127.0.0.1:1"}, "", false},
		{memory{VariableAddress: "127.0.0.1:1", variableStorage: "mem://"}, "mem://", true},
		{memory{VariableAddress: "127.0.0.1:1", host.RecordsVariable: dir}, dir, true},
		{memory{VariableState: state, variableStorage: dir, host.RecordsVariable: host.RecordsOff}, "", false},
	} {
		test.values["TEMPORAL_CONFIG_FILE"] = filepath.Join(dir, "none.toml")
		m := &Machine{Env: Environment{test.values}, Connection: &host.Flags{}}
		require.Equal(t, test.place, m.recordsPlace(), "%v", test.values)
		require.Equal(t, test.has, m.HasRecords(), "%v", test.values)
		require.NoDirExists(t, filepath.Join(dir, "records"), "who reads makes no store")
	}
}

// TestWhatAgentsOfOtherToolsHave: the tools that the worker has turned on and is for, its MCP servers, and models by words.
func TestWhatAgentsOfOtherToolsHave(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	servers := filepath.Join(folder, "mcp.json")
	require.NoError(t, os.WriteFile(servers, []byte(`{"mcpServers": {"notes": {"command": "true"}, "off": {"command": "true", "disabled": true}, "unset": {"command": "true", "env": {"A": "${A}"}}}}`), 0o600))
	m := &Machine{State: filepath.Join(folder, "dev.db"), Env: Environment{memory{
		variableBuiltinTools: "shell", "EVERSTEP_ALLOW_TOOLS": "read_file,shell,notes__list", host.MCPVariable: servers, VariableModels: "Fast=openai/gpt-5-mini, slow=gemini/x ,",
	}}}
	has := func(says string, tools ...string) {
		all, note := m.WorkerTools()
		require.Equal(t, tools, all.All)
		require.Equal(t, says, note)
	}
	has("", "read_file", "shell", "notes__*", "off__*", "unset__*")
	own, _ := m.WorkerTools()
	require.Equal(t, []string{"off__*", "unset__*"}, own.Unstarted)
	asked, files := m.Env, []string{"list_files", "read_file", "search_files", "write_file", "edit_file"}
	m.Env = Environment{memory{}}
	has("", files...)
	up, err := takeQueue(WorkerSpec{holder: holder{PID: os.Getpid(), WorkerTools: WorkerTools{All: append(files, "docs__*"), Unstarted: []string{"docs__*"}}}, state: m.State, TaskQueue: "everstep"})
	require.NoError(t, err)
	has("", append(files, "docs__*")...)
	served, _ := m.WorkerTools()
	require.Equal(t, []string{"docs__*"}, served.Unstarted)
	require.Empty(t, m.DoubtedTools([]string{"docs__list"}))
	require.Equal(t, []string{`tool: there is no "dosc__*"; did you mean docs__*?`}, m.DoubtedTools([]string{"dosc__*"}))
	require.Contains(t, m.DoubtedTools([]string{"shop__buy"})[0], ", docs__*; others")
	m.Env = asked
	has(fmt.Sprintf("the worker that process %d runs has no shell, notes__*, off__*, unset__*; start that anew where this command's environment names them", os.Getpid()), append(files, "docs__*")...)
	require.NoError(t, up.Close())
	m.Env = Environment{memory{VariableModels: "Fast=openai/gpt-5-mini, slow=gemini/x ,"}}
	names, err := m.ModelNames()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"fast": "openai/gpt-5-mini", "slow": "gemini/x"}, names)
	for _, wrong := range []string{"fast", "=openai/m", "fast=gpt-5"} {
		m.Env = Environment{memory{VariableModels: wrong}}
		_, err := m.ModelNames()
		require.ErrorContains(t, err, "EVERSTEP_MODELS")
	}
}
