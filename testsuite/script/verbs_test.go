package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// verbs are the commands of the scripts beside testscript's own; doc.go tells what each does.
var verbs = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"set": func(ts *testscript.TestScript, neg bool, args []string) {
		for _, arg := range args {
			name, value, assigns := strings.Cut(arg, "=")
			refuse(ts, neg, assigns, "set NAME=VALUE…")
			userOf(ts).names = append(userOf(ts).names, name)
			ts.Setenv(name, value)
		}
	},
	"reads": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) == 1, "reads FILE")
		userOf(ts).input = ts.ReadFile(args[0])
	},
	"starter": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) > 0, "starter COMMAND [ARGUMENT…]")
		exits(ts, 0, args)
	},
	"exits": func(ts *testscript.TestScript, neg bool, args []string) {
		const usage = "exits CODE starter COMMAND [ARGUMENT…]"
		refuse(ts, neg, len(args) > 2 && args[1] == "starter", usage)
		code, err := strconv.Atoi(args[0])
		ts.Check(err)
		exits(ts, code, args[2:])
	},
	"soon": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) > 1 && args[0] == "starter", "soon starter COMMAND [ARGUMENT…]")
		soon(ts, args)
	},
	"begins": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) > 1, "begins NAME starter|worker [ARGUMENT…]")
		userOf(ts).begin(ts, args[0], program(ts, args[1:]))
	},
	"terminal": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) > 2, "terminal NAME starter COMMAND [ARGUMENT…]")
		userOf(ts).onTerminal(ts, args[0], program(ts, args[1:]))
	},
	"types": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) == 2 || len(args) == 3, "types NAME TEXT [PATTERN]")
		text, err := strconv.Unquote(`"` + args[1] + `"`)
		ts.Check(err)
		userOf(ts).named(ts, args[0]).types(ts, text, args[2:])
	},
	"hangs-up": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) == 1, "hangs-up NAME")
		ts.Check(userOf(ts).named(ts, args[0]).master.Close())
	},
	"waits-for": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) == 2, "waits-for NAME PATTERN")
		userOf(ts).named(ts, args[0]).waitFor(ts, args[1])
	},
	"waits-for-file": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) == 1, "waits-for-file FILE")
		there := func() bool { _, err := os.Stat(ts.MkAbs(args[0])); return err == nil }
		if !eventually(10*time.Millisecond, there) {
			ts.Fatalf("%s is not there after %s", args[0], patience)
		}
	},
	"signal": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) == 2 && signals[args[0]] != 0, "signal INT|TERM|HUP|KILL NAME")
		ts.Check(userOf(ts).named(ts, args[1]).cmd.Process.Signal(signals[args[0]]))
	},
	"ends": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) == 2, "ends NAME CODE|killed")
		userOf(ts).named(ts, args[0]).end(ts, args[1])
	},
	"agent": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) > 1, "agent ID KEY=VALUE…")
		agent(ts, args[0], args[1:])
	},
	"json": func(ts *testscript.TestScript, neg bool, args []string) {
		values, err := jsonValues(ts.ReadFile("stdout"))
		ts.Check(err)
		if len(values) != 1 {
			ts.Fatalf("stdout has %d JSON values and not one", len(values))
		}
		checkJSON(ts, neg, values[0], args)
	},
	"jsonl": func(ts *testscript.TestScript, neg bool, args []string) {
		values, err := jsonValues(ts.ReadFile("stdout"))
		ts.Check(err)
		checkJSON(ts, neg, values, args)
	},
	"keep": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) > 0 && len(args) < 3, "keep VARIABLE [KEY]")
		keep(ts, args[0], args[1:])
	},
	"ordered": func(ts *testscript.TestScript, neg bool, args []string) {
		refuse(ts, neg, len(args) > 1, "ordered FILE PATTERN…")
		ordered(ts, args[0], args[1:])
	},
}

var signals = map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}

// refuse ends a script whose verb is used wrongly.
func refuse(ts *testscript.TestScript, neg, ok bool, usage string) {
	if neg || !ok {
		ts.Fatalf("usage: %s", usage)
	}
}

// program is a command of the starter or the worker by its path.
func program(ts *testscript.TestScript, args []string) *exec.Cmd {
	switch args[0] {
	case "starter":
		return exec.Command(filepath.Join(kit.bin, "starter"), commandLine(args[1:])...)
	case "worker":
		return exec.Command(filepath.Join(kit.bin, "worker"), args[1:]...)
	}
	ts.Fatalf("%s: neither starter nor worker", args[0])
	return nil
}

// exits runs a command to its end, which has to have this exit code.
func exits(ts *testscript.TestScript, code int, args []string) {
	const name = "" // no other process has it
	u := userOf(ts)
	cmd := program(ts, append([]string{"starter"}, args...))
	cmd.Stdin = strings.NewReader(u.input)
	u.input = ""
	u.begin(ts, name, cmd)
	u.named(ts, name).end(ts, strconv.Itoa(code))
}

// agent waits until the status of an agent has these keys.
func agent(ts *testscript.TestScript, id string, conditions []string) {
	var missed string
	var said []byte
	interval := 20 * time.Millisecond
	if !eventually(interval, func() bool {
		status := exec.Command(filepath.Join(kit.bin, "starter"), "status", id, "--json")
		status.Dir, status.Env = ts.Getenv("WORK"), userOf(ts).environment(ts)
		said, _ = status.Output() // what it says is what counts
		missed = "no status"
		if values, err := jsonValues(string(said)); err == nil && len(values) == 1 {
			missed = unmet(values[0], conditions)
		}
		return missed == ""
	}) {
		ts.Fatalf("agent %s: after %s still not %s: %s", id, patience, missed, said)
	}
}

// soon runs a command until it does well. A machine with much to do may take longer to start a worker than a command
// waits for its answer.
func soon(ts *testscript.TestScript, args []string) {
	const name = "" // no other process has it
	u := userOf(ts)
	if !eventually(100*time.Millisecond, func() bool {
		u.begin(ts, name, program(ts, args))
		select {
		case <-u.named(ts, name).ended:
		case <-time.After(patience):
		}
		return !u.named(ts, name).running() && u.named(ts, name).cmd.ProcessState.Success()
	}) {
		ts.Logf("%s", u.named(ts, name).err)
	}
	u.named(ts, name).end(ts, "0")
}

// ordered requires that patterns are found in a file one after the other. The file may be stdout or stderr.
func ordered(ts *testscript.TestScript, file string, patterns []string) {
	rest := ts.ReadFile(file)
	for _, pattern := range patterns {
		place := regexp.MustCompile(`(?m)` + pattern).FindStringIndex(rest)
		if place == nil {
			ts.Fatalf("no match for %q, or not in its place, in %s", pattern, file)
		}
		rest = rest[place[1]:]
	}
}

// eventually asks until it is so, or patience is over.
func eventually(interval time.Duration, is func() bool) bool {
	for end := time.Now().Add(patience); ; time.Sleep(interval) {
		if is() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		interval = min(2*interval, max(interval, 500*time.Millisecond))
	}
}
