package main

import (
	"fmt"
	"io"
	"os"

	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"
)

// An output is where text goes, with what is known of who reads it. What is
// written must have been cleaned; colours that the reader cannot see are left
// out on the way.
type output struct {
	to io.Writer
	// terminal says that a person is likely to read it.
	terminal bool
	// animated says that lines may be replaced.
	animated bool
	theme    theme
	// width returns the columns of the terminal, zero where there is no limit.
	width func() int
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

func (o *output) Write(text []byte) (int, error) { return o.to.Write(text) }

// printf writes a text. There is nobody to tell where it cannot be written.
func (o *output) printf(format string, args ...any) { _, _ = fmt.Fprintf(o.to, format, args...) }
