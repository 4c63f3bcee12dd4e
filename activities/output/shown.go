package output

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"everstep/domain"
)

const (
	// maxLines and maxLine bound what is said of one answer: 2 KB.
	maxLines = 10
	maxLine  = 200
	// maxQuoted bounds a text that is quoted from the answer or the schema.
	maxQuoted = 60
)

// shown is a text from elsewhere, on one line and bounded.
func shown(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, domain.Shorten(text, 2*maxQuoted+1))
	if len(text) > 2*maxQuoted {
		return domain.Shorten(text, 2*maxQuoted) + "…"
	}
	return text
}

// quoted is a name from elsewhere in quotes.
func quoted(text string) string {
	if len(text) > maxQuoted {
		text = domain.Shorten(text, maxQuoted) + "…"
	}
	return strconv.Quote(shown(text))
}

// brief shows a value, where it is short.
func brief(plain any) string {
	switch p := plain.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(p)
	case float64:
		return number(p)
	case string:
		return quoted(p)
	case []any:
		return "an array"
	default:
		return "an object"
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func whole(f float64) bool { return math.Trunc(f) == f }

// lines joins what is said of one answer, within its bounds.
func lines(all []string, more int) string {
	if len(all) > maxLines || more > 0 {
		keep := min(len(all), maxLines-1)
		more += len(all) - keep
		all = append(all[:keep:keep], "and "+strconv.Itoa(more)+" more")
	}
	bounded := make([]string, len(all))
	for i, line := range all {
		if bounded[i] = line; len(line) > maxLine {
			bounded[i] = domain.Shorten(line, maxLine-len("…")) + "…"
		}
	}
	return strings.Join(bounded, "\n")
}
