package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"everstep/starter/client"
)

// typedOn is a terminal as a program has it, and what a person types and reads there.
func typedOn(t *testing.T) (slave, person *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, master.Close()) })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, slave.Close()) })
	return slave, master
}

// TestForgetTyped: what was typed without its end at one question is no answer to the next.
func TestForgetTyped(t *testing.T) {
	t.Parallel()
	slave, master := typedOn(t)
	_, err := master.WriteString("y")
	require.NoError(t, err)
	_, err = master.Read(make([]byte, 1)) // its echo: the terminal has it
	require.NoError(t, err)
	forgetTyped(slave)
	_, err = master.WriteString("n\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(slave).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "n\n", line)
}

// TestACallThatIsCutIsNotAsked: approve shows a part of the arguments on a terminal, and no y lets the call run.
func TestACallThatIsCutIsNotAsked(t *testing.T) {
	t.Parallel()
	slave, master := typedOn(t)
	_, err := master.WriteString("y\n")
	require.NoError(t, err, "it is typed before")
	call := waitingPay(`{"note":"`+strings.Repeat("x", 100)+`"}`, false)
	call.Wait = call.Cut(20)
	p, said := asking(t)
	p.in, p.out.Terminal, p.err.Terminal = slave, true, true
	require.True(t, p.interactive())
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // whoever asked all the same would not wait for an answer
	yes, err := p.seen(ctx, call, false)
	require.False(t, yes)
	require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	require.ErrorContains(t, err, "only a part of the arguments is shown")
	require.Contains(t, said.String(), `{"note":`, "it is shown")
	require.NotContains(t, said.String(), "y runs it")
}
