package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// escape finds the escapes of JSON, first those that the YAML parser does not know:
// two halves of a character, a half alone, and a slash.
var escape = regexp.MustCompile(`\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(u[dD][89a-fA-F][0-9a-fA-F]{2})|(/)|(?s:.))`)

var (
	// noJSON finds what is no JSON in JSON of editors, and the texts in which it is something else; lastComma the commas at
	// the ends of lists, once there are no comments behind them.
	noJSON    = regexp.MustCompile(`"(?:\\.|[^"\\])*"|//[^\n]*|/\*(?s:.*?)\*/|\t`)
	lastComma = regexp.MustCompile(`"(?:\\.|[^"\\])*"|,\s*[}\]]`)
	notSpace  = regexp.MustCompile(`[^\n]`)
	jsonFile  = regexp.MustCompile(`(?i)\.jsonc?(#.*)?$`)
)

// plainJSON is JSON without comments, commas at the ends of lists, and tabs, which are no space in YAML.
func plainJSON(text string) string {
	for _, pattern := range []*regexp.Regexp{noJSON, lastComma} {
		text = pattern.ReplaceAllStringFunc(text, func(found string) string {
			switch found[0] {
			case '"':
				return found
			case ',':
				return " " + found[1:]
			}
			return notSpace.ReplaceAllString(found, " ")
		})
	}
	return text
}

// json says whether a file is JSON by its name, behind which # may name a part; others may hold it, too, where YAML is the same.
func (r *Reader) json() bool { return jsonFile.MatchString(r.File) }

// escapes writes the escapes of JSON as YAML knows them. Half a character is a problem.
func (r *Reader) escapes(text string) (string, bool) {
	var b strings.Builder
	end, whole := 0, true
	for _, at := range escape.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[end:at[0]])
		end = at[1]
		switch found := text[at[0]:at[1]]; {
		case at[2] >= 0:
			both := ""
			_ = json.Unmarshal([]byte(`"`+found+`"`), &both) // two halves are a character
			b.WriteString(both)
		case at[4] >= 0:
			whole = false
			r.problemIn(text, at[0], "%s is half a character; give both halves, or the character itself", found)
		case at[6] >= 0:
			b.WriteByte('/')
		default:
			b.WriteString(found)
		}
	}
	b.WriteString(text[end:])
	return noYAML.ReplaceAllStringFunc(b.String(), func(found string) string {
		r, _ := utf8.DecodeRuneInString(found)
		return fmt.Sprintf(`\u%04x`, r)
	}), whole
}

// noYAML is what stands for itself in JSON, and in YAML may not be or ends a line.
var noYAML = regexp.MustCompile(`[\x{7f}-\x{9f}\x{2028}\x{2029}\x{feff}\x{fffe}\x{ffff}]`)

// syntaxJSON says what is wrong with JSON that the YAML parser refused for that reason.
func (r *Reader) syntaxJSON(text, refused string) {
	err := json.Unmarshal([]byte(text), new(any))
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		r.problemIn(text, max(int(wrong.Offset)-1, 0), "is no JSON: %s", wrong)
		return
	}
	r.ProblemAt(1+r.Offset, 1, "", "is JSON that cannot be read: %s", refused)
}

// problemIn notes what is wrong at a byte of the text.
func (r *Reader) problemIn(text string, at int, format string, args ...any) {
	before := text[:min(at, len(text))]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	r.ProblemAt(1+strings.Count(before, "\n")+r.Offset, 1+utf8.RuneCountInString(line), "", format, args...)
}
