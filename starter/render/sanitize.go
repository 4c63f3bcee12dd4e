package render

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"everstep/domain"
)

// Clean makes a text safe to print on a terminal, whoever wrote it: line breaks
// and tabs stay; every other control character, whatever changes the direction
// of writing, and what is not UTF-8 is replaced by a visible character.
func Clean(text string) string {
	// A line break as some systems write it is one.
	return mapped(strings.ReplaceAll(text, "\r\n", "\n"), shown)
}

// stripped is a text without what controls a terminal or the order of others. A file may
// come of it: lines end as they did, and marks that stand in words of other scripts stay.
func stripped(text string) string {
	text = separator.Replace(csi.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), ""))
	lines := strings.Split(text, "\r\n")
	for i, line := range lines {
		lines[i] = mapped(line, func(r rune) rune {
			if shown(r) != r && !strings.ContainsRune("\u200e\u200f\u061c", r) {
				return -1
			}
			return r
		})
	}
	return strings.Join(lines, "\r\n")
}

// csi is a sequence that steers a terminal, all of it: colours most of the time. Others lose their control characters alone,
// for one that does not end would take the answer with it.
var csi = regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]`)

// separator keeps words apart where a line or paragraph ends as Unicode has it.
var separator = strings.NewReplacer("\u2028", "\n", "\u2029", "\n")

// ensign is the flag of a part of a country, whose tags show as one picture.
var ensign = regexp.MustCompile(`\x{1f3f4}[\x{e0030}-\x{e0039}\x{e0061}-\x{e007a}]{1,6}\x{e007f}`)

// mapped maps each character but those of flags.
func mapped(text string, by func(rune) rune) string {
	var b strings.Builder
	for at := ensign.FindStringIndex(text); at != nil; at = ensign.FindStringIndex(text) {
		b.WriteString(strings.Map(by, text[:at[0]]) + text[at[0]:at[1]])
		text = text[at[1]:]
	}
	return b.String() + strings.Map(by, text)
}

// OneLine is clean for one line: white space with a line break or a tab in it becomes one space. Blanks stay as they are, as
// those in the arguments of a call are part of it.
func OneLine(text string) string {
	return strings.TrimSpace(broken.ReplaceAllString(Clean(text), " "))
}

var broken = regexp.MustCompile(` *[\n\t][ \n\t]*`)

// shown stands for r on a terminal: r itself where it does no harm.
func shown(r rune) rune {
	switch {
	case r == '\n', r == '\t':
		return r
	case r < ' ':
		return '\u2400' + r // the picture of the control character
	case r == 0x7f:
		return '\u2421'
	case domain.Steering(r):
		return utf8.RuneError
	}
	return r
}
