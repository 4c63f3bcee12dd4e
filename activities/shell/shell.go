package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"everstep/activities/tool"
	"everstep/domain"
)

// Name is the name of the tool.
const Name = "shell"

// Config says where commands run, and what they get to see.
type Config struct {
	// Dir is the folder in which they run and write.
	Dir string
	// Env are the names of the variables of this process that they get, beside PATH,
	// LANG, LC_ALL and TZ.
	Env []string
	// Hidden are files and folders that they must not read, such as those that hold keys and what workers keep. They need
	// not exist. A system that cannot see to that refuses to have the tool.
	Hidden []string
	// Network has commands reach what the worker's user reaches, also the sockets of this machine, and with those the
	// server by which calls are approved.
	Network bool
	// Confined refuses to have the tool where commands cannot be confined; see Hold.
	Confined bool
}

// A Shell runs commands. It is safe for concurrent use.
type Shell struct {
	config Config
	root   *os.Root
	dir    *os.File
	env    []string
	// flood is how many bytes of output end a command.
	flood int64
	// namespace is what each command has to itself, and hold what keeps it in.
	namespace namespace
	hold      Hold
	// keeper is the name by which this program is called to keep one.
	keeper string
}

// served says that this program becomes a keeper where it is called as one.
var served atomic.Bool

const (
	// longest bounds a command's time.
	longest = time.Hour
	// maxScript bounds what a command may be given as arguments, all in all.
	maxScript = 100_000
)

// Open opens the folder.
func Open(config Config) (*Shell, error) {
	switch {
	case !served.Load():
		return nil, errors.New("nothing would end what commands start: main does not begin with host.Begin")
	case config.Dir == "":
		return nil, errors.New("commands need a folder to run in")
	}
	s := &Shell{config: config, keeper: keeperName, env: environment(config.Env), flood: 128 << 20}
	var err error
	if s.root, err = os.OpenRoot(config.Dir); err != nil {
		return nil, fmt.Errorf("open folder for commands: %w", err)
	}
	if s.dir, err = s.root.Open("."); err == nil {
		err = s.settle()
	}
	if err == nil {
		err = s.checkHidden()
	}
	if err == nil && config.Confined && !s.hold.Confined() {
		err = fmt.Errorf("commands cannot be confined on this machine: %s", s.hold)
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Hold says what keeps commands in.
func (s *Shell) Hold() Hold { return s.hold }

// Close ends the use of the folder. It waits for nothing.
func (s *Shell) Close() error { return errors.Join(s.dir.Close(), s.root.Close()) }

// environment is what commands get of this process's.
func environment(names []string) []string {
	var env []string
	if _, ok := os.LookupEnv("PATH"); !ok {
		env = append(env, "PATH=/usr/local/bin:/usr/bin:/bin")
	}
	for _, name := range append([]string{"PATH", "LANG", "LC_ALL", "TZ"}, names...) {
		if value, ok := os.LookupEnv(name); ok && name != "" {
			env = append(env, name+"="+value)
		}
	}
	return append(env, "TERM=dumb")
}

// Tool returns the tool. Who has no worker may ask the zero Shell for it.
func (s *Shell) Tool() tool.Tool {
	return tool.NewResult(Name, "Runs a command, or a script of /bin/sh, in a folder of the root, and returns how it ended and what it wrote, of long output the beginning and the end. "+
		"It gets no input and no terminal. When it ends, all that it has started is ended too, so nothing can be left running in the background.", domain.AtMostOnce, s.call)
}

type args struct {
	Command []string `json:"command,omitzero" jsonschema:"the program and its arguments, which no shell reads; or give script"`
	Script  string   `json:"script,omitzero" jsonschema:"a script for /bin/sh; or give command"`
	Folder  string   `json:"folder,omitzero" jsonschema:"where to run it, relative to the root; left out: the root"`
	Timeout int      `json:"timeout_seconds,omitzero" jsonschema:"how long it may take, in seconds; left out: 120"`
}

func (s *Shell) call(ctx context.Context, a args) (tool.Result, error) {
	command, limit, err := s.command(a)
	if err != nil {
		return tool.Result{}, err
	}
	folder, err := s.folder(a.Folder)
	if err != nil {
		return tool.Result{}, err
	}
	defer folder.Close()
	hidden, err := s.hidden()
	if err != nil {
		return tool.Result{}, err
	}
	limit = within(ctx, limit)
	began := time.Now()
	ended, err := s.run(ctx, order{Command: command, Hidden: hidden}, folder, limit)
	if err != nil {
		return tool.Result{}, err
	}
	return ended.answer(time.Since(began))
}

func (s *Shell) command(a args) ([]string, time.Duration, error) {
	command, size := a.Command, 0
	switch {
	case len(command) > 0 && a.Script != "", len(command) == 0 && a.Script == "":
		return nil, 0, domain.Invalidf("command, script: give exactly one of them")
	case a.Script != "":
		command = []string{"/bin/sh", "-c", a.Script}
	}
	for _, word := range command {
		if size += len(word); strings.ContainsRune(word, 0) {
			return nil, 0, domain.Invalidf("command, script: a zero byte cannot be in it")
		}
	}
	if size > maxScript {
		return nil, 0, domain.TooLargef("command, script: has %d bytes; at most %d are taken; write a file and run that", size, maxScript)
	}
	limit := cmp.Or(time.Duration(a.Timeout)*time.Second, 2*time.Minute)
	if a.Timeout < 0 || a.Timeout > int(longest/time.Second) {
		return nil, 0, domain.Invalidf("timeout_seconds: %d is none from 1 to %d", a.Timeout, longest/time.Second)
	}
	return command, limit, nil
}

// folder opens where a command is to run. The system sees to it that it is in the root.
func (s *Shell) folder(name string) (*os.File, error) {
	name = cmp.Or(name, ".")
	shown := domain.Shorten(name, 100)
	if !filepath.IsLocal(name) || strings.ContainsRune(name, 0) {
		return nil, domain.Deniedf("folder: %q leads out of the root; give a path inside it", shown)
	}
	info, err := s.root.Stat(name)
	if err == nil && !info.IsDir() {
		return nil, domain.Invalidf("folder: %q is no folder", shown)
	}
	var folder *os.File
	if err == nil {
		folder, err = s.root.Open(name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, domain.Invalidf("folder: %q does not exist", shown)
	case err != nil:
		return nil, domain.Deniedf("folder: %q cannot be used", shown)
	}
	return folder, nil
}

// hidden are the places of what is to be hidden, which links may lead to.
func (s *Shell) hidden() ([]string, error) {
	var places []string
	for _, path := range s.config.Hidden {
		place, err := PlaceOf(path)
		if err != nil {
			return nil, notRun("what is to be hidden from it cannot be found")
		}
		places = append(places, place)
	}
	return places, nil
}

// notRun is the error of a command that was surely not run.
func notRun(format string, args ...any) error {
	return tool.NotStarted(domain.Errorf(domain.Unavailable, "the command was not run: "+format, args...))
}

// within is a limit, or what the call has left less the time to end and to say so.
func within(ctx context.Context, limit time.Duration) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return limit
	}
	left := time.Until(deadline) - domain.ReportTime - 10*time.Second
	return max(min(limit, left), time.Second)
}

// An order is what a keeper is told to do.
type order struct {
	Command []string `json:"command"`
	Hidden  []string `json:"hidden,omitzero"`
	Network bool     `json:"network,omitzero"`
	// Namespace is how its keeper has namespaces, which wants a view of the files.
	Namespace namespace `json:"namespace,omitzero"`
	// Temp is its temporary folder.
	Temp string `json:"temp"`
}

// A report is what a keeper says: first that it is ready, then how the command ended.
type report struct {
	Ready bool `json:"ready,omitzero"`
	// NotBegun says why the command was not begun.
	NotBegun string `json:"not_begun,omitzero"`
	Exit     int    `json:"exit"`
	Signal   string `json:"signal,omitzero"`
	// Left is how many processes went on when the command had ended.
	Left int64 `json:"left,omitzero"`
}

// An ending is how a command ended, with what it wrote.
type ending struct {
	report
	// cut says what ended it before it ended itself; nil: nothing did.
	cut    *domain.Error
	output output
}

// answer is what the model reads. That a command failed is no failure of the tool; that it was
// cut off is.
func (e ending) answer(took time.Duration) (tool.Result, error) {
	if e.cut != nil {
		e.cut.Message = "[ended with all that it had started: " + e.cut.Message + "]\n" + e.output.String()
		return tool.Result{}, e.cut
	}
	how, left := fmt.Sprintf("exit %d", e.Exit), ""
	if e.Signal != "" {
		how = fmt.Sprintf("ended by a signal (%s)", e.Signal)
	}
	if e.Left > 0 {
		left = fmt.Sprintf("; %d that it had left running ended with it", e.Left)
	}
	told := func(how string) string { return strings.TrimSuffix("["+how+left+"]\n"+e.output.String(), "\n") }
	return tool.Result{Content: told(how + " after " + took.Round(10*time.Millisecond).String()), Compared: told(how)}, nil
}
