package wire

import (
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// maxBody bounds a response in bytes. Servers spend up to 320 of them on a
	// token, so the longest answers of today take about 40 MiB.
	maxBody = 128 << 20
	// maxEvent bounds one event of a stream, or an answer in one piece: the last
	// event of some APIs holds the whole answer once more.
	maxEvent = 16 << 20
	// maxHeld bounds what is kept of an answer. It is more than any message that
	// can be recorded.
	maxHeld = 4 << 20
	// perPart is what a part or a call counts beside its text, so that no server
	// makes more of them than can be looked through.
	perPart = 1 << 10
	// maxHeader bounds the header of a response.
	maxHeader = 1 << 20
	// trailerTimeout bounds the wait for what may follow a whole answer: its
	// usage and the end of the stream.
	trailerTimeout = 5 * time.Second
)

// errEvent is the error of an event that is too long.
func errEvent() error { return &tooLong{"an event of the answer", maxEvent} }

// tooLong is the error of something that has more bytes than it may.
type tooLong struct {
	what string
	most int64
}

func (t *tooLong) Error() string { return fmt.Sprintf("%s has more than %d bytes", t.what, t.most) }

var errQuiet = errors.New("the server sent nothing for too long")

// guarded is a response's body, bounded in bytes and in the time between them.
type guarded struct {
	io.ReadCloser

	quiet *time.Timer
	idle  time.Duration
	// most is how many bytes it may have, left how many are still to come.
	most, left int64
}

func (g *guarded) Read(p []byte) (int, error) {
	if g.left <= 0 {
		return 0, &tooLong{"the response", g.most}
	}
	n, err := g.ReadCloser.Read(p[:min(int64(len(p)), g.left)])
	g.left -= int64(n)
	if n > 0 {
		g.quiet.Reset(g.idle)
	}
	return n, err
}

// trail bounds the wait for what may follow a whole answer.
func (g *guarded) trail() {
	g.idle = min(trailerTimeout, g.idle)
	g.quiet.Reset(g.idle)
}
