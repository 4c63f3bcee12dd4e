package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"
)

// An output is where text goes, with what is known of who reads it. What is
// written must have been cleaned; colours that the reader cannot see are left
// out on the way. Safe for concurrent use.
type output struct {
	to io.Writer
	// terminal says that a person is likely to read it.
	terminal bool
	// animated says that lines may be replaced.
	animated bool
	theme    theme
	// width returns the columns of the terminal, zero where there is no limit.
	width func() int

	mu sync.Mutex
	// lost is why something could not be written, the first time.
	lost error
	// live draws notes above what it may take back; nil where nothing is drawn.
	live *liveView
}

const (
	usualWidth = 80
	leastWidth = 30
)

func newOutput(file *os.File, env environment) *output {
	if !term.IsTerminal(int(file.Fd())) {
		return plainOutput(file)
	}
	writer := colorprofile.NewWriter(file, env.Environ())
	if env.value(variableNoColor) != "" {
		writer.Profile = min(writer.Profile, colorprofile.ASCII)
	}
	return &output{
		to: writer, terminal: true, animated: writer.Profile > colorprofile.NoTTY, theme: newTheme(),
		width: func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if columns := env.columns(); columns > 0 {
				width = columns
			}
			if err != nil || width <= 0 {
				return usualWidth
			}
			return max(width, leastWidth)
		},
	}
}

// plainOutput is for files, pipes and tests: no colour, no limit.
func plainOutput(to io.Writer) *output {
	return &output{to: to, theme: noTheme(), width: func() int { return 0 }}
}

// Write writes a text as it is. Safe for concurrent use.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.to.Write(text)
	if err != nil && o.lost == nil {
		o.lost = fmt.Errorf("standard output: %w; not all of the answer is there", err)
	}
	return n, err
}

// complete is the error of an output of which not all could be written.
func (o *output) complete() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

// printf writes a text. That it could not is told by complete.
func (o *output) printf(format string, args ...any) { _, _ = fmt.Fprintf(o, format, args...) }

// note writes a line from any goroutine, above what a live view has drawn.
func (o *output) note(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.live != nil {
		o.live.redraw([]string{text}, o.live.going())
		return
	}
	_, _ = io.WriteString(o.to, text+"\n") // there is nobody to tell
}
