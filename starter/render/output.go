package render

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"everstep/domain"
)

// An Output is where cleaned text goes, with what is known of who reads it: colours that the reader
// cannot see are left out on the way. Safe for concurrent use.
type Output struct {
	to       io.Writer
	Terminal bool // a person is likely to read it
	Animated bool // lines may be replaced
	Theme    Theme
	// Width returns the columns of the terminal, zero where there is no limit.
	Width func() int

	mu   sync.Mutex
	lost error // why something could not be written, the first time
	// going are the lines that are drawn anew below all others, and drawn how many of them are on the terminal.
	going []string
	drawn int
	// held says that a person is asked, and later what is to be shown after that.
	held  bool
	later []string
}

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
	style := lipgloss.NewStyle()
	return &Output{
		to: writer, Terminal: true, Animated: writer.Profile > colorprofile.NoTTY,
		Theme: Theme{
			name:  style.Foreground(lipgloss.Cyan).Render,
			Good:  style.Foreground(lipgloss.Green).Render,
			Bad:   style.Foreground(lipgloss.Red).Render,
			Warn:  style.Foreground(lipgloss.Yellow).Render,
			Faint: style.Faint(true).Render,
			Head:  style.Bold(true).Render,
		},
		Width: func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if columns > 0 {
				width = columns
			}
			if err != nil || width <= 0 {
				return 80
			}
			return max(width, 30)
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

// Print writes a text, folded.
func (o *Output) Print(text string) { o.Printf("%s", o.Fold(text)) }

// JSON writes a value as one line of JSON.
func (o *Output) JSON(value any) error {
	line, err := domain.Encode(value)
	if err == nil {
		_, err = o.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// Answer is an answer as it is to be written: what could steer a terminal is made
// visible on one, and taken out elsewhere, since a pipe may end at one. It is not laid out as Markdown, since nobody knows that it
// is meant so: 2*3*4, __init__ and vector<int> would lose characters that count.
func (o *Output) Answer(text string) string {
	if o.Terminal {
		text = Clean(text)
	} else {
		text = stripped(text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

var (
	painted = regexp.MustCompile("\x1b\\[[0-9;]*m")
	// unbroken is where a line goes on in the next.
	unbroken = regexp.MustCompile(`(\S)\n(\S)`)
	hanging  = regexp.MustCompile(`^ *(\S+( \S+)? {2,})?`)
)

// Fold breaks lines that are too long for the reader, and between words alone. What goes on
// stands below what follows a name, or as far in as the line.
func (o *Output) Fold(text string) string {
	width := o.Width()
	if width == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		indent := min(len(hanging.FindString(painted.ReplaceAllString(line, ""))), width/2)
		used, spaces := 0, ""
		for word := range strings.SplitAfterSeq(line, " ") {
			bare := strings.TrimRight(word, " \n")
			if used > indent && used+lipgloss.Width(bare) > width {
				used, spaces = indent, "\n"+strings.Repeat(" ", indent)
			}
			b.WriteString(spaces + bare)
			spaces = word[len(bare):]
			used += lipgloss.Width(word)
		}
		b.WriteString(strings.TrimLeft(spaces, " "))
	}
	return b.String()
}

// Paragraphs lays out a text that was broken by hand, but for lines that are set in.
func (o *Output) Paragraphs(text string) string {
	if o.Width() == 0 {
		return text
	}
	return o.Fold(unbroken.ReplaceAllString(text, "$1 $2"))
}

// Wrapped is a cleaned text broken into lines of a width; first stands before the first, rest before the others.
func Wrapped(text, first, rest string, width int) []string {
	room := max(width-max(lipgloss.Width(first), lipgloss.Width(rest)), 1)
	lines := strings.Split(lipgloss.Wrap(strings.ReplaceAll(text, "\t", "    "), room, ""), "\n")
	for i, l := range lines {
		lines[i] = first + strings.TrimRight(l, " ")
		first = rest
	}
	return lines
}

// Facts writes a line for each name and its text; width is that of the names.
func (o *Output) Facts(width int, facts [][2]string) {
	for _, fact := range facts {
		o.Print(o.Theme.fact(width, fact[0], OneLine(fact[1])))
	}
}

// Hints writes commands with what they do.
func (o *Output) Hints(hints [][2]string) {
	width := 0
	for _, hint := range hints {
		width = max(width, len(hint[0]))
	}
	for _, hint := range hints {
		o.Print(fmt.Sprintf("  %s  %s\n", o.Theme.name(fmt.Sprintf("%-*s", width, hint[0])), o.Theme.Faint(hint[1])))
	}
}

// Note writes a line from any goroutine, above those that are drawn anew.
func (o *Output) Note(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.redraw([]string{text}, o.going)
}

// Draw writes lines that stay, and below them those that are going to be drawn anew, each of which has to fit the terminal.
func (o *Output) Draw(settled, going []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.going = going
	o.redraw(settled, going)
}

func (o *Output) redraw(settled, going []string) {
	if o.held {
		o.later = append(o.later, settled...)
		return
	}
	text := ""
	if o.drawn > 0 {
		text = fmt.Sprintf("\r\x1b[%dA\x1b[J", o.drawn)
	}
	for _, l := range slices.Concat(settled, going) {
		text += l + "\n"
	}
	if o.drawn = len(going); text != "" {
		_, _ = io.WriteString(o.to, text) // there is nobody to tell
	}
}

// Hold shows a question, and nothing else below it until Resume, so that a person can type there.
func (o *Output) Hold(question string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.redraw(nil, nil)
	o.held = true
	_, _ = io.WriteString(o.to, question) // there is nobody to tell
}

// Resume shows what came since Hold.
func (o *Output) Resume() {
	o.mu.Lock()
	defer o.mu.Unlock()
	later := o.later
	o.held, o.later = false, nil
	o.redraw(later, o.going)
}

// A Theme paints words in the terminal's own colours, legible on light and dark.
type Theme struct {
	name, Good, Bad, Warn, Faint, Head func(...string) string
}

func noTheme() Theme {
	return Theme{name: plain, Good: plain, Bad: plain, Warn: plain, Faint: plain, Head: plain}
}

func plain(words ...string) string { return strings.Join(words, " ") }

// fact is a line of a name, which takes width columns, and a cleaned text.
func (t Theme) fact(width int, name, text string) string {
	return fmt.Sprintf("  %s %s\n", t.Faint(fmt.Sprintf("%-*s", width, name)), text)
}

type details struct {
	strings.Builder
	theme Theme
	now   time.Time
}

func (x *details) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(&x.Builder, format, args...) // a Builder never fails
}

func newDetails(t Theme, now time.Time, id string, number int, status domain.ExecutionStatus, words string) *details {
	x := &details{theme: t, now: now}
	x.printf("%s %s · execution %d · %s\n", t.glyph(status), t.Head(OneLine(id)), number, words)
	return x
}

// fact writes lines under a name; those after the first have none.
func (x *details) fact(name string, texts ...string) {
	for _, text := range texts {
		if text != "" {
			x.WriteString(x.theme.fact(9, name, text))
			name = ""
		}
	}
}

func (t Theme) glyph(status domain.ExecutionStatus) string {
	signs := map[domain.ExecutionStatus]string{domain.StatusCompleted: t.Good("✓"), domain.StatusFailed: t.Bad("✗"), domain.StatusStopped: t.Warn("■")}
	return cmp.Or(signs[status], t.Faint("·"))
}

// A Table is rows of cleaned, single-line cells under a head.
type Table struct {
	Head    []string
	Rows    [][]string
	Numbers bool // all cells but the first of a row are numbers, which end below one another
	// Columns is the flag that chooses them, where the command has one.
	Columns string
	// Gives is the head of the column whose cells are cut before any column is left out; empty: none is.
	Gives string
}

// drop leaves a column out.
func (t *Table) drop(head string) {
	at := slices.Index(t.Head, head)
	t.Head = slices.Delete(t.Head, at, at+1)
	for i, row := range t.Rows {
		t.Rows[i] = slices.Delete(row, at, at+1)
	}
}

const columnGap = "  "

// Render aligns the columns. Where they do not fit the one that Gives is narrowed, as far as its cells still tell
// something; of those that have no place even so the last are left out, and named below; the last that is shown may be cut. The first, by which rows are called, stays whole, and the second, which says how it stands, is cut
// before it is left out.
func (t Table) Render(out *Output) string {
	widths := t.widths(out.Width())
	var b strings.Builder
	b.WriteString(t.line(t.Head, widths, out.Theme.Faint))
	for _, row := range t.Rows {
		b.WriteString(t.line(row, widths, plain))
	}
	if hidden := Joined(", ", slices.Clone(t.Head[len(widths):])...); hidden != "" {
		b.WriteString(out.Fold(out.Theme.Faint("no room for "+hidden+": a wider terminal or "+cmp.Or(t.Columns, "--json")+" shows more") + "\n"))
	}
	return b.String()
}

// widths are those of the columns that are shown; limit is the terminal's, or zero.
func (t Table) widths(limit int) []int {
	const leastCut, leastSecond, leastGiven = 12, 6, 12
	widths := make([]int, len(t.Head))
	total := -len(columnGap)
	for i := range widths {
		widths[i] = lipgloss.Width(t.Head[i])
		for _, row := range t.Rows {
			widths[i] = max(widths[i], lipgloss.Width(row[i]))
		}
		total += widths[i] + len(columnGap)
	}
	gives, whole := slices.Index(t.Head, t.Gives), 0
	if limit > 0 && total > limit && gives >= 0 && widths[gives] > leastGiven {
		whole = widths[gives]
		widths[gives] = max(whole-(total-limit), leastGiven)
		total -= whole - widths[gives]
	}
	for limit > 0 && total > limit && len(widths) > 1 {
		last := len(widths) - 1
		if width := widths[last] - (total - limit); !t.Numbers && (width >= leastCut || last == 1 && width >= leastSecond) {
			widths[last] = width
			return widths
		}
		total -= widths[last] + len(columnGap)
		widths = widths[:last]
	}
	if whole > 0 && gives < len(widths) { // what the columns that were left out would have taken
		widths[gives] = min(whole, widths[gives]+limit-total)
	}
	return widths
}

func (t Table) line(cells []string, widths []int, paint func(...string) string) (text string) {
	for i, cell := range cells[:len(widths)] {
		if i > 0 {
			text += columnGap
		}
		cell = ansi.Truncate(cell, widths[i], "…")
		gap := strings.Repeat(" ", max(widths[i]-lipgloss.Width(cell), 0))
		if t.Numbers && i > 0 {
			gap, cell = cell, gap
		}
		text += cell + gap
	}
	return paint(strings.TrimRight(text, " ")) + "\n"
}
