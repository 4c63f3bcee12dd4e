//go:build linux

package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"everstep/activities/tool"
	"everstep/domain"
)

// TestMain is also the program that keepers are, and a worker that is killed.
func TestMain(m *testing.M) {
	Serve()
	switch {
	case os.Args[0] == "no-keeper":
		os.Exit(0)
	case len(os.Args) == 2 && os.Args[1] == "headless":
		headless()
	case len(os.Args) == 4 && os.Args[1] == "lack":
		lack(os.Args[2], os.Args[3])
		return
	case len(os.Args) == 4 && os.Args[1] == "confined":
		confined(os.Args[3])
		return
	case len(os.Args) > 2 && os.Args[1] == "attack":
		os.Exit(attack(os.Args[2:]))
	case len(os.Args) == 5 && os.Args[1] == "work":
		work(namespace(os.Args[2]), os.Args[3], os.Args[4])
		return
	}
	os.Exit(m.Run())
}

// work is a worker that runs one script and tells what it answered. The namespace "any" is
// the one that it finds.
func work(in namespace, dir, script string) {
	s, err := Open(Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	if in != "any" {
		s.namespace = in
	}
	args := fields{"script": script}
	if seconds, err := strconv.Atoi(os.Getenv("EVERSTEP_TEST_SECONDS")); err == nil {
		args["timeout_seconds"] = seconds
	}
	text, err := call(context.Background(), s, args)
	fmt.Println(s.namespace, text, err)
}

// headless goes on for ten minutes in another thread than its first, which has ended.
func headless() {
	go func() {
		time.Sleep(10 * time.Minute)
		os.Exit(0)
	}()
	if unix.Gettid() == os.Getpid() {
		unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
	os.Exit(3)
}

// The first thread stays that of main.
func init() { runtime.LockOSThread() }

// fields are the arguments of a call.
type fields map[string]any

// open opens a folder of the test's, where the configuration names none.
func open(t *testing.T, config Config) (*Shell, string) {
	t.Helper()
	if config.Dir == "" {
		config.Dir = t.TempDir()
	}
	s, err := Open(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, config.Dir
}

// seenFolder is a folder that commands see, which those in the temporary folder are not.
func seenFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "everstep-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// call makes a call of the tool, with a text as a model writes it, or with fields.
func call(ctx context.Context, s *Shell, args any) (string, error) {
	text, written := args.(string)
	if !written {
		encoded, err := json.Marshal(args)
		if err != nil {
			return "", err
		}
		text = string(encoded)
	}
	result, err := s.Tool().Call(ctx, text)
	return result.Content, err
}

// answer is what a script comes to, without the line of how it ended.
func answer(t *testing.T, s *Shell, script string) (how, output string) {
	t.Helper()
	text, err := call(t.Context(), s, fields{"script": script})
	require.NoError(t, err)
	how, output, _ = strings.Cut(text, "\n")
	return how, output
}

// TestTheSameEndIsKnownAgain though the command took another time.
func TestTheSameEndIsKnownAgain(t *testing.T) {
	t.Parallel()
	ended := ending{report: report{Exit: 3, Left: 1}}
	first, err := ended.answer(time.Second)
	require.NoError(t, err)
	second, err := ended.answer(2 * time.Second)
	require.NoError(t, err)
	require.Equal(t, "[exit 3 after 1s; 1 that it had left running ended with it]\n[no output]", first.Content)
	require.NotEqual(t, first.Content, second.Content)
	require.Equal(t, "[exit 3; 1 that it had left running ended with it]\n[no output]", first.Compared)
	require.Equal(t, first.Compared, second.Compared)
}

// mark has what a script starts bear a mark, by which it is found wherever it goes.
func mark(dir, script string) string { return "export EVERSTEP_TEST_MARK='" + dir + "'\n" + script }

// marked are the processes that bear it, those too whose first thread has ended.
func marked(dir string) []string {
	var all []string
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/environ")
	for _, task := range tasks {
		environ, _ := os.ReadFile(task) // it may have ended
		if pid := strings.Split(task, "/")[2]; strings.Contains(string(environ), "EVERSTEP_TEST_MARK="+dir+"\x00") && !slices.Contains(all, pid) {
			all = append(all, pid)
		}
	}
	return all
}

// What is to come is waited for as long as a busy machine may need for it. All of /proc is read only now and then: each
// look takes the processor that those need who are to end.
const (
	patience = 4 * time.Minute
	lookAt   = 200 * time.Millisecond
)

// begun waits until a process bears the mark. The shell bears it only in what it starts, a look at /proc misses those that
// hop, and of those that stay the first may start after the script says that it is ready.
func begun(t *testing.T, dir string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(marked(dir)) > 0 }, patience, lookAt, "nothing of the script is found")
}

// gone waits until no process bears the mark.
func gone(t *testing.T, dir string) {
	t.Helper()
	if len(marked(dir)) > 0 {
		require.Eventually(t, func() bool { return len(marked(dir)) == 0 }, patience, lookAt, "something goes on")
	}
}

func TestCommandsAndScripts(t *testing.T) {
	t.Parallel()
	s, dir := open(t, Config{})
	require.NoError(t, s.Tool().Check())
	require.Equal(t, domain.AtMostOnce, s.Tool().Spec().Effect)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	for name, test := range map[string]struct {
		args string
		want string
	}{
		"a script":        {`{"script":"echo out; echo err >&2"}`, `^\[exit 0 after \S+\]\nout\nerr$`},
		"a command":       {`{"command":["printf","%s|","a b","$HOME","*"]}`, `^\[exit 0 after \S+\]\na b\|\$HOME\|\*\|$`},
		"it failed":       {`{"script":"echo no; exit 3"}`, `^\[exit 3 after \S+\]\nno$`},
		"a signal":        {`{"script":"kill -TERM $$"}`, `^\[ended by a signal \(SIGTERM\) after \S+\]\n\[no output\]$`},
		"a folder":        {`{"script":"pwd -P","folder":"sub"}`, dir + "/sub$"},
		"no input":        {`{"script":"cat; read x || echo none"}`, `\]\nnone$`},
		"no terminal":     {`{"script":"test -t 0 || test -t 1 || echo none; (: < /dev/tty) 2>/dev/null || echo nor tty"}`, `none\nnor tty$`},
		"no output":       {`{"command":["true"]}`, `\n\[no output\]$`},
		"a session":       {`{"script":"test $$ = $(ps -o sid= -p $$) && echo own"}`, "own$"},
		"signals default": {`{"script":"kill -HUP $$; echo went on"}`, "SIGHUP"},
		"files in it":     {`{"script":"echo x > sub/made && cat sub/made"}`, `\]\nx$`},
		"heard":           {`{"script":"echo 'é'"}`, "é$"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := call(t.Context(), s, test.args)
			require.NoError(t, err)
			require.Regexp(t, test.want, text)
		})
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	s, dir := open(t, Config{})
	require.NoError(t, os.Symlink("/etc", filepath.Join(dir, "out")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "up")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "shut"), 0o000))
	marker := filepath.Join(dir, "ran")
	refused := func(name string, args fields, says string) {
		text, err := call(t.Context(), s, args)
		require.ErrorContains(t, err, says, "%s: %s", name, text)
		require.NotEqual(t, domain.Internal, domain.AsError(err).Kind, name)
		require.NoFileExists(t, marker, name)
	}
	for name, test := range map[string]struct {
		args fields
		says string
	}{
		"neither":           {fields{}, "give exactly one"},
		"both":              {fields{"script": "x", "command": []string{"x"}}, "give exactly one"},
		"an empty command":  {fields{"command": []string{}}, "give exactly one"},
		"an empty word":     {fields{"command": []string{""}}, "there is no program"},
		"no such program":   {fields{"command": []string{"no-such-program-here"}}, `there is no program "no-such-program-here"`},
		"not a program":     {fields{"command": []string{"./file"}}, `there is no program "./file"`},
		"a folder as one":   {fields{"command": []string{"/etc"}}, `there is no program "/etc"`},
		"a zero byte":       {fields{"script": "echo \x00"}, "a zero byte"},
		"a zero byte, word": {fields{"command": []string{"echo", "a\x00b"}}, "a zero byte"},
		"a long script":     {fields{"script": strings.Repeat("#", 100_001)}, "at most 100000"},
		"many words":        {fields{"command": append([]string{"echo"}, strings.Split(strings.Repeat("word ", 30_000), " ")...)}, "at most 100000"},
		"time below zero":   {fields{"script": "x", "timeout_seconds": -1}, "is none from 1 to 3600"},
		"much time":         {fields{"script": "x", "timeout_seconds": 3601}, "is none from 1 to 3600"},
		"time beyond all":   {fields{"script": "x", "timeout_seconds": 1 << 62}, "is none from 1 to 3600"},
		"another field":     {fields{"script": "x", "env": map[string]string{"A": "b"}}, "the schema has no such property"},
		"input":             {fields{"script": "x", "stdin": "x"}, "the schema has no such property"},
	} {
		if test.args["script"] == "x" {
			test.args["script"] = "touch '" + marker + "'"
		}
		refused(name, test.args, test.says)
	}
	for folder, says := range map[string]string{
		"..":             "leads out of the root",
		"sub/../../x":    "leads out of the root",
		"/etc":           "leads out of the root",
		"out":            "cannot be used",
		"up":             "cannot be used",
		"a\x00":          "leads out of the root",
		"absent":         "does not exist",
		"file":           "is no folder",
		"pipe":           "is no folder",
		"file/x":         "cannot be used",
		"/proc/self/cwd": "leads out of the root",
	} {
		refused(folder, fields{"script": "touch '" + marker + "'", "folder": folder}, says)
	}
}

// TestEnvironmentIsNamed: of the worker's variables a command gets those that are named.
func TestEnvironmentIsNamed(t *testing.T) {
	t.Setenv("EVERSTEP_TEST_SECRET", "sesame")
	t.Setenv("EVERSTEP_TEST_NAMED", "seen")
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Setenv("TZ", "UTC")
	t.Setenv("LANG", "C")
	s, _ := open(t, Config{Env: []string{"EVERSTEP_TEST_NAMED", "EVERSTEP_TEST_ABSENT"}})
	text, err := call(t.Context(), s, `{"command":["env"]}`)
	require.NoError(t, err)
	var names []string
	for _, line := range strings.Split(text, "\n")[1:] {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	own := []string{"PWD", "OLDPWD", "SHLVL", "_"} // a shell's
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(own, name) })
	require.ElementsMatch(t, []string{"PATH", "LANG", "LC_ALL", "TZ", "EVERSTEP_TEST_NAMED", "TERM", "HOME", "TMPDIR"}, names)
	require.Contains(t, text, "EVERSTEP_TEST_NAMED=seen")

	name := filepath.Base(t.TempDir()) + strconv.Itoa(os.Getpid())
	_, output := answer(t, s, `cat /proc/$PPID/environ | tr '\0' '\n'; echo x > "$TMPDIR/`+name+`"; mktemp; cat ~/`+name)
	require.NotContains(t, output, "sesame", "the keeper has no others either")
	require.Regexp(t, `/\S+\nx$`, output)
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "everstep-shell-*", name))
	require.NoError(t, err)
	require.Empty(t, left, "the temporary folder is gone with the call")
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	s, _ := open(t, Config{})
	how, output := answer(t, s, "seq 1 200000")
	require.Contains(t, how, "exit 0")
	require.Less(t, len(output), 61_000)
	require.True(t, strings.HasPrefix(output, "1\n2\n3\n"))
	require.True(t, strings.HasSuffix(output, "\n199999\n200000\n") || strings.HasSuffix(output, "\n199999\n200000"))
	require.Regexp(t, `\n\[… \d+ of 1288895 bytes left out …\]\n`, output)

	_, output = answer(t, s, `printf 'a\000b'`)
	require.Equal(t, "[3 bytes of output that is no text, not shown]", output)
	_, output = answer(t, s, "head -c 3000000 /dev/urandom")
	require.Equal(t, "[3000000 bytes of output that is no text, not shown]", output)

	s.flood = 10 << 20
	_, err := call(t.Context(), s, `{"command":["yes"]}`)
	require.Equal(t, domain.TooLarge, domain.AsError(err).Kind, "%v", err)
	require.ErrorContains(t, err, "it wrote more than 10485760 bytes]\ny\ny\n")
	require.Less(t, len(err.Error()), 62_000)
}

func TestOutputCutsNoCharacter(t *testing.T) {
	t.Parallel()
	for most := 1; most < 9; most++ {
		o := output{most: most, last: most, flood: 1000}
		for _, b := range []byte(strings.Repeat("é€", 10)) {
			_, err := o.Write([]byte{b})
			require.NoError(t, err)
		}
		require.NotContains(t, o.String(), "\uFFFD")
		require.Equal(t, strings.ToValidUTF8(o.String(), "?"), o.String())
	}
	whole := output{most: 4, last: 4, flood: 100}
	_, err := whole.Write([]byte("12345678"))
	require.NoError(t, err)
	require.Equal(t, "12345678", whole.String())
}

func TestKeeperThatIsNone(t *testing.T) {
	t.Parallel()
	s, dir := open(t, Config{})
	s.keeper = "no-keeper"
	_, err := call(t.Context(), s, `{"script":"touch ran"}`)
	require.True(t, tool.IsNotStarted(err), "%v", err)
	require.NoFileExists(t, filepath.Join(dir, "ran"))
	_, err = Open(Config{})
	require.ErrorContains(t, err, "need a folder")
	self, err := os.Executable()
	require.NoError(t, err)
	byHand := exec.Command(self)
	byHand.Args = []string{keeperName}
	require.Error(t, byHand.Run())
	require.Equal(t, 2, byHand.ProcessState.ExitCode())
}
