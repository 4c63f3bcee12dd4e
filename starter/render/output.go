package render

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"

	"everstep/domain"
)

// An Output is where text goes, with what is known of who reads it. What is
// written must have been cleaned; colours that the reader cannot see are left
// out on the way. Safe for concurrent use.
type Output struct {
	to       io.Writer
	Terminal bool // a person is likely to read it
	animated bool // lines may be replaced
	Theme    Theme
	// Width returns the columns of the terminal, zero where there is no limit.
	Width func() int

	mu   sync.Mutex
	lost error // why something could not be written, the first time
	// live draws notes above what it may take back; nil where nothing is drawn.
	live interface{ above(note string) }
}

const (
	usualWidth = 80
	leastWidth = 30
)

// NewOutput is for a file of the process. environ is what tells of the reader's
// colours; columns is the width that the reader asked for, zero for none.
func NewOutput(file *os.File, environ []string, noColor bool, columns int) *Output {
	if !term.IsTerminal(int(file.Fd())) {
		return Plain(file)
	}
	writer := colorprofile.NewWriter(file, environ)
	if noColor {
		writer.Profile = min(writer.Profile, colorprofile.ASCII)
	}
	return &Output{
		to: writer, Terminal: true, animated: writer.Profile > colorprofile.NoTTY, Theme: newTheme(),
		Width: func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if columns > 0 {
				width = columns
			}
			if err != nil || width <= 0 {
				return usualWidth
			}
			return max(width, leastWidth)
		},
	}
}

// Plain is for files, pipes and tests: no colour, no limit.
func Plain(to io.Writer) *Output {
	return &Output{to: to, Theme: noTheme(), Width: func() int { return 0 }}
}

// Write writes a text as it is. Safe for concurrent use.
func (o *Output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.to.Write(text)
	if err != nil && o.lost == nil {
		o.lost = fmt.Errorf("standard output: %w; not all of the answer is there", err)
	}
	return n, err
}

// Complete is the error of an output of which not all could be written.
func (o *Output) Complete() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

// Printf writes a text. That it could not is told by Complete.
func (o *Output) Printf(format string, args ...any) { _, _ = fmt.Fprintf(o, format, args...) }

// JSON writes a value as one line of JSON.
func (o *Output) JSON(value any) error {
	line, err := encode(value)
	if err == nil {
		_, err = o.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// Answer is an answer as it is to be written: as it is into a file or a pipe, made
// safe on a terminal. It is not laid out as Markdown, since nobody knows that it
// is meant so: 2*3*4, __init__ and vector<int> would lose characters that count.
func (o *Output) Answer(text string) string {
	if o.Terminal {
		text = Clean(text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// Facts writes a line for each name and its text; width is that of the names.
func (o *Output) Facts(width int, facts [][2]string) {
	for _, fact := range facts {
		o.Printf("%s", o.Theme.fact(width, fact[0], OneLine(fact[1])))
	}
}

// Hints writes commands with what they do.
func (o *Output) Hints(hints [][2]string) {
	width := 0
	for _, hint := range hints {
		width = max(width, len(hint[0]))
	}
	for _, hint := range hints {
		o.Printf("  %s  %s\n", o.Theme.name(fmt.Sprintf("%-*s", width, hint[0])), o.Theme.Faint(hint[1]))
	}
}

// Note writes a line from any goroutine, above what a live view has drawn.
func (o *Output) Note(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.live != nil {
		o.live.above(text)
		return
	}
	_, _ = io.WriteString(o.to, text+"\n") // there is nobody to tell
}

// A Theme paints words. It uses the terminal's own sixteen colours, which are
// legible on light and dark grounds alike.
type Theme struct {
	name, Good, Bad, Warn, Faint, Head func(...string) string
}

func newTheme() Theme {
	style := lipgloss.NewStyle()
	return Theme{
		name:  style.Foreground(lipgloss.Cyan).Render,
		Good:  style.Foreground(lipgloss.Green).Render,
		Bad:   style.Foreground(lipgloss.Red).Render,
		Warn:  style.Foreground(lipgloss.Yellow).Render,
		Faint: style.Faint(true).Render,
		Head:  style.Bold(true).Render,
	}
}

// noTheme paints nothing.
func noTheme() Theme {
	return Theme{name: plain, Good: plain, Bad: plain, Warn: plain, Faint: plain, Head: plain}
}

func plain(words ...string) string { return strings.Join(words, " ") }

// fact is a line of a name, which takes width columns, and a cleaned text.
func (t Theme) fact(width int, name, text string) string {
	return fmt.Sprintf("  %s %s\n", t.Faint(fmt.Sprintf("%-*s", width, name)), text)
}

// A sheet is facts for people, each under its name.
type sheet struct {
	strings.Builder
	theme Theme
	now   time.Time
}

// factWidth is how wide the names of facts are.
const factWidth = 9

// newSheet begins with whose facts they are.
func newSheet(t Theme, now time.Time, id string, number int, status domain.ExecutionStatus, words string) *sheet {
	x := &sheet{theme: t, now: now}
	fmt.Fprintf(x, "%s %s · execution %d · %s\n", t.glyph(status), t.Head(OneLine(id)), number, words)
	return x
}

// fact writes lines under a name; those after the first have none.
func (x *sheet) fact(name string, texts ...string) {
	for _, text := range texts {
		if text != "" {
			x.WriteString(x.theme.fact(factWidth, name, text))
			name = ""
		}
	}
}

// glyph is the sign of an execution's end.
func (t Theme) glyph(status domain.ExecutionStatus) string {
	switch status {
	case domain.StatusCompleted:
		return t.Good("✓")
	case domain.StatusFailed:
		return t.Bad("✗")
	case domain.StatusStopped:
		return t.Warn("■")
	case domain.StatusPending, domain.StatusInProgress:
	}
	return t.Faint("·")
}
