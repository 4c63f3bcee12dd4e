package script_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"everstep/starter/devserver"
)

// TestMain builds the programs, has one dev server with a worker up for the scripts that share it, and lets this
// binary be the MCP server of the scripts and the worker of another build.
func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){mcpCommand: mcpServe, changedCommand: changedWorker, hookedCommand: hookedWorker})
}

type suite struct{ *testing.M }

// Run is what testscript.Main calls where the binary is the test.
func (s suite) Run() int {
	sideBySide()
	if err := kit.set(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		kit.close()
		return 1
	}
	defer kit.close()
	return s.M.Run()
}

// sideBySide lets three times as many scripts run at a time, where no number was asked for: they wait for servers more
// than they compute.
func sideBySide() {
	const name = "test.parallel"
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == name })
	if !asked {
		_ = flag.Set(name, strconv.Itoa(3*runtime.GOMAXPROCS(0))) // it is a number
	}
}

// binVariable names a folder with the programs starter and worker, to be tested in place of what is built here.
const binVariable = "EVERSTEP_BIN"

// A toolkit is what all scripts use: the programs, Temporal's dev server, and one that is up with a worker.
type toolkit struct {
	dir, bin, temporal string
	address, records   string // of the shared dev server
	dev                *exec.Cmd
}

var kit toolkit

func (k *toolkit) set() error {
	var err error
	if k.dir, err = os.MkdirTemp("", "everstep-script-"); err != nil {
		return err
	}
	if k.bin = os.Getenv(binVariable); k.bin == "" {
		k.bin = filepath.Join(k.dir, "bin")
		build := exec.Command("go", "build", "-o", k.bin+string(filepath.Separator), "everstep/starter", "everstep/worker")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w: %s", err, out)
		}
	}
	found, err := devserver.Find(context.Background(), devserver.Config{Binary: os.Getenv("EVERSTEP_TEMPORAL")})
	if err != nil {
		return err
	}
	k.temporal = found.Path
	return k.startShared()
}

// startShared brings up the dev server and the worker of the scripts in testdata/shared.
func (k *toolkit) startShared() error {
	home, folder := filepath.Join(k.dir, "home"), filepath.Join(k.dir, "folder")
	k.records = filepath.Join(k.dir, "records")
	for _, dir := range []string{home, folder} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "note.txt"), []byte("A note.\n"), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(k.dir, "dev.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	k.dev = exec.Command(filepath.Join(k.bin, "starter"), "dev", "--json")
	k.dev.Dir, k.dev.Stderr = folder, log
	k.dev.Env = append(k.variables(k.dir), "EVERSTEP_RECORDS="+k.records, "EVERSTEP_BUILTIN_TOOLS=shell,sleep,todo,ask_user,execution_history", "HOME="+home, "PATH="+os.Getenv("PATH"), "TMPDIR="+os.TempDir())
	out, err := k.dev.StdoutPipe()
	if err != nil {
		return err
	}
	if err := k.dev.Start(); err != nil {
		return err
	}
	var up struct{ Address string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &up)
	}
	if err != nil {
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("starter dev --json: %w: %s%s", err, line, said)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the process
	k.address = up.Address
	return nil
}

// variables are those of a user whose state is kept in a folder.
func (k *toolkit) variables(dir string) []string {
	return []string{
		"EVERSTEP_STATE=" + filepath.Join(dir, "s", "dev.db"), "EVERSTEP_TEMPORAL=" + k.temporal,
		"EVERSTEP_LOG_LEVEL=error", "TEMPORAL_CONFIG_FILE=" + filepath.Join(dir, "none.toml"),
	}
}

func (k *toolkit) close() {
	if k.dev != nil && k.dev.Process != nil {
		_ = k.dev.Process.Signal(os.Interrupt)
		_ = k.dev.Wait()
	}
	removed(k.dir)
}

// removed removes a folder in which a dev server may still be at its end.
func removed(dir string) {
	for end := time.Now().Add(patience); os.RemoveAll(dir) != nil && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
}

// patience bounds every wait of a script; what is there ends the wait at once.
const patience = 2 * time.Minute

// TestShared runs the conversations that share one dev server, at $ADDRESS. Ids begin with $A, which no other script has.
func TestShared(t *testing.T) {
	t.Parallel()
	testscript.Run(t, parameters("shared", func(env *testscript.Env) {
		env.Setenv("ADDRESS", kit.address)
		env.Setenv("TEMPORAL_ADDRESS", kit.address)
		env.Setenv("EVERSTEP_RECORDS", kit.records)
	}))
}

// TestAlone runs the conversations that have a state file, and so a dev server, of their own.
func TestAlone(t *testing.T) {
	t.Parallel()
	testscript.Run(t, parameters("alone", func(*testscript.Env) {}))
}

func parameters(folder string, more func(*testscript.Env)) testscript.Params {
	return testscript.Params{
		Dir: filepath.Join("testdata", folder), Cmds: verbs, RequireUniqueNames: true, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			own, err := os.MkdirTemp(kit.dir, "user-") // what it keeps is no file of the agents'
			if err != nil {
				return err
			}
			for _, variable := range kit.variables(own) {
				name, value, _ := strings.Cut(variable, "=")
				env.Setenv(name, value)
			}
			env.Setenv("HOME", filepath.Join(own, "home"))
			env.Setenv("OWN", own)
			env.Setenv("A", strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")+"-"+uuid.NewString()[:6])
			more(env)
			u := &user{processes: map[string]*process{}}
			for _, variable := range env.Vars {
				name, _, _ := strings.Cut(variable, "=")
				u.names = append(u.names, name)
			}
			env.Values[userKey{}] = u
			env.Defer(func() {
				u.killAll()
				removed(own)
			})
			return nil
		},
	}
}
