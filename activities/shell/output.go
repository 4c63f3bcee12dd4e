package shell

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// An output keeps the beginning and the end of what a command writes.
type output struct {
	most, last int // bytes of the beginning, and of the end
	flood      int64
	head, tail []byte
	total      int64
	zeros      bool
}

// Write keeps what is to be kept, and reports errFlood when it is too much.
func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	o.total += int64(n)
	o.zeros = o.zeros || bytes.IndexByte(p, 0) >= 0
	part := p[:min(len(p), o.most-len(o.head))]
	o.head, p = append(o.head, part...), p[len(part):]
	o.tail = append(o.tail, p[max(0, len(p)-o.last):]...)
	if excess := len(o.tail) - o.last; excess > o.last {
		o.tail = slices.Delete(o.tail, 0, excess)
	}
	if o.total > o.flood {
		return n, errFlood
	}
	return n, nil
}

// String is the text, or what is said in the place of what is none.
func (o *output) String() string {
	if o.total == 0 {
		return "[no output]"
	}
	if o.zeros {
		return fmt.Sprintf("[%d bytes of output that is no text, not shown]", o.total)
	}
	tail := o.tail[max(0, len(o.tail)-o.last):]
	if o.total == int64(len(o.head)+len(tail)) {
		return string(o.head) + string(tail)
	}
	// Where it is cut no character is halved.
	head := o.head
	for i := 0; i < utf8.UTFMax && len(head) > 0; i++ {
		if r, size := utf8.DecodeLastRune(head); r != utf8.RuneError || size != 1 {
			break
		}
		head = head[:len(head)-1]
	}
	for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	left := o.total - int64(len(head)+len(tail))
	return fmt.Sprintf("%s\n[… %d of %d bytes left out …]\n%s", strings.TrimSuffix(string(head), "\n"), left, o.total, tail)
}
