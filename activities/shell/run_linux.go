package shell

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"everstep/activities/tool"
	"everstep/domain"
)

// checkHidden says what of the files that are to be hidden this system cannot hide.
func (s *Shell) checkHidden() error {
	for _, file := range s.config.Hidden {
		var info unix.Stat_t
		if unix.Stat(file, &info) == nil && info.Mode&unix.S_IFMT == unix.S_IFREG && info.Nlink > 1 {
			return errors.New("a file that holds keys has another name too (a hard link), by which commands could read it: " + file)
		}
	}
	if len(s.config.Hidden) > 0 && !s.hold.Namespaces && s.hold.Landlock == 0 {
		return errors.New("commands could read the files that hold keys, since this kernel has no Landlock; give the keys in variables")
	}
	return nil
}

const (
	// readyPatience is until a keeper is ready, endPatience until it has ended all that it keeps.
	readyPatience = 30 * time.Second
	endPatience   = 4 * time.Second
)

var errFlood = errors.New("too much output")

// A keeper is the process that keeps one command, as this one sees it.
type keeper struct {
	cmd       *exec.Cmd
	namespace namespace
	// control ends with this process, which the keeper takes for the order to end all.
	control *os.File
	reports chan report
	output  output
	// written is closed when nobody can write any more, flooded when it was too much.
	written, flooded chan struct{}
	reader           *os.File
}

// run has a keeper run a command to its end.
func (s *Shell) run(ctx context.Context, o order, folder *os.File, limit time.Duration) (ending, error) {
	var err error
	if o.Temp, err = os.MkdirTemp("", "everstep-shell-"); err != nil {
		return ending{}, notRun("it has no temporary folder")
	}
	defer os.RemoveAll(o.Temp) // the keeper does, unless it is lost
	o.Temp, err = filepath.EvalSymlinks(o.Temp)
	var temps *os.File
	if err == nil {
		temps, err = os.Open(filepath.Dir(o.Temp))
	}
	if err != nil {
		return ending{}, notRun("its temporary folder is gone")
	}
	defer temps.Close()
	o.Namespace, o.Network = s.namespace, s.config.Network
	k, err := s.start(folder, temps)
	if err != nil {
		return ending{}, notRun("its keeper cannot be started: %s", err)
	}
	defer k.release()
	first, ok := k.next(ctx, readyPatience)
	if !ok || !first.Ready {
		return ending{}, notRun("its keeper did not get ready")
	}
	if err := json.NewEncoder(k.control).Encode(o); err != nil {
		return ending{}, k.lost()
	}
	return k.watch(ctx, limit)
}

// start starts a keeper.
func (s *Shell) start(folder, temps *os.File) (_ *keeper, err error) {
	var mine, theirs [3]*os.File // control, reports, output
	defer func() {
		closeAll(theirs[:]...)
		if err != nil {
			closeAll(mine[:]...)
		}
	}()
	for i := range mine {
		if mine[i], theirs[i], err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	mine[0], theirs[0] = theirs[0], mine[0]
	k := &keeper{
		namespace: s.namespace, control: mine[0], reader: mine[2], reports: make(chan report, 2), written: make(chan struct{}), flooded: make(chan struct{}),
		output: output{most: 20_000, last: 40_000, flood: s.flood},
	}
	k.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{s.keeper}, Dir: "/", Env: s.env,
		ExtraFiles:  []*os.File{theirs[0], theirs[1], theirs[2], folder, s.dir, temps},
		SysProcAttr: s.namespace.attributes(s.config.Network),
	}
	if err = k.cmd.Start(); err != nil {
		return nil, err
	}
	go k.hear(mine[1])
	go k.collect()
	return k, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // pipes have nothing to add; some are nil
	}
}

// hear passes on what the keeper reports, until it is gone.
func (k *keeper) hear(reports *os.File) {
	defer close(k.reports)
	defer reports.Close()
	decoder := json.NewDecoder(reports)
	for range cap(k.reports) {
		var r report
		if decoder.Decode(&r) != nil {
			return
		}
		k.reports <- r
	}
}

// collect reads what the command writes. After a flood nothing is read, so that it stands still.
func (k *keeper) collect() {
	defer close(k.written)
	if _, err := io.Copy(&k.output, k.reader); errors.Is(err, errFlood) {
		close(k.flooded)
	}
}

func (k *keeper) next(ctx context.Context, patience time.Duration) (report, bool) {
	select {
	case r, ok := <-k.reports:
		return r, ok
	case <-ctx.Done():
	case <-time.After(patience):
	}
	return report{}, false
}

// watch waits for the end of the command, or brings it about.
func (k *keeper) watch(ctx context.Context, limit time.Duration) (ending, error) {
	var e ending
	var ok bool
	select {
	case e.report, ok = <-k.reports:
	case <-time.After(limit):
		e.cut = domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout, "it took longer than %s", limit)
	case <-k.flooded:
		e.cut = domain.TooLargef("it wrote more than %d bytes", k.output.flood)
	case <-ctx.Done():
		_, _ = k.end()
		return ending{}, context.Cause(ctx)
	}
	if e.cut != nil {
		e.report, ok = k.end()
	}
	switch {
	case !ok:
		return ending{}, k.lost()
	case e.NotBegun != "":
		return ending{}, tool.NotStarted(domain.Invalidf("the command was not run: %s", e.NotBegun))
	}
	select { // nobody is left who could write
	case <-k.written:
	case <-time.After(endPatience):
		_ = k.reader.Close()
		<-k.written
	}
	e.output = k.output
	return e, nil
}

// end has the keeper end all that it keeps, and returns its report.
func (k *keeper) end() (report, bool) {
	_ = k.control.Close()
	return k.next(context.Background(), endPatience)
}

// lost is the error where the keeper ended, or could not end all, without a report.
func (k *keeper) lost() error {
	return domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown,
		"outcome unknown: the keeper of the command was lost, or could not end it in time; it may have taken effect, and something of it may go on")
}

// release ends the keeper, which by now has nothing to do. With one in a namespace all
// ends that it keeps. Of one that is in none and still sweeps nobody could take the place:
// it goes on.
func (k *keeper) release() {
	_ = k.control.Close()
	gone := make(chan struct{})
	go func() {
		_ = k.cmd.Wait() // how it ended says nothing
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(endPatience):
		if k.namespace != none {
			_ = k.cmd.Process.Kill()
			<-gone
		}
	}
	_ = k.reader.Close()
	<-k.written
}
