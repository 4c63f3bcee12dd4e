package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"everstep/activities/warden"
)

const (
	// maxLine bounds one message: room for the longest result that a tool may have,
	// escaped and with its structure beside it.
	maxLine = 40 << 20
	// maxGarbage bounds what is no message, in a row: programs print what they should log, also during a long call.
	maxGarbage = 64 << 20
	// maxComplaint bounds a line of standard error in the log.
	maxComplaint = 4 << 10
	// leave is what a program has to end when its input does, and again when it is told to.
	leave = 2 * time.Second
)

// A program is a server that the worker has started. It is the SDK's transport and
// its connection, used once.
type program struct {
	process *warden.Process
	stdin   *os.File
	stdout  *os.File
	lines   *bufio.Reader
	// complain gets the lines of its standard error, and what it writes that is no message. last are the newest of
	// them, and heard is closed when its standard error has ended.
	complain func(string)
	last     []string
	heard    chan struct{}
	// notices bounds how many of its notices are heard.
	notices *rate.Limiter
	// read are messages that came in one line with the one before.
	read []jsonrpc.Message

	writing sync.Mutex
	mu      sync.Mutex
	broken  error

	// stop cancels stopping, before the program is asked to end.
	stopping context.Context
	stop     context.CancelFunc
}

// startProgram starts a server. Env is all of its environment; complain may
// be called from several goroutines at a time.
func startProgram(s Server, env []string, notices *rate.Limiter, complain func(string)) (*program, error) {
	path, err := exec.LookPath(s.Command)
	if err != nil {
		return nil, mistake{fmt.Errorf("command %q: %w", s.Command, cmp.Or(errors.Unwrap(err), err))}
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if folder, bad := os.Stat(s.Dir); s.Dir != "" && (bad != nil || !folder.IsDir()) {
		return nil, mistake{fmt.Errorf("cwd: %s is no folder", s.Dir)}
	}
	var ends []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
			ends = append(ends, r, w)
		}
		return r, w
	}
	theirIn, in := pipe()
	out, theirOut := pipe()
	stderr, theirErr := pipe()
	p := &program{notices: notices, stdin: in, stdout: out, heard: make(chan struct{})}
	p.stopping, p.stop = context.WithCancel(context.Background())
	p.complain = func(line string) {
		p.keep(line)
		complain(line)
	}
	if err == nil {
		if !slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, "PATH=") }) { // of no variable of the worker's
			env = append(env, "PATH="+filepath.Dir(path)+string(filepath.ListSeparator)+usualPath)
		}
		cmd := exec.Command(path, s.Args...)
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Dir, env, theirIn, theirOut, theirErr
		p.process, err = warden.Start(cmd)
	}
	if err != nil {
		for _, end := range ends {
			_ = end.Close() // some are nil
		}
		return nil, err
	}
	_, _, _ = theirIn.Close(), theirOut.Close(), theirErr.Close()
	p.lines = bufio.NewReaderSize(out, 64<<10)
	go p.listen(stderr)
	return p, nil
}

// Connect implements the SDK's transport.
func (p *program) Connect(context.Context) (sdk.Connection, error) { return p, nil }

// SessionID implements the SDK's connection: there is none.
func (p *program) SessionID() string { return "" }

// Read returns the server's next message. It passes over lines that are no message, and those of notices beyond their limit; it
// fails where the program has ended or writes too much that is no message. A line may hold several messages, which are
// returned one by one. An answer that is too long comes as an error in its place.
func (p *program) Read(context.Context) (jsonrpc.Message, error) {
	for garbage := 0; ; {
		if len(p.read) > 0 {
			message := p.read[0]
			p.read = p.read[1:]
			return message, nil
		}
		line, err := p.line()
		switch {
		case errors.Is(err, errLongLine):
			p.complains("a message of more than "+strconv.Itoa(maxLine)+" bytes", line)
			return &jsonrpc.Response{ID: headed(line), Error: tooLong()}, nil
		case err != nil:
			return nil, p.failed(err)
		}
		if p.notices.Tokens() < 1 && !bytes.Contains(line, []byte(`"id"`)) {
			continue // a notice too many, which costs more to decode than to read
		}
		if p.read, err = understood(line, true); err == nil {
			garbage = 0
			continue
		}
		if garbage += len(line) + 1; garbage > maxGarbage {
			return nil, p.failed(fmt.Errorf("it writes what is no message of the protocol, more than %d bytes in a row", maxGarbage))
		}
		p.complains("no message", line)
	}
}

// complains shows the beginning of what is passed over.
func (p *program) complains(why string, line []byte) {
	if line = bytes.TrimSpace(line); len(line) > 0 {
		p.complain(why + ": " + strings.ToValidUTF8(string(line[:min(len(line), maxComplaint)]), "\uFFFD"))
	}
}

var errLongLine = errors.New("a line is too long")

// line reads a line, however it ends, or the lines of a message that is printed over several. Of one that is too long it
// returns the beginning, with errLongLine.
func (p *program) line() ([]byte, error) {
	var whole []byte
	for passed, begins := 0, true; ; {
		piece, err := p.lines.ReadSlice('\n')
		closes := begins && bytes.HasPrefix(piece, []byte("}"))
		begins = err == nil
		switch {
		case passed+len(piece) > 4*maxLine:
			return nil, fmt.Errorf("it sends a message of more than %d bytes", maxLine)
		case passed > 0 || len(whole)+len(piece) > maxLine:
			if passed == 0 {
				passed, whole = len(whole), bytes.Clone(whole[:min(len(whole), maxComplaint)])
			}
			passed += len(piece)
		default:
			whole = append(whole, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull), err == nil && !closes && p.goesOn(whole):
		case err == nil && passed > 0:
			return whole, errLongLine
		default:
			return whole, err
		}
	}
}

// opening is the first line of a message that is printed over several.
var opening = regexp.MustCompile(`^\{\r?\n`)

// goesOn reports whether the next line belongs to a message of several: such are indented, up to the one that closes it.
func (p *program) goesOn(message []byte) bool {
	if !opening.Match(message) {
		return false
	}
	next, err := p.lines.Peek(1)
	return err == nil && bytes.ContainsAny(next, " \t}")
}

// failed keeps the first reason for which nothing more is read.
func (p *program) failed(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken == nil {
		p.broken = err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
		return io.EOF
	}
	return err
}

// Write sends a message. What was sent in part breaks the connection: nothing after
// it could be read.
func (p *program) Write(ctx context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if request, ok := message.(*jsonrpc.Request); ok && request.Method == methodCall {
		sendingOf(ctx).note(func(s *sending) { s.begun = true })
	}
	// A server that reads nothing does not hold a call longer than it may last.
	_ = p.stdin.SetWriteDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { _ = p.stdin.SetWriteDeadline(time.Now()) })
	n, err := p.stdin.Write(append(data, '\n'))
	stop()
	if err == nil {
		return nil
	}
	if n == 0 {
		sendingOf(ctx).note(func(s *sending) { s.begun = false })
	} else {
		_ = p.stdout.Close() // the read that is under way fails
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return p.failed(err)
}

// Close lets the program know that it is to end. How it ends is end's to see to.
func (p *program) Close() error {
	_, _ = p.stdin.Close(), p.stdout.Close() // one of them may be closed already
	return nil
}

// end ends the program, and returns when it is gone with all that it started.
func (p *program) end() {
	_ = p.Close()
	select {
	case <-p.process.Done():
	case <-time.After(leave):
		p.stop()
		p.process.Stop(leave)
	}
}

// ended is why nothing more is read or written; nil: the connection holds.
func (p *program) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

// why says how the connection came to its end, as far as it is known soon.
func (p *program) why() string {
	broken, closed := p.ended(), "output"
	switch {
	case errors.Is(broken, syscall.EPIPE): // the write came before the read that finds its end
		closed = "input"
	case broken != nil && !errors.Is(broken, io.EOF) && !errors.Is(broken, os.ErrClosed):
		return broken.Error()
	}
	select {
	case <-p.process.Done():
		if p.stopping.Err() == nil {
			return "its program has ended (" + p.process.State() + ")"
		}
	case <-p.stopping.Done():
	case <-time.After(5 * time.Second): // what a busy machine may need from the end of a program's pipes to its own, of its warden too
	}
	return "it has closed its " + closed
}

// listen hands on what the program writes to its standard error, a line at a time.
func (p *program) listen(stderr *os.File) {
	defer close(p.heard)
	defer stderr.Close()
	for lines := bufio.NewReaderSize(stderr, maxComplaint); ; {
		line, err := lines.ReadSlice('\n')
		if text := bytes.TrimRight(line, "\r\n"); len(text) > 0 {
			p.complain(strings.ToValidUTF8(string(text), "\uFFFD"))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// colour is what terminals take for one.
var colour = regexp.MustCompile(`\x1b\[[0-9;]*[a-zA-Z]`)

// keep keeps a line of what the program writes. Lines that are indented are the frames of a stack, which would push out the error.
func (p *program) keep(line string) {
	line = colour.ReplaceAllString(line, "")
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) == 0 || strings.TrimLeft(line, " \t") == line {
		p.last = append(p.last, strings.TrimSpace(line))
		p.last = p.last[max(len(p.last)-8, 0):]
	}
}

// exited reports whether the program has ended by itself, and by no signal.
func (p *program) exited() bool {
	select {
	case <-p.process.Done():
		return p.stopping.Err() == nil && strings.HasPrefix(p.process.State(), "exit status")
	default:
		return false
	}
}
