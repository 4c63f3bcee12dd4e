package script_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// onTerminal starts a program on a terminal of 30 lines and 100 columns, which is the terminal of its session.
func (u *user) onTerminal(ts *testscript.TestScript, name string, cmd *exec.Cmd) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	ts.Check(err)
	fd := int(master.Fd())
	ts.Check(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	ts.Check(err)
	ts.Check(unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	ts.Check(err)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	screen := &transcript{}
	p := &process{cmd: cmd, out: screen, err: &transcript{}, master: master}
	u.start(ts, name, p)
	read, left := make(chan struct{}), p.ended
	p.ended = make(chan struct{})
	go func() {
		defer close(read)
		chunk := make([]byte, 4<<10)
		for err := error(nil); err == nil && !strings.HasSuffix(screen.String(), lastWord); {
			var n int
			n, err = master.Read(chunk)
			_, _ = screen.Write(chunk[:n])
		}
	}()
	go func() {
		defer close(p.ended)
		<-left
		_, _ = slave.WriteString(lastWord) // it fails where the terminal went with its session
		_ = slave.Close()
		<-read
		_ = master.Close()
	}()
}
