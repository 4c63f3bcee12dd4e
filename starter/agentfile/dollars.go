package agentfile

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
)

// decimals is how many a sum of dollars may have: those of a nano-dollar.
const decimals = 9

var sum = regexp.MustCompile(`^\d+(\.\d+)?$`)

// dollars reads a sum of money, exactly: 0.5, or the same in quotes. The sum
// that is handed on is in nano-dollars.
func (r *reader) dollars(name, unit string, most int64, then func(int64)) key {
	return key{name, func(field string, node *yaml.Node) {
		if node.Kind != yaml.ScalarNode {
			r.problem(node, field, "is %s; give %s such as 0.5", describe(node), unit)
			return
		}
		nano, wrong := nanoDollars(node.Value, unit, most)
		if wrong != "" {
			r.problem(node, field, "is %q%s", shorten(node.Value), wrong)
			return
		}
		then(nano)
	}}
}

// nanoDollars reads a sum of dollars. It never rounds.
func nanoDollars(text, unit string, most int64) (nano int64, wrong string) {
	if !sum.MatchString(text) {
		return 0, "; give " + unit + " from 0 on as a plain decimal such as 0.5"
	}
	whole, fraction, _ := strings.Cut(text, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > decimals {
		return 0, ", which has more than 9 decimals; round it to a thousand-millionth of a dollar"
	}
	nano, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	if err != nil || nano > most {
		return 0, ", which is too much; give at most " + domain.USD(most) + " " + unit
	}
	return nano, ""
}
