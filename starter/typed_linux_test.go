package main

import (
	"bufio"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestForgetTyped: what was typed without its end at one question is no answer to the next.
func TestForgetTyped(t *testing.T) {
	t.Parallel()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, master.Close()) }()
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, slave.Close()) }()
	_, err = master.WriteString("y")
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
