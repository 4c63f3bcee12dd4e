package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/starter/local"
	"everstep/worker/host"
)

// asProgram has a process of these tests be the program, with the arguments that follow.
const asProgram = "EVERSTEP_TEST_AS_PROGRAM"

// TestLeftWhileReading: one signal ends a command that reads what stalls, and nothing was done.
func TestLeftWhileReading(t *testing.T) {
	if os.Getenv(asProgram) != "" {
		_, args, _ := strings.Cut(strings.Join(os.Args, "\n"), "\n--\n")
		os.Exit(thisProgram().run(context.Background(), strings.Split(args, "\n")))
	}
	t.Parallel()
	const fifo = "FIFO"
	for line, signal := range map[string]os.Signal{
		"import -":                                   os.Interrupt,
		"import FIFO":                                syscall.SIGTERM,
		"run --model m/m -":                          syscall.SIGTERM,
		"send notes -":                               os.Interrupt,
		"fork notes -":                               syscall.SIGHUP,
		"rewind notes --to 1 -":                      os.Interrupt,
		"run --model m/m --messages - hi":            os.Interrupt,
		"approve notes abcd --edit @FIFO":            os.Interrupt,
		"schedule create x --model m/m --every 1h -": os.Interrupt,
		"schedule update x --messages -":             os.Interrupt,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pipe := filepath.Join(dir, fifo)
			require.NoError(t, syscall.Mkfifo(pipe, 0o600))
			command := exec.Command(os.Args[0], append([]string{"-test.run=^TestLeftWhileReading$", "--"}, strings.Fields(strings.ReplaceAll(line, fifo, pipe))...)...)
			command.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+dir, local.VariableState+"="+filepath.Join(dir, "dev.db"), host.RecordsVariable+"="+filepath.Join(dir, "records"))
			var out, said bytes.Buffer
			command.Stdout, command.Stderr = &out, &said
			in, err := command.StdinPipe()
			require.NoError(t, err)
			defer in.Close()
			require.NoError(t, command.Start())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = command.Wait() // how it ended is in ProcessState
			}()
			t.Cleanup(func() {
				_ = command.Process.Kill() // it has ended, mostly
				<-ended
			})
			to := in
			if strings.Contains(line, fifo) {
				file, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the other side reads
				require.NoError(t, err)
				defer file.Close()
				to = file
			}
			// More than a pipe has room for: when it is written the program has read of it, and reads on.
			_, err = to.Write(bytes.Repeat([]byte("x"), 128<<10))
			require.NoError(t, err)
			left, err := filepath.Glob(filepath.Join(dir, "*"))
			require.NoError(t, err)
			require.Equal(t, []string{pipe}, left, "a process that is killed now leaves nothing either")
			require.NoError(t, command.Process.Signal(signal))
			select {
			case <-ended:
			case <-time.After(30 * time.Second):
				require.FailNow(t, "it goes on reading")
			}
			require.Equal(t, exitDetached, command.ProcessState.ExitCode(), said.String())
			require.Contains(t, said.String(), "left before all of it was read; nothing was done")
			require.Empty(t, out.String())
			left, err = filepath.Glob(filepath.Join(dir, "*"))
			require.NoError(t, err)
			require.Equal(t, []string{pipe}, left)
		})
	}
}

// TestTheSecondSignal ends the program with the code of one that was left, whatever it still does.
func TestTheSecondSignal(t *testing.T) {
	if os.Getenv(asProgram) != "" {
		ctx, _ := untilInterrupted(t.Context())
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		<-ctx.Done()
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
		select {}
	}
	t.Parallel()
	command := exec.Command(os.Args[0], "-test.run=^TestTheSecondSignal$", "-test.timeout=30s")
	command.Env = append(os.Environ(), asProgram+"=1")
	require.Error(t, command.Run())
	require.Equal(t, exitDetached, command.ProcessState.ExitCode())
}

// TestLeftWhileOpening: a FIFO to which nobody writes does not open.
func TestLeftWhileOpening(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, args := range [][]string{{"import", pipe}, {"approve", "notes", "abcd", "--edit", "@" + pipe}} {
		ctx, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer leave()
		code, _, stderr := newCaller(t).call(ctx, args...)
		require.Equal(t, exitDetached, code, stderr)
		require.Contains(t, stderr, "left before all of it was read")
	}
}
